//! Statistics of a partition: its contents, its work, its debt.

use crate::files::FileHandle;
use crate::image::walk_manifest;
use crate::names::sst_number;
use crate::partition::Partition;
use crate::ranges;
use crate::view::View;
use alluvium_codec::entry::Seq;
use alluvium_env::{Error, Result};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The backlog of flushes and compactions. Admission control slows writers by it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Debt {
    /// Memory of immutable memtables that wait to be flushed, in bytes.
    pub immutable_bytes: u64,
    /// Sorted runs, the base included if it has files.
    pub runs: usize,
    /// Bytes above the base that exceed the limit of the tree's shape.
    pub compaction_bytes: u64,
}

/// The figures of one partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Files of the current version.
    pub files: usize,
    /// Sorted runs, the base included if it has files.
    pub runs: usize,
    /// Bytes of the files.
    pub bytes: u64,
    /// Bytes of the files in the base.
    pub base_bytes: u64,
    /// The approximate bytes of the files that readers may see now. Tombstones, old versions and
    /// deleted ranges are left out, and so is an entry of the base for each tombstone above it. A
    /// value that was overwritten and is in two runs still counts twice.
    pub live_bytes: u64,
    /// Bytes of all keys and values in the files.
    pub raw_bytes: u64,
    /// Entries in the files, all versions and tombstones included.
    pub entries: u64,
    /// Tombstones among them.
    pub tombstones: u64,
    /// Ranges of deleted keys that may hide something in files.
    pub ranges: u64,
    /// The memory of these ranges in bytes.
    pub range_bytes: u64,
    /// Memory of the active memtable in bytes.
    pub active_bytes: u64,
    /// Memory of the immutable memtables in bytes.
    pub immutable_bytes: u64,
    /// The immutable memtables.
    pub immutable_memtables: usize,
    /// Everything up to this number is in files.
    pub flushed_seq: Seq,
    /// Flushes since open.
    pub flushes: u64,
    /// Bytes of keys and values in the memtables that were flushed since open.
    pub bytes_taken: u64,
    /// Bytes that flushes wrote since open.
    pub bytes_flushed: u64,
    /// Compactions since open, trivial moves not counted.
    pub compactions: u64,
    /// Bytes that compactions wrote since open.
    pub bytes_compacted: u64,
    /// Bytes that compactions read since open.
    pub bytes_read_by_compactions: u64,
    /// Files that sank to an older run by an edit alone since open, at a flush or later.
    pub trivial_moves: u64,
    /// Deltas that could not apply and were skipped when they were folded permanently, since open.
    pub deltas_refused: u64,
    /// Distinct dictionaries that the files use.
    pub dictionaries: usize,
    /// Files that are no longer in the version but are held by a reader.
    pub files_held: usize,
    /// The manifest's length in bytes.
    pub manifest_bytes: u64,
    /// Hits of the block cache, which all partitions share.
    pub cache_hits: u64,
    /// Misses of the block cache.
    pub cache_misses: u64,
    /// The bytes of the block cache.
    pub cache_bytes: u64,
    /// The capacity of the block cache in bytes.
    pub cache_capacity: u64,
}

/// One file of the current version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    /// The run; the base is 0, and newer runs have higher numbers.
    pub run: u64,
    /// The metadata of the file in the manifest.
    pub meta: alluvium_sst::FileMeta,
    /// The trees with keys in the file, ascending.
    pub trees: Vec<u32>,
}

/// The result of [`crate::Partition::verify`].
#[derive(Debug, Clone, Default)]
pub struct Verified {
    /// Files read to the end.
    pub files: usize,
    /// Entries in them.
    pub entries: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// All damage found.
    pub damage: Vec<alluvium_env::Error>,
}

