//! Batches of index entries.

use alluvium_document::Document;

/// The result of the proof of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProofState {
    Unproved,
    Skipped,
    Proved,
    Refuted,
}

#[derive(Debug)]
struct Entry {
    /// The position in the bytes of the batch at which the index key begins.
    start: usize,
    /// The length of the index key. The key of the document's `_id` follows it.
    key_len: usize,
    /// The position at which the key of the `_id` ends.
    end: usize,
    value: usize,
    value_len: usize,
    version: u64,
    state: ProofState,
    document: Option<Document>,
}

/// An entry of an index.
#[derive(Debug, Clone, Copy)]
pub struct EntryRef<'a> {
    /// The index key, followed by the key of the document's `_id`.
    pub bytes: &'a [u8],
    /// The length of the index key.
    pub key_len: usize,
    /// Supplements the key if the key does not determine the indexed values exactly.
    pub value: &'a [u8],
    /// A number whose meaning the source defines.
    pub version: u64,
}

impl<'a> EntryRef<'a> {
    /// The index key.
    #[inline]
    pub fn key(&self) -> &'a [u8] {
        &self.bytes[..self.key_len]
    }

    /// The key of the document's `_id`.
    #[inline]
    pub fn id(&self) -> &'a [u8] {
        &self.bytes[self.key_len..]
    }
}

/// Entries of an index. They are unproved when they are read; a proof may add the document.
#[derive(Debug, Default)]
pub struct EntryBatch {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

impl EntryBatch {
    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are no entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes all entries, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }

    /// Reserves memory for this number of entries, unless the batch has memory already.
    pub(crate) fn reserve(&mut self, entries: usize) {
        if self.entries.capacity() == 0 {
            self.entries.reserve_exact(entries);
        }
    }

    /// Appends an unproved entry.
    #[inline]
    pub fn push(&mut self, entry: &EntryRef<'_>) {
        let start = self.bytes.len();
        let end = start + entry.bytes.len();
        self.bytes.extend_from_slice(entry.bytes);
        let value_len = entry.value.len();
        if value_len > 0 {
            self.bytes.extend_from_slice(entry.value);
        }
        let (key_len, version, state) = (entry.key_len, entry.version, ProofState::Unproved);
        self.entries.push(Entry { start, key_len, end, value: end, value_len, version, state, document: None });
    }

    /// Sets the version of the last entry.
    #[inline]
    pub fn set_last_version(&mut self, version: u64) {
        if let Some(last) = self.entries.last_mut() {
            last.version = version;
        }
    }

    /// Returns the entry, if it has to be proved.
    #[inline]
    pub fn unproved(&self, at: usize) -> Option<EntryRef<'_>> {
        let entry = &self.entries[at];
        (entry.state == ProofState::Unproved).then(|| self.entry_of(entry))
    }

    /// The entry.
    #[inline]
    pub fn entry(&self, at: usize) -> EntryRef<'_> {
        self.entry_of(&self.entries[at])
    }

    #[inline]
    fn entry_of(&self, entry: &Entry) -> EntryRef<'_> {
        EntryRef {
            bytes: &self.bytes[entry.start..entry.end],
            key_len: entry.key_len,
            value: &self.bytes[entry.value..entry.value + entry.value_len],
            version: entry.version,
        }
    }

    /// The entry's index key.
    #[inline]
    pub fn key(&self, at: usize) -> &[u8] {
        let entry = &self.entries[at];
        &self.bytes[entry.start..entry.start + entry.key_len]
    }

    /// The key of the `_id` of the entry's document.
    #[inline]
    pub fn id(&self, at: usize) -> &[u8] {
        let entry = &self.entries[at];
        &self.bytes[entry.start + entry.key_len..entry.end]
    }

    /// Replaces the value of an entry by the value that its document yields.
    pub fn set_value(&mut self, at: usize, value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(value);
        let entry = &mut self.entries[at];
        (entry.value, entry.value_len) = (start, value.len());
    }

    /// True if the entry was proved.
    #[inline]
    pub fn is_proved(&self, at: usize) -> bool {
        self.entries[at].state == ProofState::Proved
    }

    /// Marks an entry that need not be proved.
    #[inline]
    pub fn skip(&mut self, at: usize) {
        self.entries[at].state = ProofState::Skipped;
    }

    /// Marks an entry as proved, and stores its document if it was read.
    #[inline]
    pub fn prove(&mut self, at: usize, document: Option<Document>) {
        let entry = &mut self.entries[at];
        (entry.state, entry.document) = (ProofState::Proved, document);
    }

    /// Marks an entry as refuted: its document does not yield the entry, or does not exist.
    #[inline]
    pub fn refute(&mut self, at: usize) {
        self.entries[at].state = ProofState::Refuted;
    }

    /// Removes the document from an entry.
    #[inline]
    pub fn take_document(&mut self, at: usize) -> Option<Document> {
        self.entries[at].document.take()
    }
}
