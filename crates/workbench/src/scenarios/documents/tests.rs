use super::*;

#[test]
fn comments_are_loaded_got_and_updated() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::builder().memory(8 << 20).open(dir.path().join("db")).unwrap();
    let comments = db.collection("comments");
    let report = load(&comments, 3000, 1).run().unwrap();
    assert_eq!(report.documents, 3000);
    let ids = sample_ids(&comments, 1).unwrap();
    assert_eq!(ids.len(), 3000);
    let settings = Settings { operations: 2000, find_rate: 0.5, threads: 2, ..Settings::default() };
    let outcome = get(&db, &comments, &ids, &settings).unwrap();
    assert_eq!(outcome.operations, 2000);
    for form in [Form::Document, Form::Map, Form::Typed] {
        let found = |id: Value| get_as(&comments, &comments.typed(), id, form).unwrap();
        assert!(found(ids[7].clone()) && !found(Value::from("no such id")), "{form:?}");
        assert_eq!(get(&db, &comments, &ids, &Settings { form, ..settings.clone() }).unwrap().operations, 2000);
    }
    let score = |id: &Value| {
        let document = comments.get(id.clone()).unwrap().unwrap();
        document.to_map().unwrap().get("score").and_then(Value::as_i64).unwrap()
    };
    let before: i64 = ids.iter().map(score).sum();
    for (times, scenario) in [(1, update as fn(_, _, &_, _) -> _), (2, update_checked), (3, update_blind)] {
        assert_eq!(scenario(&db, &comments, &ids[..], &settings).unwrap().operations, 2000);
        assert_eq!(ids.iter().map(score).sum::<i64>(), before + times * 2000);
    }
}

/// A collection whose `_id`s are many numbers, close together at first and far apart later, and
/// some texts.
fn uneven(db: &Database, documents: u64) -> Collection {
    let uneven = db.collection("uneven");
    let id = |n: u64| if n % 4 == 3 { format!("\"text {:08}\"", n) } else { (n * n).to_string() };
    uneven.insert_many((0..documents).map(|n| format!("{{\"_id\": {}}}", id(n)))).unwrap();
    db.compact().run().unwrap();
    uneven
}

#[test]
fn ids_of_a_large_collection_are_drawn_without_reading_it() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::builder().memory(8 << 20).open(dir.path().join("db")).unwrap();
    let uneven = uneven(&db, 40_000);
    let whole: Vec<Value> = sample_ids(&uneven, 1).unwrap();
    assert_eq!(whole.len(), 40_000);
    let mut of_tenths = [0_u64; 10];
    for seed in 0..8 {
        let drawn = sample::sample(&uneven, seed, 1000, 500).unwrap();
        assert!((480..=500).contains(&drawn.len()), "{}", drawn.len());
        for id in drawn {
            let place = whole.iter().position(|other| *other == id).unwrap();
            of_tenths[place / 4000] += 1;
        }
    }
    // About 400 of 4,000 draws are from each tenth of the documents.
    assert!(of_tenths.iter().all(|n| (200..800).contains(n)), "{of_tenths:?}");
    let again = sample::sample(&uneven, 7, 1000, 500).unwrap();
    assert_eq!(again, sample::sample(&uneven, 7, 1000, 500).unwrap());
}
