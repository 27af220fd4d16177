//! Ingestion adds a sorted run below newer writes. Its entries are the entries of a new index for documents that are
//! older than the index.

use crate::error::{Error, Result};
use crate::keys::key_of;
use crate::store::Store;
use crate::trees::TreeId;
use alluvium_codec::entry::{Entry, Kind, Seq};

/// Entries of one tree that are collected in memory to become a sorted run of one partition: see [`Store::ingest`].
#[derive(Debug)]
pub struct EntryRun {
    tree: TreeId,
    bytes: Vec<u8>,
    entries: Vec<Gathered>,
}

#[derive(Debug, Clone, Copy)]
struct Gathered {
    start: usize,
    key_len: u32,
    value_len: u32,
    seq: Seq,
}

impl EntryRun {
    /// Creates an empty run.
    ///
    /// ```
    /// # use alluvium_store::EntryRun;
    /// # let store = alluvium_store::Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), alluvium_store::Options::default())?;
    /// # let ages = store.create_trees(&[b"ages"])?[0];
    /// let run = EntryRun::new(ages);
    /// assert!(run.is_empty());
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn new(tree: TreeId) -> Self {
        Self { tree, bytes: Vec::new(), entries: Vec::new() }
    }

    /// Adds an entry with the number of the write of its document.
    ///
    /// ```
    /// # use alluvium_store::EntryRun;
    /// # let store = alluvium_store::Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), alluvium_store::Options::default())?;
    /// # let ages = store.create_trees(&[b"ages"])?[0];
    /// let mut run = EntryRun::new(ages);
    /// run.push(b"3rex", 17, b"");
    /// run.push(b"2tom", 18, b""); // in any order
    /// assert_eq!(run.len(), 2);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn push(&mut self, key: &[u8], seq: Seq, value: &[u8]) {
        let (start, key_len, value_len) = (self.bytes.len(), key.len() as u32 + 4, value.len() as u32);
        self.bytes.extend_from_slice(&self.tree.0.to_be_bytes());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.entries.push(Gathered { start, key_len, value_len, seq });
    }

    /// The bytes of memory that the run takes.
    ///
    /// ```
    /// # use alluvium_store::EntryRun;
    /// # let store = alluvium_store::Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), alluvium_store::Options::default())?;
    /// # let ages = store.create_trees(&[b"ages"])?[0];
    /// let mut run = EntryRun::new(ages);
    /// run.push(b"3rex", 17, &[0; 1000]);
    /// assert!(run.bytes() > 1000);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn bytes(&self) -> usize {
        self.bytes.len() + self.entries.len() * std::mem::size_of::<Gathered>()
    }

    /// The number of entries.
    ///
    /// ```
    /// # use alluvium_store::EntryRun;
    /// # let store = alluvium_store::Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), alluvium_store::Options::default())?;
    /// # let ages = store.create_trees(&[b"ages"])?[0];
    /// let mut run = EntryRun::new(ages);
    /// run.push(b"3rex", 17, b"");
    /// assert_eq!(run.len(), 1);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if the run has no entries.
    ///
    /// ```
    /// # use alluvium_store::EntryRun;
    /// # let store = alluvium_store::Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), alluvium_store::Options::default())?;
    /// # let ages = store.create_trees(&[b"ages"])?[0];
    /// let mut run = EntryRun::new(ages);
    /// assert!(run.is_empty());
    /// run.push(b"3rex", 17, b"");
    /// assert!(!run.is_empty());
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes the entries and keeps the memory.
    ///
    /// ```
    /// # use alluvium_store::EntryRun;
    /// # let store = alluvium_store::Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), alluvium_store::Options::default())?;
    /// # let ages = store.create_trees(&[b"ages"])?[0];
    /// let mut run = EntryRun::new(ages);
    /// run.push(b"3rex", 17, b"");
    /// run.clear();
    /// assert!(run.is_empty());
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }

    fn entry(&self, at: Gathered) -> Entry<'_> {
        let value_at = at.start + at.key_len as usize;
        let key = &self.bytes[at.start..value_at];
        Entry { key, seq: at.seq, kind: Kind::Put, value: &self.bytes[value_at..value_at + at.value_len as usize] }
    }

    /// The entries in their order, without duplicates.
    fn sorted(&mut self) -> impl Iterator<Item = Entry<'_>> {
        let mut entries = std::mem::take(&mut self.entries);
        let of = |at: &Gathered| &self.bytes[at.start..at.start + at.key_len as usize];
        entries.sort_unstable_by(|a, b| of(a).cmp(of(b)).then(b.seq.cmp(&a.seq)));
        entries.dedup_by(|a, b| a.seq == b.seq && of(a) == of(b));
        self.entries = entries;
        let this = &*self;
        this.entries.iter().map(|at| this.entry(*at))
    }
}