impl Partition {
    /// Collects the statistics.
    pub fn stats(&self) -> Stats {
        let view = self.view();
        let version = &view.version;
        let shared = self.shared();
        let mut stats = Stats {
            runs: version.run_count(),
            base_bytes: version.base().bytes(),
            active_bytes: view.active.charged_bytes() as u64,
            immutable_bytes: view.immutable_bytes(),
            immutable_memtables: view.immutable.len(),
            flushed_seq: version.flushed_seq,
            ranges: version.ranges.len() as u64,
            range_bytes: version.ranges.bytes() as u64,
            flushes: self.counters.flushes.load(Ordering::Relaxed),
            bytes_flushed: self.counters.bytes_flushed.load(Ordering::Relaxed),
            bytes_taken: self.counters.bytes_taken.load(Ordering::Relaxed),
            compactions: self.counters.compactions.load(Ordering::Relaxed),
            bytes_compacted: self.counters.bytes_compacted.load(Ordering::Relaxed),
            bytes_read_by_compactions: self.counters.bytes_read.load(Ordering::Relaxed),
            trivial_moves: self.counters.trivial_moves.load(Ordering::Relaxed),
            deltas_refused: self.counters.deltas_refused.load(Ordering::Relaxed),
            files_held: self.home.held(),
            manifest_bytes: self.manifest.lock().bytes(),
            cache_hits: shared.cache.hits(),
            cache_misses: shared.cache.misses(),
            cache_bytes: shared.cache.bytes(),
            cache_capacity: shared.cache.capacity(),
            ..Stats::default()
        };
        let mut dictionaries = HashSet::new();
        let mut buried = 0;
        for (run, file) in version.files() {
            stats.files += 1;
            stats.live_bytes += file.live_bytes();
            buried += if run == 0 { 0 } else { file.meta.tombstones };
            stats.bytes += file.meta.bytes;
            stats.raw_bytes += file.meta.raw_bytes;
            stats.entries += file.meta.entries;
            stats.tombstones += file.meta.tombstones;
            if file.meta.dictionary_id != 0 {
                dictionaries.insert(file.meta.dictionary_id);
            }
        }
        stats.dictionaries = dictionaries.len();
        let base = version.base();
        let base_entries: u64 = base.files.iter().map(|file| file.meta.entries).sum();
        let worth = base.bytes() / base_entries.max(1);
        stats.live_bytes -= (buried.min(base_entries) * worth).min(stats.live_bytes);
        stats
    }

    /// The bytes of the files. Cheap.
    pub fn file_bytes(&self) -> u64 {
        self.view().version.kept.bytes
    }

    /// The approximate bytes of old versions of keys that files keep only for snapshots, if
    /// `oldest` is the oldest snapshot. Counts versions that `oldest` or a later snapshot could
    /// read when the files were written. Cheap.
    pub fn kept_bytes(&self, oldest: Seq) -> u64 {
        self.view().version.kept.shadowed_from(oldest)
    }

    /// The bytes of the files that hold keys of this tree and of no other. Cheap.
    pub fn tree_bytes(&self, tree: u32) -> u64 {
        self.view().version.kept.of_tree(tree)
    }

    /// The files of the current version, newest run first.
    pub fn files(&self) -> Vec<FileInfo> {
        let view = self.view();
        let info =
            |(run, file): (u64, &Arc<FileHandle>)| FileInfo { run, meta: file.meta.clone(), trees: file.trees.clone() };
        view.version.files().map(info).collect()
    }

    /// Reads and checks every file of the current version, and the order of the files in the runs.
    /// Damage does not end the check; the result has all damage found. Other work continues
    /// concurrently; closing ends the check.
    pub fn verify(&self) -> Verified {
        self.verify_with(&mut |_, _| None, &|| false)
    }

