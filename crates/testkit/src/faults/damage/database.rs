//! Databases to damage: closed and killed ones, with content of every kind.

use super::earlier::Earlier;
use super::probes::{Probe, answers};
use super::repaired::{self, Moments, Written};
use super::{Case, Damage, Files, Outcome, Subject, named};
use crate::formats::fixtures::{self as fixture, End};
use crate::model::map_of;
use crate::worlds::{FileKind, PATH, World, contents_of, files_in};
use alluvium::{Compression, Database};
use alluvium_lsm::image::walk_manifest;
use alluvium_store::Options;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The offset of the first group in a segment (`docs/format/wal.md`).
const GROUPS: usize = 8192;

/// The offsets of the seal.
const SEAL: Range<u64> = 4096..4160;

/// A database on a disk, with probes and the results of these probes in all states since the last flush.
pub struct Specimen {
    /// The disk of the database.
    pub disk: World,
    /// True if the database was closed.
    pub closed: bool,
    /// The options for opening it.
    pub options: Options,
    probes: Vec<Probe>,
    /// The results of all probes in each state, the oldest state first; the last results are the current ones.
    states: Vec<Vec<String>>,
    /// The contents of the files of the database while it was created.
    earlier: Files,
    /// All documents that the database ever contained.
    ever: Written,
    /// The documents in each of the last states; one set for each entry of `states`.
    written: Vec<Written>,
}

/// Called after each write.
pub(super) type Watch<'a> = &'a mut dyn FnMut(&Database);

/// Options for a small database.
fn options(compression: Compression) -> Options {
    Options { partitions: Some(2), ..fixture::options(compression) }
}

