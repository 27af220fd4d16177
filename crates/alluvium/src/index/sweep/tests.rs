#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use document::{Map, Value};
use std::path::Path;

#[test]
fn a_sweep_is_due_when_a_quarter_is_stale() {
    let db = Database::builder().env(env::Env::in_memory(3)).memory(64 << 20).open(Path::new("db")).unwrap();
    let pets = db.collection("pets");
    pets.create_index(r#"{"tags": 1}"#).unwrap();
    let fill = |round: i32, from: i32| {
        let tags = |id: i32| Value::from_iter([id * 7 + round, id * 7 + round + 1]);
        let maps = (from..20_000).map(|id| (id, Map::from([("tags", tags(id))])));
        for chunk in &chunks(maps.collect::<Vec<_>>()) {
            let mut batch = db.write_batch();
            chunk.iter().for_each(|(id, map)| batch.put(&pets, *id, map.clone()).unwrap());
            batch.commit().unwrap();
        }
    };
    fill(0, 0);
    db.flush().unwrap();
    assert_eq!(sweep_where_due(&db).unwrap(), 0, "two keys a document are what its tags yield");
    fill(3, 0);
    db.flush().unwrap();
    // Until the old documents are merged away, nobody can tell.
    db.store().compact().unwrap();
    let gone = sweep_where_due(&db).unwrap();
    assert_eq!(gone, 40_000);
    assert_eq!(sweep_where_due(&db).unwrap(), 0);
}

fn chunks(all: Vec<(i32, Map)>) -> Vec<Vec<(i32, Map)>> {
    all.chunks(1000).map(<[_]>::to_vec).collect()
}
