//! `verify` reads every document. It reports a document whose shape is missing, or that is stored
//! under another `_id`, even if all blocks are undamaged.

use alluvium::Database;
use alluvium_env::Env;
use alluvium_store::{Bounds, Durability, TreeId};

fn filled() -> (Database, TreeId, TreeId) {
    let db = Database::builder().env(Env::in_memory(3)).open("db").unwrap();
    let pets = db.collection("pets");
    for n in 0..200 {
        pets.put(n, format!(r#"{{"kind":"dog","age":{n}}}"#)).unwrap();
    }
    // The system tree comes first.
    let trees: Vec<TreeId> = db.store().trees().into_iter().map(|(tree, _)| tree).collect();
    (db, trees[0], trees[1])
}

fn found(db: &Database) -> Vec<String> {
    db.verify().run().unwrap().damage.iter().map(ToString::to_string).collect()
}

#[test]
fn a_shape_that_is_missing() {
    let (db, system, _) = filled();
    assert!(found(&db).is_empty());
    let shapes = db.store().scan(system, Bounds::all(), None).unwrap();
    let mut batch = db.store().batch();
    let mut shapes = shapes;
    while let Some((key, _)) = shapes.next().unwrap() {
        batch.delete(system, key);
    }
    assert!(!batch.is_empty());
    db.store().write(batch, Durability::Sync).unwrap();
    let said = found(&db);
    // At most a hundred damaged documents are listed.
    assert_eq!(said.len(), 100);
    assert!(said[0].contains("main.pets") && said[0].contains("shape"), "{}", said[0]);
}

#[test]
fn a_document_that_cannot_be_decoded() {
    let (db, _, documents) = filled();
    let mut row = Vec::new();
    let mut scan = db.store().scan(documents, Bounds::all(), None).unwrap();
    let (key, value) = scan.next().unwrap().unwrap();
    row.extend_from_slice(&value[..value.len() - 1]);
    let mut batch = db.store().batch();
    batch.put(documents, key, &row);
    db.store().write(batch, Durability::Sync).unwrap();
    let said = found(&db);
    assert_eq!(said.len(), 1);
    assert!(said[0].starts_with("document 0 of main.pets is damaged"), "{}", said[0]);
}