/// A database with two collections and an index: its sorted files are in two runs, and some batches are only in the
/// log. `id` is the seed of its random numbers.
///
/// # Panics
/// If the database cannot be created.
pub fn small(compression: Compression, closed: bool, id: u64) -> Specimen {
    made(options(compression), closed, id, |world, watch| {
        let db = world.open(&options(compression)).expect("an empty disk");
        for name in ["main.a", "other.b"] {
            db.create_collection(name).run().expect("a collection");
        }
        db.collection("main.a").create_index(r#"{"n":1}"#).run().expect("an index");
        for n in 0..46 {
            let name = if n % 3 == 0 { "other.b" } else { "main.a" };
            let id = n % 35;
            // These documents, which are only in the log, are larger than one segment.
            let text = "some text ".repeat(if (41..44).contains(&n) { 300 } else { n % 4 });
            let map = map_of(&format!(r#"{{"_id":{id},"n":{n},"text":"{text}"}}"#));
            db.collection(name).put(id as i32, map).expect("a put");
            match n {
                20 => db.compact().run().expect("it compacts"),
                40 => db.flush().expect("it flushes"),
                _ => {}
            }
            if n >= 40 {
                watch(&db);
            }
        }
        db
    })
}

/// A database with the content of fixtures: all types, indexes of all kinds, tombstones, deltas, ranges, many values
/// under a key, and a dropped collection. If it is closed, it also has dictionaries.
///
/// # Panics
/// If the database cannot be created.
pub fn fixture(end: End, id: u64) -> Specimen {
    made(fixture::options(Compression::Zstd { level: 3 }), end == End::Closed, id, |world, watch| {
        fixture::fill(world, end, watch)
    })
}

/// A database that `fill` creates on an empty disk, twice in the same way. `fill` returns the open database, and calls
/// its last argument after each write that is only in the log.
///
/// # Panics
/// If the database cannot be created.
pub(super) fn made(options: Options, closed: bool, id: u64, fill: impl Fn(&World, Watch<'_>) -> Database) -> Specimen {
    let first = World::new(id);
    let (moments, mut ever, mut written) = (Moments::watch(&first), Written::new(), Vec::new());
    let probes = Probe::all(&fill(&first, &mut |db| {
        let mut now = Written::new();
        repaired::all(db, &mut now);
        written.push(now);
    }));
    moments.end(&first, PATH, &options, &mut ever);
    ever.extend(written.iter().flatten().cloned());
    let (disk, mut states) = (World::new(id), Vec::new());
    let earlier = Earlier::watch(&disk, PATH);
    let db = fill(&disk, &mut |db| states.push(answers(db, &probes)));
    assert!(states.len() > 1 && answers(&db, &probes) == states[states.len() - 1], "the last write is the last state");
    if closed {
        db.close().expect("it closes");
    }
    let earlier = earlier.end(&disk);
    Specimen { disk: disk.killed(), closed, options, probes, states, earlier, ever, written }
}

impl Specimen {
    /// Opens a damaged disk and reads everything.
    ///
    /// # Panics
    /// If a result is wrong, or an error does not name a file.
    pub fn judge(&self, disk: &World, path: &str, context: &str) -> Outcome {
        let repaired = repaired::repair(&self.options, &self.ever, disk, path, context);
        let outcome = self.opened(disk, path, context);
        // If nothing is lost, according to the report or to the results, the repaired database must be complete.
        if let Some((whole, certain)) = repaired {
            let is_last = self.written.last() == Some(&certain);
            assert!(is_last || outcome != Outcome::Harmless, "{context}: harmless, and not all of it is repaired");
            assert!(!whole || self.written.contains(&certain), "{context}: a repair says that nothing is lost");
        }
        outcome
    }

    fn opened(&self, disk: &World, path: &str, context: &str) -> Outcome {
        let (before, file) = (contents_of(&*disk.mem, Path::new(path)), format!("{path}/"));
        let opened = Database::builder().env(disk.env.clone()).options(self.options.clone()).open(path);
        let db = match opened {
            Err(error) => {
                named(&error, &file, context);
                let now = contents_of(&*disk.mem, Path::new(path));
                // The lock file is created if it is missing.
                let same = before.iter().all(|(path, bytes)| now.get(path) == Some(bytes));
                assert!(same && now.len() <= before.len() + 1, "{context}: {error}; and files have changed");
                return Outcome::Refused;
            }
            Ok(db) => db,
        };
        let damage = db.verify().run().unwrap_or_else(|e| panic!("{context}: verify: {e}")).damage;
        damage.iter().for_each(|error| named(error, &file, context));
        let reported = db.report().dropped.is_some() || !db.report().manifest_tails.is_empty();
        let found: Vec<_> = self.probes.iter().map(|probe| probe.ask(&db)).collect();
        // The readable parts of a damaged database must be unchanged.
        let last = &self.states[self.states.len() - 1];
        for (at, error) in found.iter().enumerate().filter_map(|(at, found)| Some((at, found.as_ref().err()?))) {
            named(error, &file, context);
            assert!(!damage.is_empty(), "{context}: verify overlooks what {:?} finds: {error}", self.probes[at]);
        }
        if !damage.is_empty() {
            for ((found, last), probe) in found.iter().zip(last).zip(&self.probes) {
                let Ok(found) = found else { continue };
                assert_eq!(found, last, "{context}: {probe:?} is answered wrongly");
            }
            return Outcome::Found;
        }
        let found: Vec<String> = found.into_iter().flatten().collect();
        let Some(at) = self.states.iter().rposition(|state| *state == found) else {
            let other = found.iter().zip(last).position(|(found, last)| found != last).expect("something differs");
            panic!("{context}: {:?}: it has never been like this:\n{}", self.probes[other], found[other]);
        };
        match (self.states.len() - 1 - at, reported) {
            (0, true) => Outcome::Reported,
            (0, false) => Outcome::Harmless,
            (lost, true) => Outcome::Dropped(lost),
            (lost, false) => Outcome::Earlier(lost),
        }
    }

    /// The properties of each file on which the table of outcomes depends.
    fn facts(&self) -> BTreeMap<PathBuf, Facts> {
        let files = files_in(&*self.disk.mem, Path::new(PATH));
        let last_segment = files.iter().map(|(path, _)| path).filter(|path| FileKind::of(path) == FileKind::Log).max();
        let facts = |(path, bytes): &(PathBuf, Vec<u8>)| {
            let (kind, bytes) = (FileKind::of(path), bytes.as_slice());
            let mut facts = Facts { kind, used: Vec::new(), last_begins: 0, is_last: false, bytes: bytes.to_vec() };
            match facts.kind {
                FileKind::Log => {
                    facts.is_last = Some(path) == last_segment;
                    facts.of_segment(bytes);
                }
                FileKind::Manifest => {
                    let walked = walk_manifest(&self.disk.env, path, None).expect("a manifest");
                    facts.used.push(0..walked.end);
                    facts.last_begins = walked.edits.last().expect("an edit").0;
                }
                _ => facts.used.push(0..bytes.len() as u64),
            }
            (path.clone(), facts)
        };
        files.iter().map(facts).collect()
    }
}

/// Properties of a file that is damaged.
struct Facts {
    kind: FileKind,
    /// The ranges of bytes that are used; all other bytes are zero or reserved.
    used: Vec<Range<u64>>,
    /// The offset of the last group or the last edit.
    last_begins: u64,
    /// True for the last segment of the log.
    is_last: bool,
    /// The content of the file.
    bytes: Vec<u8>,
}

impl Facts {
    fn of_segment(&mut self, bytes: &[u8]) {
        self.used.push(0..128);
        if bytes[4096..].starts_with(b"ALLUSEAL") {
            self.used.push(SEAL);
        }
        let mut at = GROUPS;
        while let Some(head) = bytes.get(at..at + 48) {
            let body = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
            if body == 0 {
                break;
            }
            self.last_begins = at as u64;
            at += 48 + body;
        }
        self.used.push(GROUPS as u64..at as u64);
    }

    fn is_used(&self, at: u64) -> bool {
        self.used.iter().any(|range| range.contains(&at))
    }

    /// True if `other` has the same bytes in all used ranges.
    fn holds_the_same(&self, other: &[u8]) -> bool {
        let range = |range: &Range<u64>| range.start as usize..range.end as usize;
        self.used.iter().all(|used| other.get(range(used)) == self.bytes.get(range(used)))
    }

    fn is_seal(&self, at: u64) -> bool {
        self.is_last && SEAL.contains(&at)
    }

    fn end(&self) -> u64 {
        self.used.iter().map(|range| range.end).max().unwrap_or(0)
    }

    /// True if the outcome is allowed for a database after this damage.
    fn allow(&self, closed: bool, damage: &Damage, outcome: Outcome) -> bool {
        use Outcome::{Dropped, Earlier, Found, Harmless, Refused, Reported};
        match (self.kind, damage) {
            // The lock file is empty, and it is created again.
            (FileKind::Lock, _) => outcome == Harmless,
            (FileKind::Superblock, _) => outcome == Refused,
            // A manifest consists of edits, followed by zeros. Only the last edit can be torn; it is then redone from
            // the log, or the loss is detected.
            (FileKind::Manifest, Damage::Flip(at, _)) if *at < self.last_begins => outcome == Refused,
            (FileKind::Manifest, Damage::Flip(..)) => matches!(outcome, Refused | Reported),
            // If the file ends before its last edit, the database is in its earlier state, and the log contains the
            // later writes.
            (FileKind::Manifest, Damage::Cut(at)) if *at == self.last_begins || *at >= self.end() => {
                matches!(outcome, Refused | Reported | Harmless)
            }
            (FileKind::Manifest, Damage::Cut(at)) if *at > self.last_begins => matches!(outcome, Refused | Reported),
            // Without its last edits, the manifest refers to removed files, or the log contains the later writes.
            (FileKind::Manifest, Damage::Older(_)) => matches!(outcome, Refused | Reported | Harmless),
            (FileKind::Manifest, _) => outcome == Refused,
            // Each byte is covered by a checksum, and the manifest contains the length.
            (FileKind::Sst, Damage::Cut(_) | Damage::Remove) => outcome == Refused,
            (FileKind::Sst, _) => matches!(outcome, Refused | Found),
            (FileKind::Log, Damage::Flip(at, _)) if !self.is_used(*at) => match closed {
                true => outcome == Harmless,
                // A change after the end of an unclosed log looks like a torn write.
                false => matches!(outcome, Harmless | Reported),
            },
            // Without its seal, the log looks like the log of a killed process, and all its groups are complete.
            (FileKind::Log, Damage::Flip(at, _)) if self.is_seal(*at) => outcome == Harmless,
            (FileKind::Log, Damage::Cut(at)) if *at >= self.end() => outcome == Harmless,
            // The end of an unclosed log is its last complete group. If the last group is damaged,
            // it cannot be distinguished from a torn one.
            (FileKind::Log, Damage::Flip(at, _)) if !closed && self.is_last && *at >= self.last_begins => {
                matches!(outcome, Dropped(1))
            }
            // Segments are preallocated, so the length of the last one is not known.
            (FileKind::Log, Damage::Cut(at)) if !closed && self.is_last && *at >= GROUPS as u64 => {
                matches!(outcome, Refused | Dropped(_) | Earlier(_) | Harmless)
            }
            // The old content has all used bytes. It may lack the note of the successor.
            (FileKind::Log, Damage::Older(old)) if self.holds_the_same(old) => matches!(outcome, Harmless | Reported),
            // An earlier content of the last segment looks like the log of a process that was killed at that time.
            // Nothing else records the length of the log, unless files contain later writes.
            (FileKind::Log, Damage::Older(_)) if self.is_last => matches!(outcome, Refused | Earlier(_) | Harmless),
            (FileKind::Log, _) => outcome == Refused,
            (FileKind::Directory, _) => false,
        }
    }
}

/// A subject for a database. The files of the `other` database are used as replacements.
pub fn subject(made: Specimen, other: &Specimen) -> Subject {
    let facts = made.facts();
    let (closed, made) = (made.closed, Rc::new(made));
    let judged = made.clone();
    Subject {
        disk: made.disk.killed(),
        dir: PATH,
        foreign: files_in(&*other.disk.mem, Path::new(PATH)),
        earlier: made.earlier.clone(),
        judge: Box::new(move |disk, context| judged.judge(disk, PATH, context)),
        allowed: Box::new(move |case: &Case, outcome| match facts.get(&case.path) {
            Some(facts) => facts.allow(closed, &case.damage, outcome),
            // A removed file that exists again.
            None => matches!(outcome, Outcome::Refused | Outcome::Harmless),
        }),
    }
}

/// The path of the last segment of the log, the end of its groups, and the end of its first group.
///
/// # Panics
/// If there is no log.
pub fn last_segment(made: &Specimen) -> (PathBuf, u64, u64) {
    let facts = made.facts();
    let (path, last) = facts.iter().find(|(_, facts)| facts.is_last).expect("a segment");
    let bytes = &contents_of(&*made.disk.mem, Path::new(PATH))[path];
    let first = u32::from_le_bytes([bytes[GROUPS], bytes[GROUPS + 1], bytes[GROUPS + 2], bytes[GROUPS + 3]]);
    (path.clone(), last.end(), GROUPS as u64 + 48 + u64::from(first))
}
