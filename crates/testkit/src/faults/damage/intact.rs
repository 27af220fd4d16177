//! Determines which content of a database must survive damage, from the locations of all versions of keys in its
//! undamaged files.

use super::{Case, Damage};
use crate::worlds::{PATH, World, files_in};
use alluvium_codec::entry::{Kind, Seq};
use alluvium_codec::varint;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A range of bytes that are lost together: a data block of a sorted file, or a group of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The path of the file.
    pub path: PathBuf,
    /// The start offset.
    pub from: u64,
    /// The end offset.
    pub to: u64,
    /// True if the range is part of the log.
    pub of_log: bool,
}

impl Unit {
    /// True if the damage changes this range.
    pub fn is_hit(&self, case: &Case) -> bool {
        self.path == case.path
            && match case.damage {
                Damage::Flip(at, _) => (self.from..self.to).contains(&at),
                Damage::Cut(at) => at < self.to,
                Damage::Remove | Damage::Swap(_) | Damage::Older(_) | Damage::Back(_) => true,
            }
    }
}

/// A version of a key.
#[derive(Debug, Clone)]
pub struct Version {
    /// The sequence number of the version.
    pub seq: Seq,
    /// The kind of operation.
    pub kind: Kind,
    /// The location of the version. If the version is in a sorted file and in the log, this is the location in the
    /// sorted file.
    pub unit: Unit,
    /// The copies of the version in the log, if `unit` is in a sorted file.
    pub again: Vec<Unit>,
}

impl Version {
    /// True if the damage changes all copies of the version.
    pub fn is_lost(&self, cases: &[Case]) -> bool {
        let is_hit = |unit: &Unit| cases.iter().any(|case| unit.is_hit(case));
        is_hit(&self.unit) && self.again.iter().all(is_hit)
    }
}

/// All versions of all keys in the files of a database, by internal key; for each key the newest first.
#[derive(Debug, Default)]
pub struct Places {
    versions: BTreeMap<Vec<u8>, Vec<Version>>,
}

impl Places {
    /// Reads the files of an intact database.
    ///
    /// # Panics
    /// If the database is damaged.
    pub fn read(world: &World) -> Self {
        let mut places = Self::default();
        let registry = alluvium_sst::DictionaryRegistry::new();
        for (path, _) in files_in(&*world.mem, Path::new(PATH)) {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if let Some(number) = alluvium_lsm::image::sst_number(&name) {
                let walked = alluvium_sst::walk_file(&world.env, &path, number, &registry, &mut |block| {
                    let unit =
                        Unit { path: path.clone(), from: block.offset, to: block.offset + block.bytes, of_log: false };
                    block.each(&mut |entry| {
                        places.add(entry.key, entry.seq, entry.kind, &unit);
                        Ok(())
                    })
                });
                assert!(walked.expect("it can be read").lost.is_empty(), "{} is damaged", path.display());
            } else if let Some(number) = alluvium_wal::segment_number(&name) {
                let walk = alluvium_wal::Walk { number, ..alluvium_wal::Walk::default() };
                let walked = alluvium_wal::walk_segment(&world.env, &path, walk, &mut |group| {
                    let (from, to) = (group.offset, group.offset + group.bytes);
                    let unit = Unit { path: path.clone(), from, to, of_log: true };
                    for record in &group.records {
                        places.add_record(record.payload, record.first_seq, &unit);
                    }
                    Ok(())
                });
                assert!(walked.expect("it can be read").gaps.is_empty(), "{} is damaged", path.display());
            }
        }
        places.finish();
        places
    }

    fn add(&mut self, key: &[u8], seq: Seq, kind: Kind, unit: &Unit) {
        self.versions.entry(key.to_vec()).or_default().push(Version {
            seq,
            kind,
            unit: unit.clone(),
            again: Vec::new(),
        });
    }

    /// Adds the operations of a batch (layout: `docs/format/store.md`).
    fn add_record(&mut self, payload: &[u8], first: Seq, unit: &Unit) {
        let Some((&0, mut rest)) = payload.split_first() else { return };
        let mut next = first;
        while let Some((&kind, after)) = rest.split_first() {
            rest = after;
            varint::get_u64(&mut rest).expect("a partition");
            let key = varint::get_bytes(&mut rest).expect("a key");
            let _value = varint::get_bytes(&mut rest).expect("a value");
            if kind & 0x80 == 0 {
                self.add(key, next, Kind::from_byte(kind).expect("a kind"), unit);
                next += 1;
            }
        }
    }

    /// An operation in a sorted file may also be in the log; the log then has copies of it. A folded value in a file is
    /// not a copy of the delta with the same sequence number.
    fn finish(&mut self) {
        for versions in self.versions.values_mut() {
            let (mut filed, logged): (Vec<_>, Vec<_>) =
                std::mem::take(versions).into_iter().partition(|version| !version.unit.of_log);
            for version in logged {
                match filed.iter_mut().find(|other| other.seq == version.seq) {
                    Some(other) if other.kind == version.kind => other.again.push(version.unit),
                    Some(_) => {}
                    None => versions.push(version),
                }
            }
            versions.append(&mut filed);
            versions.sort_by_key(|version| std::cmp::Reverse(version.seq));
        }
    }

    /// The versions from which the value of a key is computed: the newest first, back to the last complete write.
    pub fn chain(&self, key: &[u8]) -> &[Version] {
        let all = self.versions.get(key).map_or(&[][..], Vec::as_slice);
        let full = all.iter().position(|version| version.kind != Kind::Delta);
        &all[..full.map_or(all.len(), |at| at + 1)]
    }

    /// The units that contain entries.
    pub fn units(&self) -> impl Iterator<Item = &Unit> {
        self.versions.values().flatten().map(|version| &version.unit)
    }
}
