//! The estimated count of a small collection is exact, whatever its files and the files of its
//! indexes contain.

use alluvium::{Database, Durability, doc};

#[test]
fn small_collections_are_counted_exactly() {
    let db = Database::in_memory().unwrap();
    let pets = db.collection("pets").with_durability(Durability::Bulk);
    pets.create_index(doc! {"age": 1}).run().unwrap();
    pets.create_index(doc! {"name": 1}).run().unwrap();
    pets.insert_many((0..250).map(|n| doc! {"_id": n, "age": (n % 20), "name": (format!("pet {n}"))})).unwrap();
    db.flush().unwrap();
    for round in 1..3 {
        let updated = pets.update_many(doc! {"_id": {"$lt": 53}}, doc! {"$inc": {"age": 100}}).run().unwrap();
        assert_eq!(updated.modified_count, 53);
        assert_eq!(pets.estimated_count().unwrap(), 250, "round {round}, in memory");
        db.flush().unwrap();
        assert_eq!(pets.estimated_count().unwrap(), 250, "round {round}, flushed");
    }
    pets.delete_many(doc! {"_id": {"$lt": 10}}).run().unwrap();
    db.flush().unwrap();
    assert_eq!(pets.estimated_count().unwrap(), 240);
    db.compact().run().unwrap();
    assert_eq!(pets.estimated_count().unwrap(), 240);
    assert_eq!(db.collection("none").estimated_count().unwrap(), 0);
}
