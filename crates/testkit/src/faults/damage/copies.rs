//! Copies and derived directories of a database: checkpoints, read-only stores, dumps.

use super::database::{Specimen, made};
use super::{Case, Damage, Files, Outcome, Subject, named};
use crate::formats::fixtures::{self as fixture, End, fill};
use crate::formats::read_only::{build, documents};
use crate::model::{State, read_state};
use crate::worlds::{World, contents_of, files_in};
use alluvium::backup;
use alluvium::dump;
use alluvium::{Compression, Database, Map, ReadOnly};
use std::path::{Path, PathBuf};

/// A collection of a fixture with documents.
const PEOPLE: &str = "main.people";

/// An incremental checkpoint, next to its base.
///
/// # Panics
/// If the checkpoint cannot be created.
pub fn checkpoint() -> Subject {
    let options = fixture::options(Compression::Zstd { level: 3 });
    let made = made(options, false, 1, |world, watch| {
        let db = fill(world, End::Ranges, &mut |_| {});
        db.checkpoint("monday").run().expect("a checkpoint");
        watch(&db);
        db.collection(PEOPLE).put(90, r#"{"name":"new","n":1}"#).expect("a put");
        db.flush().expect("it flushes");
        db.collection(PEOPLE).update_blind(90, r#"{"$inc":{"n":1}}"#).expect("an update");
        watch(&db);
        db.checkpoint("tuesday").base("monday").run().expect("a checkpoint");
        db
    });
    let moved = |(path, bytes): (PathBuf, Vec<u8>)| {
        (Path::new("tuesday").join(path.strip_prefix("monday").expect("within")), bytes)
    };
    let foreign = files_in(&*made.disk.mem, Path::new("monday")).into_iter().map(moved).collect();
    Subject {
        disk: made.disk.killed(),
        dir: "tuesday",
        foreign,
        earlier: Files::new(),
        judge: Box::new(move |disk, context| judge_checkpoint(&made, disk, context)),
        // The lock file is needed only while the checkpoint is created, so its damage may be harmless. All other damage
        // must be detected: every byte has a checksum.
        allowed: Box::new(|case: &Case, outcome| match case.path.ends_with("LOCK") {
            true => matches!(outcome, Outcome::Harmless | Outcome::Refused),
            false => outcome == Outcome::Refused,
        }),
    }
}

fn judge_checkpoint(made: &Specimen, disk: &World, context: &str) -> Outcome {
    let (env, dir) = (&disk.env, Path::new("tuesday"));
    let before = contents_of(&*disk.mem, dir);
    let found = match backup::check(dir).env(env.clone()).run() {
        Err(error) => Some(error),
        Ok(checked) => checked.damage.into_iter().next().map(Into::into),
    };
    found.iter().for_each(|error| named(error, "tuesday", context));
    // Damage that the quick check misses is found when the block is read.
    match backup::restore(dir, "quick").env(env.clone()).quick(true).run() {
        Err(error) => named(&error, "tuesday", context),
        Ok(_) => {
            let outcome = made.judge(disk, "quick", context);
            assert!(matches!(outcome, Outcome::Refused | Outcome::Found | Outcome::Harmless), "{context}: {outcome:?}");
        }
    }
    let restored = backup::restore(dir, "restored").env(env.clone()).run();
    assert!(contents_of(&*disk.mem, dir) == before, "{context}: the checkpoint has changed");
    match restored {
        Err(error) => {
            named(&error, "tuesday", context);
            assert!(found.is_some(), "{context}: the check overlooks what a restore finds: {error}");
            assert!(!disk.env.fs.exists(Path::new("restored")).expect("a look"), "{context}: something is there");
            Outcome::Refused
        }
        Ok(_) => {
            assert!(found.is_none(), "{context}: a restore overlooks what the check finds: {found:?}");
            made.judge(disk, "restored", context)
        }
    }
}

/// A read-only store of documents with index files.
///
/// # Panics
/// If the store cannot be created.
pub fn read_only() -> Subject {
    let (world, other, all) = (World::new(1), World::new(2), documents(40));
    build(&world.env, "ro", &all);
    build(&other.env, "ro", &documents(41));
    Subject {
        disk: world,
        dir: "ro",
        foreign: files_in(&*other.mem, Path::new("ro")),
        earlier: Files::new(),
        judge: Box::new(move |disk, context| judge_read_only(&all, disk, context)),
        allowed: Box::new(|case: &Case, outcome| match case.path.ends_with("LOCK") {
            true => outcome == Outcome::Harmless,
            false => matches!(outcome, Outcome::Refused | Outcome::Found),
        }),
    }
}

fn judge_read_only(documents: &[Map], disk: &World, context: &str) -> Outcome {
    let (mut refused, mut found) = (0, 0);
    for interval in [4, 16] {
        let options = ReadOnly::options().env(disk.env.clone()).memory(4 << 20).index_interval(interval);
        let store = match options.open("ro") {
            Err(error) => {
                named(&error, "ro", context);
                refused += 1;
                continue;
            }
            Ok(store) => store,
        };
        let damage = store.verify().unwrap_or_else(|e| panic!("{context}: verify: {e}"));
        damage.iter().for_each(|error| named(error, "ro", context));
        found += damage.len();
        let missed = |error: alluvium::Error| {
            named(&error, "ro", context);
            assert!(!damage.is_empty(), "{context}: verify overlooks what reading finds: {error}");
        };
        for map in documents {
            match store.get(map.get("_id").expect("an _id").clone()) {
                Ok(document) => {
                    assert_eq!(document.map(|d| d.to_map().expect("a map")).as_ref(), Some(map), "{context}")
                }
                Err(error) => missed(error),
            }
        }
        match store.get("not there") {
            Ok(document) => assert!(document.is_none(), "{context}"),
            Err(error) => missed(error),
        }
        match store.scan().run().and_then(Iterator::collect::<alluvium::Result<Vec<_>>>) {
            Ok(all) => assert_eq!(all.len(), documents.len(), "{context}"),
            Err(error) => missed(error),
        }
    }
    match (refused, found) {
        (2, _) => Outcome::Refused,
        (0, 0) => Outcome::Harmless,
        _ => Outcome::Found,
    }
}

/// A dump of all collections of a database, compressed or not.
///
/// Alluvium uses the format of `mongodump`, which has no checksums: a changed byte in an uncompressed dump changes a
/// document. The lengths and the number of documents are checked, and gzip has a checksum.
///
/// # Panics
/// If the dump cannot be created.
pub fn dump(gzip: bool) -> Subject {
    let make = |seed: u64| {
        let world = World::new(seed);
        let db = fill(&world, End::Killed, &mut |_| {});
        if seed > 1 {
            db.collection(PEOPLE).put(90, r#"{"name":"of another"}"#).expect("a put");
        }
        db.dump("dump").gzip(gzip).alluvium_types(true).run().expect("a dump");
        (world, read_state(&db).expect("it reads").without_unready())
    };
    let ((world, state), (other, _)) = (make(1), make(2));
    let plain = state.collections.iter().filter(|(_, contents)| contents.indexes.is_empty());
    let plain: Vec<String> = plain.map(|(name, _)| name.clone()).collect();
    Subject {
        disk: world.killed(),
        dir: "dump",
        foreign: files_in(&*other.mem, Path::new("dump")),
        earlier: Files::new(),
        judge: Box::new(move |disk, context| judge_dump(&state, disk, context)),
        allowed: Box::new(move |case: &Case, outcome| {
            use Outcome::{Harmless, Other, Refused, Reported};
            match case.damage {
                // Some bytes of a gzip header do not affect the content.
                Damage::Flip(..) if gzip => matches!(outcome, Refused | Reported | Harmless),
                Damage::Flip(..) => matches!(outcome, Refused | Reported | Harmless | Other),
                // Only the final line feed of a text file is cut off.
                Damage::Cut(at) if !gzip && at + 1 == case.len && is_text(&case.path) => outcome == Harmless,
                Damage::Cut(_) => matches!(outcome, Refused | Reported),
                // A dump without metadata has no indexes, like old dumps.
                Damage::Remove if case.path.to_string_lossy().contains(".metadata.json") => {
                    let path = case.path.to_string_lossy();
                    let of = |name: &String| path.contains(&format!("/{}.metadata.json", name.replace('.', "/")));
                    outcome == if plain.iter().any(of) { Harmless } else { Other }
                }
                Damage::Remove => matches!(outcome, Refused | Reported),
                // The files of a dump do not show which dump they belong to.
                Damage::Swap(_) | Damage::Older(_) | Damage::Back(_) => matches!(outcome, Refused | Reported | Other),
            }
        }),
    }
}

fn is_text(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "json" || ending == "jsonl")
}

fn judge_dump(state: &State, disk: &World, context: &str) -> Outcome {
    let db = Database::builder().env(disk.env.clone()).options(fixture::options(Compression::Lz4)).open("restored");
    let db = db.expect("an empty disk");
    let refused = |error: alluvium::Error| {
        let text = error.to_string();
        // An error about a document's content instead of its bytes names the collection.
        let names = ["dump/", "collection main.", "collection library."];
        assert!(names.iter().any(|name| text.contains(name)), "{context}: the error names nothing: {error}");
        assert!(db.verify().run().expect("it can be checked").damage.is_empty(), "{context}: the database is damaged");
        Outcome::Refused
    };
    let dump = match dump::read("dump").env(disk.env.clone()).run() {
        Ok(dump) => dump,
        Err(error) => return refused(error),
    };
    if let Err(error) = dump.restore(&db).readers(1).run() {
        return refused(error);
    }
    assert!(db.verify().run().expect("it can be checked").damage.is_empty(), "{context}: the database is damaged");
    match dump.passed_over.is_empty() && dump.skipped.is_empty() {
        false => Outcome::Reported,
        true if holds(&db, state) => Outcome::Harmless,
        true => Outcome::Other,
    }
}

/// True if a database has exactly this content; its `_id`s may have any type.
fn holds(db: &Database, state: &State) -> bool {
    let mut names = Vec::new();
    for info in db.collections() {
        let name = info.full_name();
        for document in db.collection(&name).scan().run().expect("a scan") {
            let document = document.expect("a document");
            let right = crate::model::Id::of(document.id()).and_then(|id| state.get(&name, &id).cloned());
            if right.is_none_or(|right| *right != document.to_map().expect("a map")) {
                return false;
            }
        }
        names.push(name);
    }
    let right: Vec<&String> = state.collections.keys().collect();
    right == names.iter().collect::<Vec<_>>() && read_state(db).expect("ids are right") == *state
}
