//! Reads the undamaged parts of the sorted files, and selects the files to use.

use super::entry::{KeyRange, OwnedEntry, index_of, most_frequent, readable};
use super::log::SalvagedLog;
use super::merge::{self, Content, Source, Visit};
use super::partial::PartialFile;
use super::{Loss, Version};
use crate::definitions::{Defined, unpack};
use crate::error::{Result, check_stop};
use crate::files::partition_dir;
use crate::keys::tree_of;
use crate::trees::SYSTEM;
use alluvium_codec::entry::{Kind, MAX_SEQ, Seq};
use alluvium_codec::ranges::RangeSet;
use alluvium_env::Env;
use alluvium_lsm::{AddedFile, NUMBERLESS, VersionEdit};
use alluvium_sst::{Dictionary, DictionaryRegistry, WalkedFile};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The undamaged parts of a partition.
pub(super) struct SalvagedPartition {
    sources: Vec<Source>,
    trees: BTreeSet<u32>,
    /// The range tombstones of the manifest, if it is undamaged, and of the log.
    ranges: RangeSet,
    /// Range tombstones of a manifest that is older than the newest files. If there is no manifest, range tombstones of
    /// a log with a gap. Some of them may have been dropped before the newest files were written.
    older_ranges: RangeSet,
    /// True if the manifest is undamaged and names all files.
    pub listed: bool,
    /// The definitions that values use, from the files with these values.
    pub defined: Defined,
    registry: DictionaryRegistry,
    _dictionaries: Vec<Arc<Dictionary>>,
    /// All operations up to this number were in files.
    pub flushed: Seq,
    /// For each tree, the highest number in files, which may be above `flushed`. Files have such numbers only for some
    /// keys: an unfinished flush has written some of its files, and the entries of an index that is being built have
    /// the numbers of older writes.
    pub reaches: BTreeMap<u32, Seq>,
}

impl SalvagedPartition {
    /// The highest number in files of trees that are not indexes. These files may have replaced an older write in the
    /// log. A delete that has nothing to hide leaves no trace in a file.
    pub fn reached(&self, indexes: &BTreeSet<u32>) -> Seq {
        let others = self.reaches.iter().filter(|(tree, _)| !indexes.contains(tree));
        others.map(|(_, highest)| *highest).max().unwrap_or(0)
    }

    /// The trees of indexes in the registry. The registry is in this partition.
    pub fn indexes(&self, env: &Env, stop: &AtomicBool) -> Result<BTreeSet<u32>> {
        let mut found = BTreeSet::new();
        self.scan(env, stop, SYSTEM.0, &mut |key, _| {
            found.extend(index_of(key));
            Ok(())
        })?;
        Ok(found)
    }

    pub fn trees(&self) -> impl Iterator<Item = u32> {
        self.trees.iter().copied()
    }

    /// Adds the operations of the log.
    pub fn take_log(&mut self, entries: Vec<OwnedEntry>) {
        let (ranges, mut entries): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|entry| entry.kind == Kind::RangeDelete);
        let listed = self.listed;
        let (now, older): (Vec<_>, Vec<_>) = ranges.into_iter().partition(|range| range.latest || listed);
        for (all, ranges) in [(&mut self.ranges, now), (&mut self.older_ranges, older)] {
            let ranges = ranges.iter().map(|range| RangeSet::one(&range.key, &range.value, range.seq)).collect();
            // Only the latest version is read, so older range tombstones are not kept.
            *all = all.join(&RangeSet::union(ranges, &[MAX_SEQ]), &[MAX_SEQ]);
        }
        entries.sort_by(|a, b| alluvium_codec::entry::compare(&a.key, a.seq, &b.key, b.seq));
        self.trees.extend(entries.iter().map(|entry| tree_of(&entry.key)));
        self.sources.extend(loaded(entries));
    }

    pub fn scan(&self, env: &Env, stop: &AtomicBool, tree: u32, visit: &mut Visit<'_>) -> Result<()> {
        merge::scan(env, stop, &self.sources, &self.registry, tree, &mut |key, versions| {
            let cover = self.ranges.cover(key, MAX_SEQ);
            let older = cover.max(self.older_ranges.cover(key, MAX_SEQ));
            // Versions are ordered newest first. Versions that a range tombstone hides are dropped.
            let above = |cover: Seq| &versions[..versions.partition_point(|version| version.seq > cover)];
            match (above(older), above(cover)) {
                // The version may be newer than the tombstone, and may have lost its number when the tombstone was
                // dropped.
                ([], [.., lowest]) if lowest.seq == NUMBERLESS => {
                    visit(key, &[Version { replaced: true, ..lowest.clone() }])
                }
                ([], _) => Ok(()),
                (left, _) => visit(key, left),
            }
        })
    }
}