impl Store {
    /// Writes the entries to a run of sorted files in one partition. The entries have the numbers of older writes and
    /// therefore appear in existing snapshots. The caller ensures that no reader of the tree uses such a snapshot. The
    /// tree must be created by [`Store::change_trees`]; single keys of it are never looked up.
    ///
    /// ```
    /// # fn main() -> alluvium_store::Result<()> {
    /// use alluvium_store::{Bounds, Durability, EntryRun, Options, Store, TreeChanges};
    /// let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"3");
    /// let written = store.write(batch, Durability::Periodic)?;
    /// let index = |_: &_| TreeChanges { create: vec![b"ages".to_vec()], ..TreeChanges::default() };
    /// let ages = store.change_trees(1, index)?[0];
    /// let mut run = EntryRun::new(ages);
    /// run.push(b"3rex", written, b"");
    /// store.ingest(store.partition_of(b"rex"), &mut run)?;
    /// let mut scan = store.scan(ages, Bounds::all(), None)?;
    /// assert_eq!(scan.next()?, Some((&b"3rex"[..], &b""[..])));
    /// assert_eq!(scan.version(), written);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::write`]; [`Error::NoSuchTree`] if the tree was dropped.
    pub fn ingest(&self, partition: u32, run: &mut EntryRun) -> Result<()> {
        self.health.check_takes_writes()?;
        self.trees.check_live(&[run.tree.0], &[])?;
        if run.is_empty() {
            return Ok(());
        }
        let Some(partition) = self.partitions.get(partition as usize) else {
            return Err(Error::InvalidOption { name: "partition", must_be: "one that the store has" });
        };
        self.need_space(run.bytes() as u64)?;
        let done = partition.ingest(run.sorted()).map_err(Error::from);
        // Must happen before the log can mention the run: see `checkpoint::Pinned`.
        self.holds.note_ingest();
        self.admission.measure_debt();
        self.work.signal();
        self.poison.after_work(done)
    }

    /// Refuses files of `bytes` that would use the reserve for flushes and compactions. Writes to the log respect the
    /// reserve, and these files do not come from the log.
    fn need_space(&self, bytes: u64) -> Result<()> {
        let (env, path, kept) = (&self.env, self.path(), self.options.disk_reserve());
        // If the free space is not known, the write itself shows whether there is enough.
        let Ok(free) = env.fs.available_bytes(path) else { return Ok(()) };
        if kept == 0 || free >= bytes.saturating_add(kept) {
            return Ok(());
        }
        let what = format!(
            "{free} bytes are free, {bytes} are needed, and {kept} are kept so that flushes and compactions can \
             finish (disk_reserve_bytes)"
        );
        let full = std::io::Error::new(std::io::ErrorKind::StorageFull, what);
        Err(Error::NoSpace(Box::new(alluvium_env::Error::io("make a run of sorted files in", path, full).into())))
    }

    /// Rewrites the files of a tree in one partition without the entries for which `may_drop` returns true, given their
    /// keys and numbers. `may_drop` is called for entries in files with numbers up to `max_seq`. If compactions rewrite
    /// files at the same time, it is not called for some of these entries. Returns the count of the dropped entries.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store, TreeChanges};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// # let index = |_: &[_]| TreeChanges { create: vec![b"ages".to_vec()], ..TreeChanges::default() };
    /// # let ages = store.change_trees(1, index)?[0];
    /// # let mut batch = store.batch();
    /// # batch.put(pets, b"rex", b"3");
    /// # batch.put_entry(ages, b"3rex", b"");
    /// # batch.put_entry(ages, b"9stale", b"");
    /// # let written = store.write(batch, Durability::Periodic)?;
    /// store.flush()?;
    /// let partition = store.partition_of(b"rex");
    /// let gone = store.sweep(ages, partition, written, &|key, _| key == b"9stale", &|| false)?;
    /// assert_eq!(gone, 1);
    /// let mut scan = store.scan(ages, alluvium_store::Bounds::all(), None)?;
    /// assert_eq!(scan.next()?, Some((&b"3rex"[..], &b""[..])));
    /// assert_eq!(scan.next()?, None);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::flush`].
    pub fn sweep(
        &self,
        tree: TreeId,
        partition: u32,
        max_seq: Seq,
        may_drop: &dyn Fn(&[u8], Seq) -> bool,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<u64> {
        self.health.check_takes_writes()?;
        let Some(partition) = self.partitions.get(partition as usize) else { return Ok(0) };
        let is_dropped = |internal: &[u8], seq: Seq| may_drop(key_of(internal), seq);
        let swept =
            partition.sweep(&alluvium_lsm::Drops { tree: tree.0, is_dropped: &is_dropped }, max_seq, should_stop);
        Ok(self.poison.after_work(swept.map_err(Error::from))?.dropped)
    }
}
