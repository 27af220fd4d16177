use super::*;
use crate::testing::{Collection, Database};
use alluvium_document::Map;
use alluvium_store::{BlockCounts, Options};
use std::ops::Bound;

const DOCUMENTS: i32 = 5000;
const QUERIES: i32 = 50;

fn document(id: i32, round: i32) -> String {
    format!(r#"{{"_id": {id}, "a": {}, "n": 0}}"#, (id + round * 13) * 7919 % DOCUMENTS)
}

/// The number of blocks that scans of ten entries look up, from several places of the index.
fn blocks(c: &Collection) -> u64 {
    let (view, indexes) = (c.view(), c.state().indexes());
    let index = indexes.find("a_1").unwrap();
    let before = BlockCounts::of_thread().looked_up;
    for query in 0..QUERIES {
        let from = Map::from([("a", Value::from(query * 97))]);
        let lower = Bound::Included(index.keys(&from, &[]).unwrap().keys.remove(0).bytes);
        let mut scan = IndexScan::new(view.clone(), index.clone(), Bounds { lower, ..Bounds::all() }).unwrap();
        for _ in 0..10 {
            assert!(scan.next_by(Proof::Numbers).unwrap());
        }
    }
    BlockCounts::of_thread().looked_up - before
}

type Update = fn(&Collection, i32);

#[test]
fn updates_of_some_documents_leave_the_proofs_of_others_cheap() {
    let updates: [(&str, Update); 3] = [
        ("put", |c, id| c.put(id, document(id, 1))),
        ("checked", |c, id| drop(c.update(id, r#"{"$set": {"a": -1}}"#))),
        ("count", |c, id| drop(c.update(id, r#"{"$inc": {"n": 1}}"#))),
    ];
    for (name, update) in updates {
        let db = Database::with(Options { partitions: Some(2), ..Options::default() });
        let c = db.collection("c");
        c.create_index(r#"{"a": 1}"#, "{}");
        c.insert((0..DOCUMENTS).map(|id| document(id, 0)));
        db.compact();
        let clean = blocks(&c);
        // One in a hundred documents is updated, the newest among them.
        (0..DOCUMENTS / 100).for_each(|n| update(&c, DOCUMENTS - 1 - n * 97));
        db.compact();
        let updated = blocks(&c);
        // If the filters proved nothing, a query would look up ten more blocks of rows.
        assert!(updated <= clean + 2 * QUERIES as u64, "{name}: {updated} blocks, {clean} before");
    }
}
