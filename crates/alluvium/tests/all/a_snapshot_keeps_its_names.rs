//! A collection is read at a snapshot by the name that it had then, even if it was renamed or
//! dropped since.

use alluvium::{CollectionAt, Database, Result, Snapshot};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

fn database(seed: u64, background: bool) -> Database {
    let options = alluvium_store::Options {
        memory_bytes: 8 << 20,
        partitions: Some(2),
        background,
        durability: alluvium::Durability::Bulk,
        ..alluvium_store::Options::default()
    };
    Database::builder().env(alluvium_env::Env::in_memory(seed)).options(options).open("db").unwrap()
}

/// The documents, read in every way; all ways must agree.
fn read(at: &CollectionAt) -> Result<Vec<String>> {
    let all: Vec<String> = at.scan().run()?.map(|d| d.map(|d| d.to_string())).collect::<Result<_>>()?;
    assert_eq!(at.count()?, all.len() as u64);
    let first = at.get(1)?.map(|d| d.to_string());
    assert_eq!(first.as_ref(), all.first());
    assert_eq!(at.get_many([1])?, [at.get(1)?]);
    assert_eq!(at.get_fields(1, &["n"])?.is_some(), first.is_some());
    Ok(all)
}

fn put(db: &Database, name: &str, n: usize) {
    // Each document has another shape: a reader needs the shapes that its collection had at the
    // snapshot.
    let fields: String = (0..n % 7).map(|at| format!(r#","f{n}_{at}":"text {at}""#)).collect();
    db.collection(name).put(1, format!(r#"{{"_id":1,"n":{n}{fields}}}"#).as_str()).unwrap();
}

fn contents(db: &Database, name: &str, snapshot: &Snapshot) -> Option<Vec<String>> {
    let collection = db.collection(name);
    let all = read(&collection.at(snapshot)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let full_name = collection.full_name().unwrap();
    let exists = db.collections_at(snapshot).unwrap().iter().any(|info| info.full_name() == full_name);
    assert!(exists || all.is_empty(), "{name}: {all:?}");
    exists.then_some(all)
}

/// The documents of the collection under each name; `None` if no collection has the name.
type Seen = BTreeMap<&'static str, Option<Vec<String>>>;

#[test]
fn dropped_renamed_and_created_again() {
    let db = database(1, false);
    let names = ["pets", "dogs", "other.cats", "main.late"];
    let mut moments: Vec<(Snapshot, Seen)> = Vec::new();
    let look = |db: &Database, snapshot: &Snapshot| names.map(|name| (name, contents(db, name, snapshot)));
    let steps: [fn(&Database); 9] = [
        |db| put(db, "pets", 1),
        |db| put(db, "dogs", 2),
        |db| db.drop_collection("pets").unwrap(),
        |db| db.rename_collection("dogs", "pets").unwrap(),
        |db| put(db, "dogs", 5),
        |db| db.rename_collection("pets", "other.cats").unwrap(),
        |db| {
            put(db, "pets", 7);
            db.flush().unwrap();
        },
        |db| db.drop_collection("dogs").unwrap(),
        |db| put(db, "main.late", 9),
    ];
    for step in steps {
        step(&db);
        let snapshot = db.snapshot();
        // As long as nothing changes, current reads agree with the snapshot.
        let seen = Seen::from(look(&db, &snapshot));
        moments.push((snapshot, seen));
        for (snapshot, seen) in &moments {
            assert_eq!(&Seen::from(look(&db, snapshot)), seen);
            assert_eq!(&Seen::from(look(&db, &snapshot.clone())), seen);
        }
    }
    let numbers =
        |at: usize, name: &str| moments[at].1[name].as_ref().map(|all| all[0].contains(&format!("\"n\":{}", at + 1)));
    assert_eq!((numbers(0, "pets"), numbers(1, "dogs"), numbers(4, "dogs")), (Some(true), Some(true), Some(true)));
    assert_eq!((&moments[2].1["pets"], &moments[3].1["dogs"]), (&None, &None));
    assert_eq!(moments[3].1["pets"], moments[1].1["dogs"]);
    db.compact().run().unwrap();
    for (snapshot, seen) in &moments {
        assert_eq!(&Seen::from(look(&db, snapshot)), seen);
    }
    assert_eq!(db.collection("dog").at(&moments[1].0).get(1).unwrap(), None);
}

/// Reads at a snapshot return the same documents during and after concurrent changes of names.
#[test]
fn names_change_while_snapshots_are_read() {
    let db = database(2, true);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut seen = 0;
                    while !done.load(Ordering::Relaxed) {
                        let snapshot = db.snapshot();
                        let look = || ["a", "b"].map(|name| contents(&db, name, &snapshot));
                        let first = look();
                        std::thread::yield_now();
                        assert_eq!(look(), first);
                        // At most one of the names belongs to a collection with documents.
                        let found: Vec<_> = first.iter().flatten().flatten().collect();
                        assert!(found.len() <= 1, "{found:?}");
                        seen += found.len();
                    }
                    seen
                })
            })
            .collect();
        for n in 0..400 {
            put(&db, "a", n);
            db.rename_collection("a", "b").unwrap();
            if n % 50 == 0 {
                db.flush().unwrap();
            }
            db.drop_collection("b").unwrap();
        }
        done.store(true, Ordering::Relaxed);
        let seen: usize = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
        assert!(seen > 0, "no reader has met a collection");
    });
}