/// The reason why a file is not used.
const NOT_LISTED: &str = "this is not the file that the manifest lists, and is left out";

fn loaded(entries: Vec<OwnedEntry>) -> Option<Source> {
    let (smallest, largest) = (entries.first()?.key.clone(), entries.last()?.key.clone());
    Some(Source { content: Content::Loaded(entries), smallest, largest, replaced: None })
}

/// The undamaged parts of all partitions.
#[derive(Default)]
pub(super) struct FoundFiles {
    pub partitions: Vec<SalvagedPartition>,
    /// True if some partition has no list of its files: then missing files are not noticed.
    pub unlisted: bool,
    pub losses: Vec<Loss>,
    pub notes: Vec<String>,
    pub torn: Vec<String>,
    pub files: u64,
    pub blocks: u64,
}

/// The id of the database that most manifests name.
pub(super) fn id_of(env: &Env, dir: &Path, partitions: u32) -> Result<Option<u64>> {
    let mut ids = Vec::new();
    for index in 0..partitions {
        for path in manifests(env, &dir.join(partition_dir(index)))? {
            ids.extend(
                readable(alluvium_lsm::image::walk_manifest(env, &path, None))?.map(|walked| walked.database_id),
            );
        }
    }
    Ok(most_frequent(ids))
}

/// The paths of the manifests of a partition; the current manifest is the last.
fn manifests(env: &Env, dir: &Path) -> Result<Vec<PathBuf>> {
    if !env.fs.exists(dir)? {
        return Ok(Vec::new());
    }
    // A directory that cannot be read is treated as empty.
    let names = readable(env.fs.list(dir))?.unwrap_or_default();
    let mut found: Vec<_> =
        names.iter().filter_map(|e| Some((alluvium_lsm::image::manifest_number(&e.name)?, &e.name))).collect();
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, name)| dir.join(name)).collect())
}

pub(super) fn read(env: &Env, dir: &Path, id: Option<u64>, partitions: u32, log: &SalvagedLog) -> Result<FoundFiles> {
    let mut found = FoundFiles::default();
    for index in 0..partitions {
        let dir = dir.join(partition_dir(index));
        let noted = log.flushed.get(index as usize).copied().unwrap_or(0);
        let version = known_version(env, &dir, id, index, log, &mut found)?;
        let mut reading = Reading {
            env,
            stop: &log.stop,
            dir: &dir,
            index,
            registry: DictionaryRegistry::new(),
            dictionaries: Vec::new(),
            sources: Vec::new(),
            trees: BTreeSet::new(),
            defined: Defined::new(),
            flushed: noted,
            reaches: BTreeMap::new(),
            found: &mut found,
        };
        let listed = version.is_ok();
        let (ranges, older_ranges) = match version {
            Ok(version) => {
                reading.named(&version)?;
                (version.ranges, RangeSet::default())
            }
            Err(Outdated { removed, version }) => {
                reading.all(&removed, version.as_ref())?;
                reading.found.unlisted = true;
                // A range tombstone hides lower numbers for good, so an older one is still valid.
                (RangeSet::default(), version.map(|version| version.ranges).unwrap_or_default())
            }
        };
        let Reading { registry, dictionaries: _dictionaries, sources, trees, defined, flushed, reaches, .. } = reading;
        let partition = SalvagedPartition {
            sources,
            trees,
            ranges,
            older_ranges,
            listed,
            defined,
            registry,
            _dictionaries,
            flushed,
            reaches,
        };
        found.partitions.push(partition);
    }
    Ok(found)
}

