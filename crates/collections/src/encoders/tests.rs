use super::*;
use alluvium_document::shape::ShapeOptions;
use alluvium_env::Env;
use alluvium_store::Options;

fn store() -> Store {
    let options = Options { memory_bytes: 8 << 20, ..Options::default() };
    Store::open(Env::in_memory(1), "db".as_ref(), options).unwrap()
}

/// Encodes a document of a collection. Returns true if the encoder knew its kind.
fn speculated(store: &Store, encoders: &Encoders, shapes: &Arc<ShapeTable>, n: u32) -> bool {
    let (mut row, mut key) = (Vec::new(), Vec::new());
    let line = format!(r#"{{"_id":{n},"kind":"dog","age":{n}}}"#);
    encoders
        .with(store, shapes, |encoder| encoder.encode_json_line(line.as_bytes(), &mut row, &mut key))
        .unwrap()
        .speculated
}

/// Encodes documents until the encoder knows their kind.
fn learnt(store: &Store, encoders: &Encoders, shapes: &Arc<ShapeTable>) {
    assert!(!speculated(store, encoders, shapes, 0), "the first of its kind");
    assert!((1..20).any(|n| speculated(store, encoders, shapes, n)));
}

#[test]
fn an_encoder_stays_with_its_collection() {
    let (store, encoders) = (store(), Encoders::default());
    let tables: Vec<_> = (0..KEPT + 1).map(|_| Arc::new(ShapeTable::new(ShapeOptions::default()))).collect();
    learnt(&store, &encoders, &tables[0]);
    learnt(&store, &encoders, &tables[1]);
    assert!(speculated(&store, &encoders, &tables[0], 30), "its encoder has learnt it");
    // The least recently used encoder is dropped.
    for table in &tables[2..] {
        let _known = speculated(&store, &encoders, table, 40);
    }
    assert_eq!(encoders.idle.lock().len(), KEPT);
    assert!(speculated(&store, &encoders, &tables[0], 50));
    learnt(&store, &encoders, &tables[1]);
}

#[test]
fn what_is_kept_is_charged_and_bounded() {
    let (store, encoders) = (store(), Encoders::default());
    let used = || store.stats().job_bytes;
    let before = used();
    let table = || Arc::new(ShapeTable::new(ShapeOptions::default()));
    let first = table();
    learnt(&store, &encoders, &first);
    let one = used() - before;
    assert!((1_000..20_000).contains(&one), "{one}");
    assert_eq!(one, encoders.idle.lock()[0].encoder.memory_bytes());
    // Encoders of many kinds of documents, whose names are long.
    let tables = [table(), table(), table()];
    for table in &tables {
        encoders.with(&store, table, |encoder| {
            for n in 0..400 {
                let line = format!(r#"{{"_id":{n},"{}{}":1}}"#, "n".repeat(3000), n % 100);
                encoder.encode_json_line(line.as_bytes(), &mut Vec::new(), &mut Vec::new()).unwrap();
            }
        });
    }
    let idle = encoders.idle.lock();
    assert!(idle.len() < 4 && Arc::ptr_eq(&idle[idle.len() - 1].shapes, &tables[2]), "{}", idle.len());
    let others: usize = idle[..idle.len() - 1].iter().map(|kept| kept.charge.bytes()).sum();
    assert!(others <= (8 << 20) / BUDGET_SHARE, "{others}");
    drop(idle);
    drop(encoders);
    assert_eq!(used(), before);
}
