//! Packing entries into a block.

use super::MAX_ENTRIES;
use super::column::Line;
use alluvium_codec::entry::Entry;
use alluvium_codec::varint;

/// If the block chooses the interval, entries of at least 64 bytes are each directly reachable.
const DIRECT_BYTES: usize = 64;

/// The restart interval of smaller entries, if the block chooses the interval.
const SMALL_INTERVAL_LOG: u32 = 4;

/// The assumed bytes of an entry in addition to key and value.
const ENTRY_OVERHEAD: usize = 4;

/// Buffers that one large entry has made larger than this are released.
const KEPT_BYTES: usize = 1 << 20;

/// Collects entries, and packs them into one block.
#[derive(Debug, Default)]
pub(crate) struct BlockBuilder {
    /// The logarithm of the restart interval; `None` lets each block choose.
    restart_log: Option<u32>,
    keys: Vec<u8>,
    last_key_at: usize,
    /// The bytes that small entries share with the previous entry and that packing omits.
    saved: usize,
    key_lens: Vec<u64>,
    values: Vec<u8>,
    value_lens: Vec<u64>,
    kinds: Vec<u64>,
    seqs: Vec<u64>,
    // Reused by `finish`.
    suffix_lens: Vec<u64>,
    shared: Vec<u64>,
    suffixes: Vec<u8>,
}

impl BlockBuilder {
    /// An empty builder. The interval is rounded up to a power of two; 0 lets each block choose.
    pub(crate) fn new(restart_interval: u32) -> Self {
        let interval = restart_interval.min(1024).next_power_of_two();
        let restart_log = (restart_interval > 0).then(|| interval.trailing_zeros());
        Self { restart_log, ..Self::default() }
    }

    /// Appends an entry; the caller ensures the order.
    #[inline]
    pub(crate) fn add(&mut self, entry: Entry<'_>) {
        // Shared bytes of large entries do not matter, so they are not determined.
        if entry.key.len() + entry.value.len() < DIRECT_BYTES && !self.is_restart(self.len()) {
            self.saved += common_len(self.last_key(), entry.key);
        }
        self.last_key_at = self.keys.len();
        self.keys.extend_from_slice(entry.key);
        self.key_lens.push(entry.key.len() as u64);
        self.values.extend_from_slice(entry.value);
        self.value_lens.push(entry.value.len() as u64);
        self.kinds.push(u64::from(entry.kind as u8));
        self.seqs.push(entry.seq);
    }

    pub(crate) fn len(&self) -> usize {
        self.key_lens.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.key_lens.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= MAX_ENTRIES
    }

    /// The approximate bytes of the packed entries: keys without the bytes that small entries share
    /// with the previous one, values, and a little for each entry.
    #[inline]
    pub(crate) fn raw_len(&self) -> usize {
        let saved = if self.restart_log.is_none() && self.is_direct() { 0 } else { self.saved };
        self.keys.len() + self.values.len() - saved + ENTRY_OVERHEAD * self.key_lens.len()
    }

    /// The bytes of all keys and values.
    pub(crate) fn key_and_value_bytes(&self) -> usize {
        self.keys.len() + self.values.len()
    }

    /// True if the keys of large entries are each stored whole.
    #[inline]
    fn is_direct(&self) -> bool {
        self.keys.len() + self.values.len() >= DIRECT_BYTES * self.len()
    }

    /// True if the key of entry `index` is always stored whole.
    #[inline]
    fn is_restart(&self, index: usize) -> bool {
        let log = self.restart_log.unwrap_or(SMALL_INTERVAL_LOG);
        index & ((1 << log) - 1) == 0
    }

    /// The first key; empty if the builder is empty.
    pub(crate) fn first_key(&self) -> &[u8] {
        let len = self.key_lens.first().map_or(0, |&len| len as usize);
        &self.keys[..len]
    }

    /// The last key; empty if the builder is empty.
    #[inline]
    pub(crate) fn last_key(&self) -> &[u8] {
        &self.keys[self.last_key_at..]
    }

    /// The last sequence number; 0 if the builder is empty.
    #[inline]
    pub(crate) fn last_seq(&self) -> u64 {
        self.seqs.last().copied().unwrap_or(0)
    }

