//! A document given as JSON text is encoded with the help of the texts of recent documents. It is stored, refused and
//! indexed like the same document given as a map.

use alluvium::{Collection, Database, Document, Map, Value};
use alluvium_env::{Rng, SeededRng};
use alluvium_store::Bounds;

/// A random text of one of a few kinds, with random values. Some texts repeat an `_id` or a unique value, and some are
/// refused.
fn text(rng: &SeededRng) -> String {
    let id = match rng.next_u64() % 10 {
        0 => String::new(),
        1 => format!(r#""_id":"{}","#, rng.next_u64() % 40),
        2 => format!(r#""_id":{}.0,"#, rng.next_u64() % 40),
        3 => format!(r#""_id":{{"$numberLong":"{}"}},"#, rng.next_u64() % 40),
        4 => r#""_id":[1],"#.to_owned(),
        _ => format!(r#""_id":{},"#, rng.next_u64() % 200),
    };
    let tag = [
        "\"a\"",
        "[1,2]",
        "[]",
        "null",
        "{\"x\":1}",
        "1.50",
        "\"é\\n\\u0041\"",
        "{\"$date\":\"2020-01-01T00:00:00Z\"}",
    ];
    let tag = tag[(rng.next_u64() % tag.len() as u64) as usize];
    let unique = rng.next_u64() % 400;
    match rng.next_u64() % 12 {
        0 => format!(r#"{{{id}"u":{unique}"#),
        1 => format!(r#"{{"u":{unique},{id}"tag":{tag}}}"#),
        2 => format!(r#"[{unique}]"#),
        3 => format!(" {{ {id} \"tag\" : {tag} , \"u\" : {unique} }}\n"),
        4 => format!(r#"{{{id}"tag":{tag},"tag":{unique}}}"#),
        5 => format!(r#"{{{id}"$bad":{unique},"tag":{tag}}}"#),
        6 => format!(r#"{{{id}"rare{unique}":{tag}}}"#),
        _ => format!(
            r#"{{{id}"kind":"dog","u":{unique},"tag":{tag},"text":"{}"}}"#,
            "x".repeat((rng.next_u64() % 50) as usize)
        ),
    }
}

/// The result of a write: the `_id`, unless it is generated, or the error.
fn said<T: std::fmt::Debug>(result: alluvium::Result<T>, name: &str) -> String {
    let said = result.map_or_else(|error| format!("error: {error}"), |done| format!("{done:?}"));
    let mut said = said.replace(name, "NAME");
    if let Some(at) = said.find(r#"{"$oid":""#) {
        // The error names a generated `_id`, which is replaced by a fixed word.
        said.replace_range(at + 9..at + 33, "new");
    }
    if said.contains("ObjectId") { "a new _id".to_owned() } else { said }
}

/// The documents in the order of their `_id`s, without generated `_id`s.
fn documents(collection: &Collection) -> Vec<String> {
    let texts = collection.scan().run().unwrap().map(|document| {
        let text = document.unwrap().to_string();
        match text.find(r#""_id":{"$oid""#) {
            Some(_) => format!("generated {}", &text[text.find('}').unwrap()..]),
            None => text,
        }
    });
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    texts
}

#[test]
fn text_is_stored_as_its_fields_are() {
    let (mut inserted, mut refused) = (0, 0);
    for seed in 0..20 {
        let db = Database::in_memory().unwrap();
        let (texts, maps) = (db.collection("texts"), db.collection("maps"));
        if seed % 2 == 0 {
            for collection in [&texts, &maps] {
                collection.create_index(r#"{"u":1}"#).options(r#"{"unique":true,"sparse":true}"#).run().unwrap();
                collection.create_index(r#"{"tag":1,"kind":-1}"#).run().unwrap();
            }
        }
        let rng = SeededRng::new(seed);
        for _ in 0..400 {
            let text = text(&rng);
            let map = Document::from_json(&text)
                .map_err(|error| error.to_string())
                .and_then(|d| d.to_map().map_err(|e| e.to_string()));
            let Ok(map): Result<Map, String> = map else {
                let before = documents(&texts).len();
                assert!(texts.insert_one(text.as_str()).is_err() && texts.put(1, text.as_str()).is_err(), "{text}");
                assert_eq!(documents(&texts).len(), before);
                refused += 1;
                continue;
            };
            let (of_text, of_map) = match rng.next_u64() % 3 {
                0 => {
                    // Put under another `_id`, the document's own `_id`, or an equal `_id` of another type.
                    let other = Value::from((rng.next_u64() % 40) as i64);
                    let own = map.get("_id").cloned().filter(|_| rng.next_u64().is_multiple_of(2));
                    let id = match own {
                        Some(Value::Double(own)) if rng.next_u64().is_multiple_of(2) => Value::from(own.0 as i64),
                        own => own.unwrap_or(other),
                    };
                    (said(texts.put(id.clone(), text.as_str()), "texts"), said(maps.put(id, map), "maps"))
                }
                1 => {
                    let other = text.replace("dog", "cat");
                    let all = [text.as_str(), other.as_str()];
                    let other = Document::from_json(&other).unwrap().to_map().unwrap();
                    (said(texts.insert_many(all), "texts"), said(maps.insert_many([map, other]), "maps"))
                }
                _ => (said(texts.insert_one(text.as_str()), "texts"), said(maps.insert_one(map), "maps")),
            };
            assert_eq!(of_text, of_map, "seed {seed}: {text}");
            inserted += u32::from(!of_text.starts_with("error"));
        }
        assert_eq!(documents(&texts), documents(&maps), "seed {seed}");
        assert!(db.verify().run().unwrap().damage.is_empty(), "seed {seed}");
    }
    assert!(inserted > 1000 && refused > 200, "{inserted}, {refused}");
}

#[test]
fn bson_is_stored_as_its_fields_are() {
    let (mut inserted, mut straight) = (0, 0);
    for seed in 0..20 {
        let db = Database::in_memory().unwrap();
        let (bytes, maps) = (db.collection("bytes"), db.collection("maps"));
        for collection in [&bytes, &maps] {
            // The first write to a collection that does not exist decodes its document, so the collection is created
            // first.
            collection.put("first", r#"{"kind":"cat"}"#).unwrap();
            if seed % 2 == 0 {
                collection.create_index(r#"{"u":1}"#).options(r#"{"unique":true,"sparse":true}"#).run().unwrap();
                collection.create_index(r#"{"tag":1,"kind":-1}"#).run().unwrap();
            }
        }
        let rng = SeededRng::new(seed);
        for _ in 0..400 {
            let Ok(document) = Document::from_json(text(&rng)) else { continue };
            let (map, bson) = (document.to_map().unwrap(), document.to_bson_bytes().unwrap());
            straight += u32::from(map.entries.first().is_some_and(|(name, _)| name.as_str() == Some("_id")));
            let of_bytes = said(bytes.insert_many([alluvium::Bson(&bson)]), "bytes");
            assert_eq!(of_bytes, said(maps.insert_many([&map]), "maps"), "seed {seed}: {document}");
            inserted += u32::from(!of_bytes.starts_with("error"));
            let mut damaged = bson.clone();
            let at = (rng.next_u64() % bson.len() as u64) as usize;
            damaged[at] ^= 0x80;
            if alluvium_document::bson::decode_document(&damaged).is_err() {
                assert!(bytes.insert_many([alluvium::Bson(&bson), alluvium::Bson(&damaged)]).is_err(), "{damaged:?}");
            }
        }
        assert_eq!(documents(&bytes), documents(&maps), "seed {seed}");
        assert!(db.verify().run().unwrap().damage.is_empty(), "seed {seed}");
    }
    assert!(inserted > 1000 && straight > 1000, "{inserted}, {straight}");
}

/// The keys and rows of the only collection of a database.
fn rows(db: &Database) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    for (tree, _) in db.store().trees() {
        let mut scan = db.store().scan(tree, Bounds::all(), None).unwrap();
        while let Some((key, row)) = scan.next().unwrap() {
            rows.push((key.to_vec(), row.to_vec()));
        }
    }
    rows
}

#[test]
fn a_put_gives_the_same_bytes_whether_the_text_has_the_id_or_not() {
    let all = [(); 3].map(|()| Database::in_memory().unwrap());
    let [within, beside, of_map] = &all;
    all.iter().for_each(|db| drop(db.create_collection("c").run().unwrap()));
    let rng = SeededRng::new(1);
    let ids = ["7", "7.5", r#""seven""#, "1099511627776"];
    for number in 0..400 {
        let id_text = ids[(rng.next_u64() % 4) as usize];
        let fields = format!(r#""kind":"dog","n":{number},"text":"{}""#, "x".repeat((rng.next_u64() % 50) as usize));
        let map = Document::from_json(format!(r#"{{"_id":{id_text},{fields}}}"#)).unwrap().to_map().unwrap();
        let id = map.get("_id").unwrap().clone();
        within.collection("c").put(id.clone(), format!(r#"{{"_id":{id_text},{fields}}}"#)).unwrap();
        beside.collection("c").put(id.clone(), format!("{{{fields}}}")).unwrap();
        of_map.collection("c").put(id, map).unwrap();
    }
    let first = rows(within);
    assert!(first.len() > 4);
    assert!(first == rows(beside) && first == rows(of_map));
}

#[test]
fn text_that_is_refused_creates_no_collection() {
    let db = Database::in_memory().unwrap();
    assert!(db.collection("a").put(1, "{").is_err());
    assert!(db.collection("b").insert_one("[1]").is_err());
    assert!(db.collection("c").put(1, r#"{"_id":2}"#).is_err());
    assert!(db.collections().is_empty());
}
