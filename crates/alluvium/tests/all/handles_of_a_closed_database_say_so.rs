//! After `close` the directory can be opened again at once, and the remaining old handles report
//! that the database is closed.

use alluvium::load::Input;
use alluvium::{Database, ErrorKind, Result};

fn is_closed<T>(result: Result<T>) {
    assert_eq!(result.err().map(|error| error.kind()), Some(ErrorKind::Closed));
}

#[test]
fn handles_of_a_closed_database_say_so() {
    let env = alluvium_env::Env::in_memory(1);
    let open = || Database::builder().env(env.clone()).memory(8 << 20).open("db").unwrap();
    let db = open();
    let pets = db.collection("pets");
    pets.insert_many((0..20).map(|n| format!(r#"{{"_id":{n},"kind":"dog"}}"#))).unwrap();
    let snapshot = db.snapshot();
    let at = pets.at(&snapshot);
    let mut cursor = pets.scan().run().unwrap();
    cursor.next().unwrap().unwrap();
    let mut batch = db.write_batch();
    batch.put(&pets, 1, "{}").unwrap();
    let load = |lines: &'static str| pets.load(Input::stream("lines", lines.as_bytes())).run();
    db.close().unwrap();
    db.close().unwrap();

    let again = open();
    assert_eq!(again.collection("pets").count().unwrap(), 20);
    is_closed(cursor.next().unwrap());
    assert!(cursor.next().is_none());
    is_closed(pets.scan().run());
    is_closed(pets.get(1));
    is_closed(pets.get_many([1, 2]));
    is_closed(pets.get_fields(1, &["kind"]));
    is_closed(pets.count());
    is_closed(at.get(1));
    is_closed(at.count());
    is_closed(at.scan().run());
    is_closed(pets.insert_one("{}"));
    is_closed(pets.put(1, "{}"));
    is_closed(pets.delete(1));
    is_closed(pets.find_one_and_delete(r#"{"_id": 1}"#).run());
    is_closed(pets.modify(1, |_| Ok(true)));
    is_closed(batch.commit());
    is_closed(load("{}\n"));
    is_closed(pets.drop());
    is_closed(db.collection("other").get(1));
    is_closed(db.collection("other").put(1, "{}"));
    is_closed(db.create_collection("pets").run());
    is_closed(db.rename_collection("pets", "dogs"));
    is_closed(db.drop_collection("none"));
    is_closed(db.sync());
    is_closed(db.flush());
    is_closed(db.wait_for_compaction());
    is_closed(db.compact().run());
    is_closed(db.verify().run());
    again.collection("pets").put(1, r#"{"kind":"cat"}"#).unwrap();
    drop((pets, at, cursor, snapshot, db));
    assert_eq!(again.collection("pets").get(1).unwrap().unwrap().to_string(), r#"{"_id":1,"kind":"cat"}"#);
    assert!(again.verify().run().unwrap().damage.is_empty());
    again.close().unwrap();
}
