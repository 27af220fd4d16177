//! After any bytes are changed, truncated or removed, the repaired database has each document whose blocks and groups
//! are intact, unchanged. The report lists each missing document with its place. The test reads these places from the
//! undamaged files, block by block.

use alluvium::repair::{self, RepairReport};
use alluvium::{Compression, Database, Durability, Map, Value};
use alluvium_store::Options;
use alluvium_testkit::faults::damage::{Case, Damage, Files, Places, Stride, Version, cases, kind_of};
use alluvium_testkit::worlds::files_in;
use alluvium_testkit::{PATH, World, seed};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

type Documents = BTreeMap<i64, Map>;

/// A database, the places of all its content, its documents, and the `_id`s of its deleted documents.
struct Made {
    disk: World,
    places: Places,
    tree: u32,
    expected: Documents,
    deleted: Vec<i64>,
    closed: bool,
}

fn documents(db: &Database, name: &str) -> Documents {
    match db.collection(name).scan().run() {
        Ok(cursor) => cursor.map(|d| d.unwrap()).map(|d| (d.id().as_i64().unwrap(), d.to_map().unwrap())).collect(),
        Err(error) => panic!("{error}"),
    }
}

/// Creates a database with several sorted files of many blocks in each partition, with tombstones, deltas of values in
/// other files, and a log of several segments.
fn make(closed: bool) -> Made {
    let disk = World::new(5);
    let db = disk
        .open(&Options {
            memory_bytes: 8 << 20,
            partitions: Some(2),
            threads: Some(1),
            background: false,
            block_bytes: 1 << 10,
            segment_bytes: Some(12 << 10),
            compression: Compression::Lz4,
            disk_reserve_bytes: Some(0),
            ..Options::default()
        })
        .unwrap();
    let pets = db.collection("pets").with_durability(Durability::Sync);
    let text = |n: i64, round: i64| format!("{:x}", (n * 7919 + round).wrapping_mul(0x5e37_79b9_7f4a_7c15)).repeat(8);
    let put = |n: i64, round: i64| {
        pets.put(n, format!(r#"{{"n":{n},"round":{round},"changed":false,"t":"{}"}}"#, text(n, round))).unwrap();
    };
    let mut deleted: Vec<i64> = (1..80).step_by(6).collect();
    (0..80).for_each(|n| put(n, 0));
    db.flush().unwrap();
    (0..80).step_by(3).for_each(|n| put(n, 1));
    deleted.iter().for_each(|n| pets.delete(*n).unwrap());
    db.flush().unwrap();
    let change = |n: i64| pets.update_blind(n, r#"{"$set": {"changed": true}}"#).unwrap();
    (2..80).step_by(9).for_each(change);
    db.flush().unwrap();
    (100..112).for_each(|n| put(n, 2));
    (5..80).step_by(9).for_each(change);
    for n in [4, 10, 100] {
        pets.delete(n).unwrap();
        deleted.push(n);
    }
    (50..56).for_each(|n| put(n, 3));
    deleted.retain(|n| !(50..56).contains(n));
    let expected = documents(&db, "pets");
    let described = |(_, text): &(_, Vec<u8>)| text.first() == Some(&1) && text.windows(4).any(|part| part == b"pets");
    let tree = db.store().trees().into_iter().find(described).unwrap().0.0;
    if closed {
        db.close().unwrap();
    }
    let disk = disk.killed();
    let places = Places::read(&disk);
    let made = Made { disk, places, tree, expected, deleted, closed };
    let (blocks, groups): (Vec<_>, Vec<_>) = made.places.units().partition(|unit| !unit.of_log);
    assert!(blocks.len() > 100 && groups.len() > 20, "{} and {}", blocks.len(), groups.len());
    made
}

impl Made {
    fn key(&self, id: i64) -> Vec<u8> {
        let mut key = self.tree.to_be_bytes().to_vec();
        alluvium_document::key::encode(&Value::Int64(id), &mut key);
        key
    }
}

/// Compares a repaired database with the content that it must have.
struct Check<'a> {
    made: &'a Made,
    hits: &'a [Case],
    report: &'a RepairReport,
    certain: Documents,
    doubtful: Documents,
    what: &'a str,
}

impl Check<'_> {
    fn is_hit(&self, version: &Version) -> bool {
        version.is_lost(self.hits)
    }

    /// The newest lost version among those from which the document is computed; `None` if the document can be computed
    /// from the remaining versions.
    fn lost_of(&self, id: i64) -> Option<&Version> {
        self.made.places.chain(&self.made.key(id)).iter().find(|version| self.is_hit(version))
    }

    /// True if the report lists the place of a lost version.
    fn is_listed(&self, key: &[u8], version: &Version) -> bool {
        let unit = &version.unit;
        if !unit.of_log {
            return self.report.losses.iter().filter(|loss| loss.entries && loss.path == unit.path).any(|loss| {
                let flipped = |case: &Case| case.path == unit.path && matches!(case.damage, Damage::Flip(..));
                let overlaps = loss.offset < unit.to && unit.from < loss.offset + loss.bytes;
                // In a truncated file, only the remaining part has offsets that can be compared.
                let there = overlaps || !self.hits.iter().any(flipped);
                there && loss.from.as_slice() <= key && loss.to.as_deref().is_none_or(|to| key <= to)
            }) || self.has_vanished(version);
        }
        // The last group of an unclosed log may be torn, and it is unknown whether another segment followed. Such a
        // loss is only in the notes.
        let name = unit.path.file_name().unwrap().to_string_lossy();
        let noted = || !self.made.closed && self.report.notes.iter().any(|note| note.contains(&*name));
        let lost = |lost: &repair::LostNumbers| (lost.first..=lost.last).contains(&version.seq);
        self.report.lost_numbers.iter().any(lost) || noted() || self.is_unseen_end(version)
    }

    /// True if the file is missing and the manifest that names it is unusable. The report then notes that such a loss
    /// cannot be detected.
    fn has_vanished(&self, version: &Version) -> bool {
        let (path, partition) = (&version.unit.path, version.unit.path.parent().unwrap().display().to_string());
        let gone = self.hits.iter().any(|case| case.path == *path && matches!(case.damage, Damage::Remove));
        let said = |note: &String| note.contains(&partition) && note.contains("is not noticed");
        gone && self.report.notes.iter().any(said)
    }

    /// True for a write that was only in the last segment of the log, if that segment is missing: nothing else shows
    /// that the write existed.
    fn is_unseen_end(&self, version: &Version) -> bool {
        let last = self.made.places.units().filter(|unit| unit.of_log).map(|unit| &unit.path).max();
        let gone = |case: &Case| case.path == version.unit.path && !matches!(case.damage, Damage::Flip(..));
        Some(&version.unit.path) == last && self.hits.iter().any(gone)
    }

    fn run(&self) -> (u64, u64) {
        let (what, mut saved, mut lost) = (self.what, 0, 0);
        for (id, right) in &self.made.expected {
            let found = self.certain.get(id).or_else(|| self.doubtful.get(id));
            let Some(version) = self.lost_of(*id) else {
                let (chain, report) = (self.made.places.chain(&self.made.key(*id)), self.report);
                assert_eq!(found, Some(right), "{what}: document {id} is whole\n{report:?}\n{chain:?}");
                let vanished = || self.report.notes.iter().any(|note| note.contains("is not noticed"));
                assert!(
                    self.certain.contains_key(id) || !self.report.losses.is_empty() || vanished(),
                    "{what}: document {id} is doubtful, and no file has lost anything, nor may one have vanished"
                );
                saved += 1;
                continue;
            };
            lost += 1;
            if found == Some(right) {
                continue;
            }
            assert!(self.is_listed(&self.made.key(*id), version), "{what}: {id} is lost, unlisted\n{:?}", self.report);
            assert!(
                version.unit.of_log || self.has_vanished(version) || !self.certain.contains_key(id),
                "{what}: document {id} is certain, and has lost {version:?}"
            );
        }
        for id in &self.made.deleted {
            let back = self.certain.contains_key(id);
            let why = self.lost_of(*id);
            let unknown = |version: &Version| version.unit.of_log || self.has_vanished(version);
            assert!(!back || why.is_some_and(unknown), "{what}: {id} was deleted, and is back");
        }
        let known = |id: &i64| self.made.expected.contains_key(id) || self.made.deleted.contains(id);
        assert!(self.certain.keys().chain(self.doubtful.keys()).all(known), "{what}: documents that never were");
        (saved, lost)
    }
}

/// Damages and repairs a database, and checks the result. Returns how many documents were intact, and how many were
/// not.
fn check(made: &Made, hits: &[Case]) -> (u64, u64) {
    let what = hits.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let disk = made.disk.killed();
    hits.iter().for_each(|case| case.apply(&*disk.mem));
    let before = files_in(&*disk.mem, Path::new(PATH));
    let report = repair::repair(PATH, "new").env(disk.env.clone()).memory(8 << 20).run();
    let report = report.unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(files_in(&*disk.mem, Path::new(PATH)) == before, "{what}: the damaged database is not as it was");
    let options = Options { memory_bytes: 8 << 20, threads: Some(1), background: false, ..Options::default() };
    let db = Database::builder().env(disk.env.clone()).options(options).open("new").unwrap();
    assert!(db.verify().run().unwrap().damage.is_empty(), "{what}");
    let (mut certain, mut doubtful) = (Documents::new(), Documents::new());
    for collection in &report.collections {
        let found = documents(&db, &collection.name);
        assert_eq!(found.len() as u64, collection.documents, "{what}");
        // If the name of a collection is lost, all its documents are doubtful.
        certain.extend(found);
        if let Some(name) = &collection.doubtful_in {
            let found = documents(&db, name);
            assert_eq!(found.len() as u64, collection.doubtful, "{what}");
            doubtful.extend(found);
        }
    }
    Check { made, hits, report: &report, certain, doubtful, what: &what }.run()
}

/// The number of databases with damage to several files.
const SEVERAL: u64 = 25;

/// The cases of damage to each file of a database, for a seed.
fn all(made: &Made, seed: u64) -> Vec<Case> {
    let files: Files = files_in(&*made.disk.mem, Path::new(PATH));
    let stride = |path: &Path| match kind_of(path).as_str() {
        "sst" => Stride { flips: 307, cuts: 1999 },
        "ALLUVIUM" | "LOCK" => Stride { flips: 31, cuts: 31 },
        _ => Stride { flips: 1499, cuts: 4999 },
    };
    let of = |(path, bytes): &(PathBuf, Vec<u8>)| cases(&files, &Files::new(), path, bytes, seed, stride(path));
    files.iter().flat_map(of).collect()
}

#[test]
fn repair_saves_every_intact_document() {
    let made = [make(true), make(false)];
    let (saved, lost) = (Cell::new(0), Cell::new(0));
    let add = |(whole, not): (u64, u64)| {
        saved.set(saved.get() + whole);
        lost.set(lost.get() + not);
    };
    seed::each("repair_saves_every_intact_document", 1, 1, |seed| {
        let mut repairs = 0;
        for made in &made {
            let cases = all(made, seed);
            repairs += cases.len() as u64 + SEVERAL;
            cases.iter().for_each(|case| add(check(made, std::slice::from_ref(case))));
            // A file is missing, and the log has a gap: the rest of the log is still used.
            let mut rng = fastrand::Rng::with_seed(seed);
            let gone = |case: &&Case| matches!(case.damage, Damage::Remove) && kind_of(&case.path) == "sst";
            let of_log: Vec<&Case> = cases.iter().filter(|case| kind_of(&case.path).ends_with("log")).collect();
            for file in cases.iter().filter(gone) {
                for _ in 0..4 {
                    add(check(made, &[file.clone(), of_log[rng.usize(0..of_log.len())].clone()]));
                }
                let removed = |case: &&&Case| matches!(case.damage, Damage::Remove);
                of_log.iter().filter(removed).for_each(|log| add(check(made, &[file.clone(), (*log).clone()])));
            }
            // Damage to several files at once.
            for _ in 0..SEVERAL {
                let mut hits: Vec<Case> = Vec::new();
                for _ in 0..rng.usize(2..5) {
                    let case = &cases[rng.usize(0..cases.len())];
                    if hits.iter().all(|hit| hit.path != case.path) {
                        hits.push(case.clone());
                    }
                }
                add(check(made, &hits));
            }
        }
        seed::tally("repairs of damaged databases", repairs);
    });
    println!("{} documents were whole, {} were not", saved.get(), lost.get());
    assert!(saved.get() > 1000 && lost.get() > 200, "{} and {}: the test means nothing", saved.get(), lost.get());
}