    /// As [`Partition::verify`]; `check` is called with the key of every entry in the files. `stop`
    /// is called before each file; true skips the rest.
    pub fn verify_with(&self, check: &mut alluvium_sst::CheckEntry<'_>, stop: &dyn Fn() -> bool) -> Verified {
        let mut verified = Verified::default();
        let view = self.verify_manifest(&mut verified.damage);
        verified.damage.extend(ranges::verify(&view.version, &self.home.dir));
        for run in &view.version.runs {
            for pair in run.files.windows(2) {
                if pair[0].meta.largest >= pair[1].meta.smallest {
                    let what = format!("its keys overlap those of file {} in the same run", pair[0].meta.number);
                    verified.damage.push(Error::corrupt(&pair[1].path(), 0, what));
                }
            }
            for file in run.files.iter().take_while(|_| !self.closing() && !stop()) {
                let check = verify_file(file, check);
                match check.and_then(|check| ranges::verify_clean(file, &view.version.ranges).map(|()| check)) {
                    Ok(check) => {
                        verified.files += 1;
                        verified.entries += check.entries;
                        verified.bytes += check.bytes;
                    }
                    Err(error) => verified.damage.push(error),
                }
            }
        }
        verified
    }

    /// Reads the manifest and the names in the directory again; returns the view that they belong
    /// to.
    fn verify_manifest(&self, damage: &mut Vec<Error>) -> Arc<View> {
        let manifest = self.manifest.lock();
        let view = self.view();
        if let Err(error) = self.compare_manifest(&manifest.path(), &view, damage) {
            damage.push(error);
        }
        view
    }

    fn compare_manifest(&self, path: &Path, view: &View, damage: &mut Vec<Error>) -> Result<()> {
        // A poisoned manifest may have a last edit, torn or whole, that the version lacks: the next
        // open decides.
        if self.poisoned().is_some() {
            return Ok(());
        }
        let env = &self.shared().env;
        let walked = walk_manifest(env, path, None)?;
        let whole = walked.damage.is_empty();
        damage.extend(walked.damage.into_iter().map(|(offset, what)| Error::corrupt(path, offset, what)));
        let mut found = walked.version.added;
        let mut live = view.edit(0).added;
        for files in [&mut found, &mut live] {
            files.iter_mut().for_each(|file| file.readers = Vec::new());
            files.sort_by_key(|file| file.meta.number);
        }
        let same =
            walked.version.flushed_seq == Some(view.flushed_seq()) && walked.version.ranges == *view.version.ranges;
        if whole && (found != live || !same) {
            damage.push(Error::corrupt(path, walked.end, "the manifest differs from the state of the open database"));
        }
        // Files from before the opening were either named by the manifest then, or removed. Files
        // that readers hold are removed later.
        for entry in env.fs.list(&self.home.dir)?.iter().filter(|_| self.home.held() == 0 && !self.closing()) {
            let named = |number| live.iter().any(|file| file.meta.number == number);
            if sst_number(&entry.name).is_none_or(|n| n >= self.first_new_file() || named(n)) {
                continue;
            }
            // The last reader of a dropped file may have released it a moment ago.
            self.home.remove_dropped();
            if env.fs.exists(&self.home.dir.join(&entry.name))? {
                let what = "the manifest does not name this file: reopening the database removes it";
                damage.push(Error::corrupt(&self.home.dir.join(&entry.name), 0, what));
            }
        }
        Ok(())
    }
}

fn verify_file(file: &FileHandle, check: &mut alluvium_sst::CheckEntry<'_>) -> Result<alluvium_sst::FileCheck> {
    let reader = file.reader()?;
    let check = reader.verify_with(check)?;
    let trees = reader.properties()?.trees;
    if trees != file.trees {
        let what = format!("it has keys of the trees {trees:?}; the manifest records {:?}", file.trees);
        return Err(Error::corrupt(&file.path(), 0, what));
    }
    if check.entries != file.meta.entries || check.tombstones != file.meta.tombstones {
        let what = format!(
            "it has {} entries, {} of them tombstones; the manifest records {} and {}",
            check.entries, check.tombstones, file.meta.entries, file.meta.tombstones
        );
        return Err(Error::corrupt(&file.path(), 0, what));
    }
    Ok(check)
}