/// The known facts about a partition whose manifest is damaged or out of date.
#[derive(Default)]
struct Outdated {
    /// Files that are known to have been removed.
    removed: BTreeSet<u64>,
    /// An earlier version, if the manifest has one.
    version: Option<VersionEdit>,
}

/// The consequence for a partition without a usable manifest.
const ALL_FILES: &str = "all sorted files of the partition are read; a missing one is not noticed";

/// The version of the manifest, or, without a usable one, the known facts.
fn known_version(
    env: &Env,
    dir: &Path,
    id: Option<u64>,
    index: u32,
    log: &SalvagedLog,
    found: &mut FoundFiles,
) -> Result<std::result::Result<VersionEdit, Outdated>> {
    let noted = log.flushed.get(index as usize).copied().unwrap_or(0);
    if !env.fs.exists(dir)? {
        found.notes.push(format!("{} is missing, with all its files", dir.display()));
        return Ok(Err(Outdated::default()));
    }
    let mut outdated = Outdated::default();
    if let Some((version, tail)) = last_version(env, dir, id, index, &mut found.notes)? {
        let flushed = version.flushed_seq.unwrap_or(0);
        let why = if flushed < noted {
            format!("and files have numbers up to {noted}")
        } else if log.lacks_after(&version) && has_newer(env, &log.stop, dir, &version)? {
            "later operations that the log lacks may be in files".to_owned()
        } else {
            found
                .torn
                .extend(tail.map(|tail| format!("{} ends within an edit; nothing is lost by that", tail.display())));
            return Ok(Ok(version));
        };
        found.notes.push(format!("the manifest of {} ends at number {flushed}, {why}: {ALL_FILES}", dir.display()));
        outdated.version = Some(version);
    }
    for path in manifests(env, dir)? {
        if let Ok(walked) = readable(alluvium_lsm::image::walk_manifest(env, &path, id.map(|id| (id, index))))?
            && !walked.foreign
        {
            outdated.removed.extend(walked.edits.iter().flat_map(|(_, edit)| edit.removed.iter().copied()));
        }
    }
    Ok(Err(outdated))
}

/// The last version of the manifest. It is used even if the header is damaged, because the content of the header is
/// known from elsewhere. Also returns the path of the manifest if its last edit is torn and was not used.
fn last_version(
    env: &Env,
    dir: &Path,
    id: Option<u64>,
    index: u32,
    notes: &mut Vec<String>,
) -> Result<Option<(VersionEdit, Option<PathBuf>)>> {
    match id.map(|id| alluvium_lsm::image::read_manifest(env, dir, id, index)).transpose() {
        Ok(Some(Some(found))) => return Ok(Some((found.version, found.dropped.map(|tail| tail.path)))),
        Ok(Some(None)) => notes.push(format!("the manifest of {} is missing: {ALL_FILES}", dir.display())),
        Ok(None) => notes.push(format!("it is not known which database {} belongs to: {ALL_FILES}", dir.display())),
        Err(error) if error.is_circumstance() => return Err(error.into()),
        Err(error) => {
            // A manifest of a newer format remains an error; a manifest with a flipped bit in the header is used.
            if let (Some(path), Some(id)) = (manifests(env, dir)?.last(), id)
                && let Ok(walked) = readable(alluvium_lsm::image::walk_manifest(env, path, Some((id, index))))?
                && walked.edits_are_whole()
            {
                notes.push(format!("{error}; the edits after the header are whole, and are used"));
                return Ok(Some((walked.version, None)));
            }
            notes.push(format!("{error}: {ALL_FILES}"));
        }
    }
    Ok(None)
}

