//! Queries do not use a hidden index, writes keep it up to date, and queries use it again as soon as it is shown. The
//! same holds after the database was opened again.

use alluvium::{Collection, Database, doc};

fn uses(pets: &Collection, index: &str) -> bool {
    let plan = pets.find(doc! {"chip": 7}).explain().expect("a plan").to_string();
    plan.contains(&format!("index {index}"))
}

#[test]
fn a_hidden_index_has_all_entries_when_it_is_shown() {
    let dir = tempfile::tempdir().expect("a directory");
    let open = || Database::open(dir.path().join("db")).expect("a database");
    let db = open();
    let pets = db.collection("pets");
    pets.create_index(doc! {"chip": 1}).unique(true).run().expect("an index");
    pets.insert_many((0..2000).map(|n| doc! {"_id": n, "chip": n})).expect("documents");
    assert!(uses(&pets, "chip_1"));
    assert!(!pets.hide_index("chip_1", true).expect("a change").contains("hidden"));
    assert!(!uses(&pets, "chip_1"));
    assert!(pets.find(doc! {"chip": 7}).hint("chip_1").run().is_err());
    assert!(pets.insert_one(doc! {"_id": "other", "chip": 7}).is_err(), "it is still unique");
    pets.insert_one(doc! {"_id": "new", "chip": -1}).expect("a document");
    db.close().expect("closed");

    let db = open();
    let pets = db.collection("pets");
    assert!(!uses(&pets, "chip_1"), "it is hidden after the database was opened again");
    assert!(pets.hide_index(doc! {"chip": 1}, false).expect("a change").contains("hidden"));
    assert!(uses(&pets, "chip_1"));
    assert_eq!(pets.find(doc! {"chip": -1}).hint("chip_1").count().expect("a count"), 1);
    assert_eq!(pets.find(doc! {"chip": 7}).count().expect("a count"), 1);
    assert!(pets.hide_index("_id_", true).is_err());
}
