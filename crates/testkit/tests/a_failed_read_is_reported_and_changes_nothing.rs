//! The disk refuses one read, which is each read of an operation in turn. The operation reports the failure, or its
//! result is still right. The next operation finds the database unchanged: no partly read block or index is kept, no
//! scan continues as if nothing were missing, and a write, a flush or a merge that could not read has changed nothing.

use alluvium::{Collection, Database, Document, Durability, ErrorKind, Result};
use alluvium_env::fault::{Fault, OpKind};
use alluvium_store::Options;
use alluvium_testkit::{World, random_options, seed};

type Answer = Result<String>;
type Operation = (&'static str, fn(&Database, u64) -> Answer);

/// The `_id`s of the documents in this test are below this number.
const IDS: u64 = 60;

const READS: &[Operation] = &[
    ("get", |db, n| documents(pets(db).get_many((0..IDS).filter(|id| id % 7 == n % 7))?.into_iter().flatten().map(Ok))),
    ("fields", |db, n| {
        let found = (0..10).map(|at| pets(db).get_fields((n + at) % IDS, &["k", "n.a"]));
        found.map(|found| Ok(format!("{:?}", found?))).collect()
    }),
    ("scan", |db, _| documents(pets(db).scan().run()?)),
    ("scan backward", |db, n| documents(pets(db).scan().reverse().from(n % IDS).run()?)),
    ("count", |db, _| Ok(pets(db).count()?.to_string())),
    ("find by index", |db, n| sorted(pets(db).find(format!(r#"{{"k":{{"$gte":{}}}}}"#, n % 10)).run()?)),
    ("find by several", |db, n| {
        let k = n % 10;
        sorted(pets(db).find(format!(r#"{{"$or":[{{"k":{k}}},{{"tags":"t{k}"}}]}}"#)).run()?)
    }),
    ("find sorted", |db, n| documents(pets(db).find("{}").sort(r#"{"k":-1,"_id":1}"#).skip(n % 5).limit(20).run()?)),
    ("find sorted in memory", |db, _| documents(pets(db).find("{}").sort(r#"{"n.a":1,"_id":1}"#).run()?)),
    ("count by index", |db, n| Ok(pets(db).find(format!(r#"{{"k":{}}}"#, n % 10)).count()?.to_string())),
    ("distinct", |db, _| Ok(format!("{:?}", pets(db).find("{}").distinct("tags")?))),
    ("at a snapshot", |db, n| {
        let snapshot = db.snapshot();
        pets(db).delete(n % IDS)?;
        let found = documents(pets(db).at(&snapshot).scan().run()?);
        drop(snapshot);
        found
    }),
];

/// Operations that write. Their results are not compared, only the content of the database after each.
const WRITES: &[Operation] = &[
    ("insert", |db, n| match pets(db).insert_one(format!(r#"{{"_id":{},"u":{}}}"#, IDS + n % 9, n % 80)) {
        Err(error) if error.kind() != ErrorKind::DuplicateKey => Err(error),
        _ => Ok(String::new()),
    }),
    ("update", |db, n| {
        pets(db).update_one(format!(r#"{{"k":{}}}"#, n % 10), r#"{"$inc":{"n.a":1},"$push":{"tags":"new"}}"#).run()?;
        Ok(String::new())
    }),
    ("update many", |db, n| {
        pets(db).update_many(format!(r#"{{"k":{{"$lt":{}}}}}"#, n % 10), r#"{"$set":{"k":3}}"#).run()?;
        Ok(String::new())
    }),
    ("modify", |db, n| {
        pets(db).modify(n % IDS, |draft| draft.set("k", 77).map(|()| true).map_err(Into::into))?;
        Ok(String::new())
    }),
    ("delete many", |db, n| {
        pets(db).delete_many(format!(r#"{{"tags":"t{}"}}"#, n % 10)).run()?;
        Ok(String::new())
    }),
    ("flush", |db, _| db.flush().map(|()| String::new())),
    ("compact", |db, _| db.compact().run().map(|()| String::new())),
    ("checkpoint", |db, _| db.checkpoint("copy").run().map(|_| String::new())),
];

fn pets(db: &Database) -> Collection {
    db.collection("pets")
}

fn documents(found: impl Iterator<Item = Result<Document>>) -> Answer {
    found.map(|document| Ok(format!("{}\n", document?))).collect()
}

fn sorted(found: impl Iterator<Item = Result<Document>>) -> Answer {
    let mut lines: Vec<String> = documents(found)?.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    Ok(lines.join("\n"))
}

/// The whole content of a database, as reads and its indexes show it.
fn whole(db: &Database) -> String {
    let by_index = pets(db).find(r#"{"k":{"$gte":0}}"#).hint("k_1").run().unwrap();
    format!("{}{}", documents(pets(db).scan().run().unwrap()).unwrap(), sorted(by_index).unwrap())
}

/// Creates a database with some documents in files, and some in memory, including deltas and deleted documents.
fn fill(world: &World, options: &Options, rng: &mut fastrand::Rng) -> Database {
    let db = world.open(options).unwrap();
    pets(&db).create_index(r#"{"k":1}"#).run().unwrap();
    pets(&db).create_index(r#"{"tags":1}"#).run().unwrap();
    pets(&db).create_index(r#"{"u":1}"#).options(r#"{"unique":true,"sparse":true}"#).run().unwrap();
    for _ in 0..rng.usize(80..200) {
        let (id, k) = (rng.u64(0..IDS), rng.u64(0..10));
        match rng.u8(0..12) {
            0 => pets(&db).delete(id).unwrap(),
            1..=3 => {
                let _none = pets(&db).update_one(format!(r#"{{"_id":{id}}}"#), r#"{"$inc":{"n.a":1}}"#).run().unwrap();
            }
            4 => db.flush().unwrap(),
            _ => {
                let (text, tag) = ("word ".repeat(rng.usize(0..30)), rng.u64(0..10));
                let map = format!(r#"{{"k":{k},"n":{{"a":{id}}},"tags":["t{k}","t{tag}"],"u":{id},"text":"{text}"}}"#);
                pets(&db).put(id, map).unwrap();
            }
        }
    }
    db
}

#[test]
fn a_failed_read_is_reported_and_changes_nothing() {
    let refused = std::cell::Cell::new([0; 2]);
    seed::each("a_failed_read_is_reported_and_changes_nothing", 0, 12, |seed| {
        let mut rng = fastrand::Rng::with_seed(seed);
        let options = random_options(&mut rng, 2, Durability::Periodic);
        let world = World::new(seed);
        drop(fill(&world, &options, &mut rng));
        let n = rng.u64(..);
        let (reads, writes) = (&READS[rng.usize(0..READS.len())], &WRITES[rng.usize(0..WRITES.len())]);
        let [mut of_reads, mut of_writes] = refused.get();
        of_reads += each_read(&world, &options, reads, n, true);
        of_writes += each_read(&world, &options, writes, n, false);
        refused.set([of_reads, of_writes]);
    });
    let [reads, writes] = refused.get();
    println!("{reads} reads and {writes} writes were refused");
    assert!(!seed::is_usual(12) || (reads > 50 && writes > 50), "{reads} {writes}");
}

/// Runs an operation once for each of its reads, and makes that read fail. Returns how often the operation was refused.
fn each_read(world: &World, options: &Options, (name, run): &Operation, n: u64, is_read: bool) -> u64 {
    let open = || {
        let world = world.killed();
        let db = world.open(options).unwrap();
        (world, db)
    };
    let (_world, db) = open();
    let before = whole(&db);
    let expected = run(&db, n).unwrap_or_else(|error| panic!("{name}: {error}"));
    let after = whole(&db);
    let mut refused = 0;
    for nth in 1.. {
        let (world, db) = open();
        world.faults.inject(Fault::nth(nth).of(OpKind::Read));
        let answer = run(&db, n);
        let fired = world.faults.fired() > 0;
        world.faults.clear();
        let at = format!("{name}, read {nth}");
        let done = match answer {
            Ok(answer) if is_read => {
                assert_eq!(answer, expected, "{at}");
                true
            }
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Io, "{at}: {error}");
                refused += 1;
                false
            }
        };
        let now = whole(&db);
        // A write of many documents may have written some of them before the failure, each completely.
        let partly = || name.ends_with("many") && now.lines().all(|line| before.contains(line) || after.contains(line));
        let holds = now == after || !done && (now == before || partly());
        assert!(holds, "{at}: done {done}\nbefore {before}\nafter {after}\nnow {now}");
        if is_read || !done {
            let again = run(&db, n).unwrap_or_else(|error| panic!("{at}, tried again: {error}"));
            assert!(!is_read || *name == "at a snapshot" || again == expected, "{at}, tried again");
        }
        let now = whole(&db);
        drop(db);
        assert!(whole(&world.killed().open(options).unwrap()) == now, "{at}: opened again");
        if !fired {
            return refused;
        }
    }
    refused
}
