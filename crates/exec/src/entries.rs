//! Batches of index entries.

use alluvium_document::Document;

/// What is known of an entry of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Unproved,
    Skipped,
    Proved,
    Refuted,
}

#[derive(Debug)]
struct Entry {
    /// Its index key begins here in the bytes of the batch.
    start: usize,
    /// The length of its index key, behind which the key of the document's `_id` begins.
    key_len: usize,
    /// The key of the `_id` ends.
    end: usize,
    value: usize,
    value_len: usize,
    version: u64,
    state: State,
    document: Option<Document>,
}

/// An entry of an index.
#[derive(Debug, Clone, Copy)]
pub struct EntryRef<'a> {
    /// The index key, with the key of the document's `_id` behind it.
    pub bytes: &'a [u8],
    /// The length of the index key.
    pub key_len: usize,
    /// Supplements the key where that does not determine the indexed values exactly.
    pub value: &'a [u8],
    /// Its meaning is the source's own.
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

/// Entries of an index: first as they are read, later proved, some of them with their documents.
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

    /// Makes room for this many entries, if there is none for any.
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
        let (key_len, version, state) = (entry.key_len, entry.version, State::Unproved);
        self.entries.push(Entry { start, key_len, end, value: end, value_len, version, state, document: None });
    }

    /// Sets the version of the last entry.
    #[inline]
    pub fn set_last_version(&mut self, version: u64) {
        if let Some(last) = self.entries.last_mut() {
            last.version = version;
        }
    }

    /// The entry, if it has to be proved.
    #[inline]
    pub fn unproved(&self, at: usize) -> Option<EntryRef<'_>> {
        let entry = &self.entries[at];
        (entry.state == State::Unproved).then(|| self.entry_of(entry))
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

    /// Replaces the value of an entry by that which its document yields.
    pub fn set_value(&mut self, at: usize, value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(value);
        let entry = &mut self.entries[at];
        (entry.value, entry.value_len) = (start, value.len());
    }

    /// True if the entry was proved.
    #[inline]
    pub fn is_proved(&self, at: usize) -> bool {
        self.entries[at].state == State::Proved
    }

    /// Notes that the entry need not be proved.
    #[inline]
    pub fn skip(&mut self, at: usize) {
        self.entries[at].state = State::Skipped;
    }

    /// Notes that the entry is proved, with its document if that was read.
    #[inline]
    pub fn prove(&mut self, at: usize, document: Option<Document>) {
        let entry = &mut self.entries[at];
        (entry.state, entry.document) = (State::Proved, document);
    }

    /// Notes that the document does not yield the entry, or does not exist.
    #[inline]
    pub fn refute(&mut self, at: usize) {
        self.entries[at].state = State::Refuted;
    }

    /// Removes the document from an entry.
    #[inline]
    pub fn take_document(&mut self, at: usize) -> Option<Document> {
        self.entries[at].document.take()
    }
}
