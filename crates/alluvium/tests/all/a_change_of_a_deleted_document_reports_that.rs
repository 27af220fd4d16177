//! A change reports correctly whether it found its document, even if the document is deleted
//! concurrently.

use alluvium::{Collection, Database, IntoDocument, Map, ReturnDocument, Value};
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::names::FullName;
use alluvium_env::Env;
use alluvium_store::LockMode;

/// Changes and deletes a document concurrently, so that the delete usually comes between two
/// attempts of the change: the second attempt waits for a unique key that another write has locked.
/// `change` sets `new` in the document with this `_id`, and returns whether it found the document.
/// The result is compared with the document that the delete finds.
#[allow(clippy::disallowed_methods, reason = "threads that wait for each other's locks")]
fn raced(change: impl Fn(&Collection, i32) -> bool + Sync) {
    let db = Database::builder().env(Env::in_memory(1)).open("db").unwrap();
    let c = db.collection("c");
    c.create_index(r#"{"u": 1}"#).unique(true).run().unwrap();
    let engine: &EngineHandle = db.as_ref();
    let index = engine.catalog.require(&FullName::parse("c").unwrap()).unwrap().indexes().indexes[0].clone();
    let (_nobody, never) = std::sync::mpsc::channel::<()>();
    let mut too_late = 0;
    for (id, wait_ms) in (0..12).flat_map(|id| [1, 10, 40].map(|wait| (id, wait))) {
        c.put(id, format!("{{\"u\": {id}, \"old\": true}}").as_str()).unwrap();
        let wanted = IntoDocument::into_map(format!("{{\"u\": {}}}", id + 1000)).unwrap();
        let claim = index.keys(&wanted, b"").unwrap().keys[0].bytes.clone();
        let wait = || assert!(never.recv_timeout(std::time::Duration::from_millis(wait_ms)).is_err());
        let held = db.store().lock_all([(index.tree, claim.as_slice(), LockMode::Exclusive)]);
        let (found, deleted) = std::thread::scope(|scope| {
            let change = scope.spawn(|| change(&c, id));
            wait();
            let delete = scope.spawn(|| c.find_one_and_delete(Map::from([("_id", Value::from(id))])).run().unwrap());
            wait();
            drop(held);
            (change.join().unwrap(), delete.join().unwrap().unwrap())
        });
        assert_eq!(found, deleted.to_string().contains("new"), "{id}: it was {deleted}");
        too_late += usize::from(!found);
        c.delete(id).unwrap();
    }
    assert!(too_late > 0, "no delete came between");
}

#[test]
fn what_is_said_of_a_document_that_goes_meanwhile() {
    let new = |id: i32| format!("{{\"u\": {}, \"new\": true}}", id + 1000);
    let set = |id: i32| format!("{{\"$set\": {}}}", new(id));
    raced(|c, id| {
        let Some((_, version)) = c.get_versioned(id).unwrap() else { return false };
        c.replace_if(id, version, new(id)).unwrap()
    });
    raced(|c, id| c.replace_one(Map::from([("_id", Value::from(id))]), new(id)).run().unwrap().matched_count == 1);
    raced(|c, id| {
        let result = c.update_one(Map::from([("_id", Value::from(id))]), set(id)).run().unwrap();
        assert_eq!(result.matched_count, result.modified_count);
        result.modified_count == 1
    });
    for which in [ReturnDocument::Before, ReturnDocument::After] {
        raced(|c, id| {
            c.find_one_and_update(Map::from([("_id", Value::from(id))]), set(id))
                .return_document(which)
                .run()
                .unwrap()
                .is_some()
        });
        let filter = |id: i32| format!("{{\"_id\": {id}}}");
        raced(|c, id| c.find_one_and_update(filter(id), set(id)).return_document(which).run().unwrap().is_some());
    }
    raced(|c, id| {
        let result = c.update_one(format!("{{\"_id\": {id}}}"), set(id)).run().unwrap();
        assert_eq!(result.matched_count, result.modified_count);
        result.modified_count == 1
    });
}
