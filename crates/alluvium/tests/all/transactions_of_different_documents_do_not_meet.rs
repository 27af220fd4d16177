//! Transactions that write different documents do not conflict, and no writer waits for them, even if the documents are
//! the first of their shape, which is defined once for all of them.

use alluvium::Database;

#[test]
fn documents_of_a_new_shape_do_not_conflict() {
    let db = Database::in_memory().unwrap();
    for index in ["{}", r#"{"unique":true}"#] {
        let pets = db.create_collection(&format!("pets{}", index.len())).run().unwrap();
        pets.create_index(r#"{"n":1}"#).options(index).run().unwrap();
        pets.put(1, r#"{"n":1}"#).unwrap();
        let (first, second) = (db.begin(), db.begin());
        // The second document of a shape defines it.
        first.within(&pets).put(2, r#"{"n":2}"#).unwrap();
        second.within(&pets).put(3, r#"{"n":3}"#).unwrap();
        pets.put(4, r#"{"n":4}"#).unwrap();
        first.commit().unwrap();
        second.commit().unwrap();
        pets.put(5, r#"{"n":5}"#).unwrap();
        let found: Vec<String> = pets.scan().run().unwrap().map(|found| found.unwrap().to_string()).collect();
        let expected: Vec<String> = (1..=5).map(|n| format!(r#"{{"_id":{n},"n":{n}}}"#)).collect();
        assert_eq!(found, expected);
    }
}