    /// Appends the packed entries to `out` and empties the builder, which must not be empty.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        let prefix_len = common_len(self.first_key(), self.last_key());
        let restart_log = self.restart_log.unwrap_or_else(|| self.chosen_log());
        self.pack_keys(prefix_len, restart_log);
        let columns = [
            (&self.suffix_lens, false),
            (&self.value_lens, false),
            (&self.kinds, false),
            (&self.seqs, true),
            (&self.shared, false),
        ];
        put_packed(&self.keys[..prefix_len], restart_log as u8, columns, out);
        out.extend_from_slice(&self.suffixes);
        out.extend_from_slice(&self.values);
        self.clear();
    }

    /// The added entries, for another encoding.
    pub(crate) fn unpacked(&self) -> Unpacked<'_> {
        Unpacked {
            keys: &self.keys,
            key_lens: &self.key_lens,
            values: &self.values,
            value_lens: &self.value_lens,
            kinds: &self.kinds,
            seqs: &self.seqs,
            restart_log: self.restart_log.unwrap_or_else(|| self.chosen_log()) as u8,
        }
    }

    fn chosen_log(&self) -> u32 {
        if self.is_direct() { 0 } else { SMALL_INTERVAL_LOG }
    }

    /// Removes from each key the block's prefix and the bytes that it shares with the previous key.
    /// The shared part is always the whole common part, because the search relies on that.
    fn pack_keys(&mut self, prefix_len: usize, restart_log: u32) {
        let interval_mask = (1usize << restart_log) - 1;
        let mut last: &[u8] = &[];
        let mut at = 0;
        for (index, &len) in self.key_lens.iter().enumerate() {
            let end = at + len as usize;
            let key = &self.keys[at + prefix_len..end];
            at = end;
            let shared = if index & interval_mask == 0 { 0 } else { common_len(last, key) };
            self.shared.push(shared as u64);
            self.suffix_lens.push((key.len() - shared) as u64);
            self.suffixes.extend_from_slice(&key[shared..]);
            last = key;
        }
    }

    /// Empties the builder.
    pub(crate) fn clear(&mut self) {
        for bytes in [&mut self.keys, &mut self.values, &mut self.suffixes] {
            bytes.clear();
            bytes.shrink_to(KEPT_BYTES);
        }
        (self.last_key_at, self.saved) = (0, 0);
        let columns =
            [&mut self.key_lens, &mut self.value_lens, &mut self.kinds, &mut self.seqs, &mut self.suffix_lens];
        for column in columns {
            column.clear();
        }
        self.shared.clear();
    }
}

/// The entries of a block that is not packed yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unpacked<'a> {
    pub(crate) keys: &'a [u8],
    pub(crate) key_lens: &'a [u64],
    pub(crate) values: &'a [u8],
    pub(crate) value_lens: &'a [u64],
    pub(crate) kinds: &'a [u64],
    pub(crate) seqs: &'a [u64],
    /// The restart interval that the packed form would have, as a logarithm.
    pub(crate) restart_log: u8,
}

impl<'a> Unpacked<'a> {
    /// The keys in order.
    pub(crate) fn each_key(&self) -> impl Iterator<Item = &'a [u8]> {
        let (keys, mut at) = (self.keys, 0);
        self.key_lens.iter().map(move |&len| {
            let start = at;
            at += len as usize;
            &keys[start..at]
        })
    }
}

/// Appends packed entries up to the beginning of their suffixes. The columns: suffix_len,
/// value_len, kind, seq, shared. The second field of each says whether a step is tried.
pub(super) fn put_packed(prefix: &[u8], restart_log: u8, columns: [(&Vec<u64>, bool); 5], out: &mut Vec<u8>) {
    varint::put_u64(out, columns[0].0.len() as u64);
    out.push(restart_log);
    varint::put_bytes(out, prefix);
    let planned = columns.map(|(values, sloped)| (Line::plan(values, sloped), values));
    for (column, _) in &planned {
        column.put_header(out);
    }
    for (column, values) in &planned {
        column.put_data(values, out);
    }
}

/// The length of the common prefix of two byte strings.
pub(crate) fn common_len(a: &[u8], b: &[u8]) -> usize {
    let words = a.chunks_exact(8).zip(b.chunks_exact(8)).take_while(|(x, y)| x == y).count() * 8;
    words + a[words..].iter().zip(&b[words..]).take_while(|(x, y)| x == y).count()
}