/// True if a sorted file has numbers above the numbers of the version. A flush wrote this file, and its edit is lost or
/// was never written. A file that cannot be read may have such numbers.
fn has_newer(env: &Env, stop: &AtomicBool, dir: &Path, version: &VersionEdit) -> Result<bool> {
    let names = readable(env.fs.list(dir))?.unwrap_or_default();
    for number in names.iter().filter_map(|entry| alluvium_lsm::image::sst_number(&entry.name)) {
        if version.added.iter().any(|file| file.meta.number == number) {
            continue;
        }
        check_stop(stop)?;
        let path = alluvium_lsm::image::sst_path(dir, number);
        let walked =
            readable(alluvium_sst::walk_file(env, &path, number, &DictionaryRegistry::new(), &mut |_| Ok(())))?;
        let newest = walked.map_or(MAX_SEQ, |walked| newest_in(&walked).unwrap_or(0));
        if newest > version.flushed_seq.unwrap_or(0) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The highest number in a file, from its properties or its remaining blocks.
fn newest_in(file: &WalkedFile) -> Option<Seq> {
    let properties = file.properties.as_ref().map(|properties| properties.meta.max_seq);
    properties.or(file.numbers.map(|(_, highest)| highest))
}

struct Reading<'a> {
    env: &'a Env,
    stop: &'a AtomicBool,
    dir: &'a Path,
    index: u32,
    registry: DictionaryRegistry,
    dictionaries: Vec<Arc<Dictionary>>,
    sources: Vec<Source>,
    trees: BTreeSet<u32>,
    defined: Defined,
    flushed: Seq,
    reaches: BTreeMap<u32, Seq>,
    found: &'a mut FoundFiles,
}

impl Reading<'_> {
    /// Reads the files that the manifest names.
    fn named(&mut self, version: &VersionEdit) -> Result<()> {
        self.flushed = self.flushed.max(version.flushed_seq.unwrap_or(0));
        let mut damaged = Vec::new();
        for file in &version.added {
            self.trees.extend(&file.trees);
            let path = alluvium_lsm::image::sst_path(self.dir, file.meta.number);
            if !self.env.fs.exists(&path)? {
                self.lose_file(file, &path, "the file is missing");
                continue;
            }
            let walked = match self.walk(&path, file.meta.number)? {
                Ok(walked) => walked,
                Err(why) => {
                    self.lose_file(file, &path, &why);
                    continue;
                }
            };
            if walked.footer.is_some_and(|footer| footer.checksum != file.meta.footer_checksum) {
                self.lose_file(file, &path, NOT_LISTED);
            } else if walked.lost.is_empty() {
                self.whole(path, file.meta.number, &file.meta.smallest, &file.meta.largest);
            } else {
                damaged.push((path, file));
            }
        }
        // The damaged files are read again, because the dictionaries of all files are known now.
        for (path, file) in damaged {
            let (walked, left) = match self.partial_file(&path, file.meta.number)? {
                Ok(found) => found,
                Err(why) => {
                    self.lose_file(file, &path, &why);
                    continue;
                }
            };
            self.lose_blocks(&path, &walked, file.meta.max_seq, &file.meta.smallest, &file.meta.largest);
            self.take_partial(left);
        }
        Ok(())
    }

    /// Reads all existing files except the files that are known to have been removed. A missing file is lost if an
    /// earlier version lists it and it was not replaced later.
    fn all(&mut self, removed: &BTreeSet<u64>, version: Option<&VersionEdit>) -> Result<()> {
        self.flushed = self.flushed.max(version.and_then(|version| version.flushed_seq).unwrap_or(0));
        if !self.env.fs.exists(self.dir)? {
            self.lose_all(self.dir, "the directory of the partition is missing");
            return Ok(());
        }
        let names = match readable(self.env.fs.list(self.dir))? {
            Ok(names) => names,
            Err(why) => {
                self.lose_all(self.dir, &why);
                return Ok(());
            }
        };
        let numbers: BTreeSet<u64> =
            names.iter().filter_map(|entry| alluvium_lsm::image::sst_number(&entry.name)).collect();
        let listed: BTreeMap<u64, &AddedFile> =
            version.iter().flat_map(|version| &version.added).map(|file| (file.meta.number, file)).collect();
        let mut walked = BTreeMap::new();
        for number in numbers.difference(removed) {
            let path = alluvium_lsm::image::sst_path(self.dir, *number);
            match (self.walk(&path, *number)?, listed.get(number)) {
                (Ok(found), Some(file)) if found.footer.is_some_and(|f| f.checksum != file.meta.footer_checksum) => {
                    self.lose_file(file, &path, NOT_LISTED);
                }
                (Ok(found), _) => drop(walked.insert(*number, found)),
                (Err(why), Some(file)) => self.lose_file(file, &path, &why),
                (Err(why), None) => self.lose_all(&path, &why),
            }
        }
        let mut replaced = self.replaced_by(&walked);
        for (number, file) in &listed {
            if !numbers.contains(number) && !removed.contains(number) && !replaced.contains_key(number) {
                self.lose_file(file, &alluvium_lsm::image::sst_path(self.dir, *number), "the file is missing");
            }
        }
        for (number, file) in walked {
            let before = self.sources.len();
            self.take(number, &file, listed.get(&number).copied())?;
            for source in &mut self.sources[before..] {
                source.replaced = replaced.remove(&number);
            }
        }
        Ok(())
    }

    /// The files that other files have replaced, with the ranges of keys. Also records the highest numbers of files.
    fn replaced_by(&mut self, walked: &BTreeMap<u64, WalkedFile>) -> BTreeMap<u64, Vec<KeyRange>> {
        let mut replaced: BTreeMap<u64, Vec<KeyRange>> = BTreeMap::new();
        for file in walked.values() {
            let Some(properties) = &file.properties else { continue };
            for input in &properties.inputs {
                let ranges = replaced.entry(*input).or_default();
                // If the output has lost entries, the input may be the last copy. Then the whole input is kept, and is
                // doubtful.
                if !file.lost.iter().any(|lost| lost.entries) {
                    ranges.push((properties.meta.smallest.clone(), properties.meta.largest.clone()));
                }
            }
            for number in &properties.replaced {
                // The files that replaced this file may not exist any more, or may have had other keys. Then the whole
                // file is doubtful.
                replaced.entry(*number).or_default();
            }
            self.reach(&properties.trees, properties.meta.max_seq);
        }
        replaced
    }

    /// Records the highest number in a file with these trees.
    fn reach<'t>(&mut self, trees: impl IntoIterator<Item = &'t u32>, newest: Seq) {
        for tree in trees {
            let highest = self.reaches.entry(*tree).or_default();
            *highest = newest.max(*highest);
            self.trees.insert(*tree);
        }
    }

    /// Takes the undamaged parts of a file. If an earlier version lists the file, it may have data that the properties
    /// of the file have lost.
    fn take(&mut self, number: u64, file: &WalkedFile, listed: Option<&AddedFile>) -> Result<()> {
        let path = alluvium_lsm::image::sst_path(self.dir, number);
        let meta = file.properties.as_ref().map(|properties| &properties.meta);
        if let (Some(meta), true) = (meta, file.lost.is_empty()) {
            self.whole(path, number, &meta.smallest, &meta.largest);
            return Ok(());
        }
        let (again, left) = match (self.partial_file(&path, number)?, listed) {
            (Ok(found), _) => found,
            (Err(why), Some(file)) => {
                self.lose_file(file, &path, &why);
                return Ok(());
            }
            (Err(why), None) => {
                self.lose_all(&path, &why);
                return Ok(());
            }
        };
        let meta = meta.or(listed.map(|file| &file.meta));
        let (low, high) = meta.map_or((&[][..], &[][..]), |meta| (&meta.smallest, &meta.largest));
        self.lose_blocks(&path, &again, meta.map_or(MAX_SEQ, |meta| meta.max_seq), low, high);
        let newest = meta.map(|meta| meta.max_seq).or(newest_in(&again)).unwrap_or(0);
        self.reach(left.trees.iter().chain(listed.iter().flat_map(|file| &file.trees)), newest);
        self.take_partial(left);
        Ok(())
    }

    fn walk(&mut self, path: &Path, number: u64) -> Result<std::result::Result<WalkedFile, String>> {
        check_stop(self.stop)?;
        let walked = match readable(alluvium_sst::walk_file(self.env, path, number, &self.registry, &mut |_| Ok(())))? {
            Ok(walked) => walked,
            Err(why) => return Ok(Err(why)),
        };
        self.dictionaries.extend(walked.dictionary.clone());
        self.dictionaries.dedup_by_key(|dictionary| dictionary.id());
        for (tree, definitions) in walked.aux.as_deref().and_then(unpack).unwrap_or_default() {
            self.defined.entry(tree).or_default().extend(definitions);
        }
        self.found.files += 1;
        self.found.blocks += walked.data_blocks;
        Ok(Ok(walked))
    }

    /// Finds the undamaged blocks of a damaged file.
    fn partial_file(&self, path: &Path, number: u64) -> Result<std::result::Result<(WalkedFile, PartialFile), String>> {
        check_stop(self.stop)?;
        readable(PartialFile::read(self.env, path, number, &self.registry))
    }

    fn take_partial(&mut self, left: PartialFile) {
        let keys = left.keys();
        self.sources.extend(keys.map(|(smallest, largest)| Source {
            content: Content::Damaged(left),
            smallest,
            largest,
            replaced: None,
        }));
    }

    fn whole(&mut self, path: PathBuf, number: u64, smallest: &[u8], largest: &[u8]) {
        let (smallest, largest) = (smallest.to_vec(), largest.to_vec());
        self.sources.push(Source { content: Content::File { path, number }, smallest, largest, replaced: None });
    }

    fn lose_file(&mut self, file: &AddedFile, path: &Path, what: &str) {
        self.trees.extend(&file.trees);
        self.found.losses.push(Loss {
            path: path.to_owned(),
            offset: 0,
            bytes: file.meta.bytes,
            what: format!("{what}: {} entries", file.meta.entries),
            partition: self.index,
            entries: true,
            from: file.meta.smallest.clone(),
            to: Some(file.meta.largest.clone()),
            max_seq: file.meta.max_seq,
        });
    }

    /// Records the loss of a file or directory whose content is not known.
    fn lose_all(&mut self, path: &Path, what: &str) {
        self.found.losses.push(Loss {
            path: path.to_owned(),
            offset: 0,
            bytes: 0,
            what: what.to_owned(),
            partition: self.index,
            entries: true,
            from: Vec::new(),
            to: None,
            max_seq: MAX_SEQ,
        });
    }

    /// Records the lost parts of a file. `smallest` and `largest` are the keys of the file; they are empty if not
    /// known.
    fn lose_blocks(&mut self, path: &Path, walked: &WalkedFile, max_seq: Seq, smallest: &[u8], largest: &[u8]) {
        for lost in &walked.lost {
            let known = (!largest.is_empty()).then(|| largest.to_vec());
            self.found.losses.push(Loss {
                path: path.to_owned(),
                offset: lost.offset,
                bytes: lost.bytes,
                what: lost.what.clone(),
                partition: self.index,
                entries: lost.entries,
                from: lost.from.clone().max(smallest.to_vec()),
                to: match (&lost.to, known) {
                    (Some(to), Some(known)) => Some(to.clone().min(known)),
                    (to, known) => to.clone().or(known),
                },
                max_seq,
            });
        }
    }
}
