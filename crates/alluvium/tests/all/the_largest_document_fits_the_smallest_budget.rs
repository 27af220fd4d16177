use alluvium::load::Input;
use alluvium::{Collection, Database, Map, Value, doc};
use alluvium_document::bson::document_size;
use alluvium_document::json::Format;

/// The smallest memory budget of a database.
const MEMORY: usize = 8 << 20;
/// The largest document that clients of MongoDB may send.
const DOCUMENT: usize = 16 << 20;

fn open(env: &alluvium_env::Env) -> (Database, Collection) {
    let db = Database::builder().env(env.clone()).memory(MEMORY).open("db").unwrap();
    let c = db.collection("c");
    (db, c)
}

/// A document of exactly the maximum size, whose text does not compress well.
fn largest(id: i32, seed: u64) -> Map {
    let mut document = doc! {"_id": id, "n": id, "text": ""};
    let text = (0..DOCUMENT - document_size(&document)).scan(seed, |state, _| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Some(char::from(b'a' + (*state >> 33) as u8 % 26))
    });
    document.insert("text", Value::from(text.collect::<String>()));
    assert_eq!(document_size(&document), DOCUMENT);
    document
}

#[test]
fn it_is_inserted_updated_and_loaded() {
    let env = alluvium_env::Env::in_memory(1);
    let (db, c) = open(&env);
    c.create_index(r#"{"n": 1}"#).run().unwrap();
    c.insert_one(largest(1, 1)).unwrap();
    c.insert_one(r#"{"_id": 2, "n": 2}"#).unwrap();
    // The first update sets the whole text; the second update is an operator that keeps the size.
    c.update_one(r#"{"_id": 2}"#, doc! {"$set": {"text": (largest(2, 2).get("text").cloned().unwrap())}})
        .run()
        .unwrap();
    c.update_one(r#"{"n": 1}"#, r#"{"$inc": {"n": 10}}"#).run().unwrap();
    let lines = format!(
        "{}\n{}\n",
        r#"{"_id": 3}"#,
        alluvium::Document::from_map(&largest(4, 4)).unwrap().to_json(Format::RELAXED).unwrap()
    );
    c.load(Input::stream("lines", std::io::Cursor::new(lines.into_bytes()))).run().unwrap();
    db.close().unwrap();

    let (db, c) = open(&env);
    let expected = [(1, 1, 11), (2, 2, 2), (4, 4, 4)];
    for (id, seed, n) in expected {
        let mut document = largest(id, seed);
        document.insert("n", Value::Int32(n));
        assert!(c.get(id).unwrap().unwrap().to_map().unwrap() == document, "document {id}");
        assert_eq!(c.find(doc! {"n": n}).count().unwrap(), 1, "document {id}");
    }
    assert_eq!(c.count().unwrap(), 4);
    assert!(db.verify().run().unwrap().damage.is_empty());
}
