use super::*;
use crate::{Database, ReturnDocument};
use alluvium_env::Env;

#[test]
fn what_is_reserved_follows_what_is_written() {
    let typical = TypicalWrite::default();
    assert_eq!(typical.reserve(), LEAST);
    typical.note(300);
    assert_eq!(typical.reserve(), LEAST);
    typical.note(100_000);
    assert_eq!(typical.reserve(), 125_000);
    for _ in 0..10 {
        typical.note(95_000);
    }
    assert!((95_000..100_000).contains(&typical.0.load(Ordering::Relaxed)));
    // One large document is not paid for by all that follow.
    for _ in 0..200 {
        typical.note(300);
    }
    assert_eq!(typical.reserve(), LEAST);
}

#[test]
fn a_checked_update_writes_a_delta_where_that_is_smaller() {
    let env = Env::in_memory(1);
    let db = Database::builder().env(env).open("db").unwrap();
    let c = db.collection("c");
    // Twice, so that the document has a shape.
    let text = "some text that makes the row larger than the delta, and then some more of it";
    for id in ["before", "x"] {
        c.put(id, format!("{{\"n\": 0, \"text\": \"{text}\"}}").as_str()).unwrap();
    }
    let key = write::id_key(&Value::from("x")).unwrap();
    let deltas = || db.store().get_chained(c.open().unwrap().documents, &key, &mut Vec::new()).unwrap().unwrap();
    let mut most = 0;
    for times in 1..=40 {
        let result = c.update("x", r#"{"$inc": {"n": 1}}"#).unwrap();
        assert_eq!((result.matched_count, result.modified_count), (1, 1));
        assert_eq!(c.get("x").unwrap().unwrap().to_map().unwrap().get("n").and_then(Value::as_i64), Some(times));
        most = most.max(deltas());
    }
    assert_eq!(most, DELTAS_MAX);
    // Nothing changes, and nothing is written.
    let before = deltas();
    assert_eq!(c.update("x", r#"{"$max": {"n": 3}}"#).unwrap().modified_count, 0);
    assert_eq!(deltas(), before);
    // As large as the row; and fields that come and go.
    let large = format!("{{\"$set\": {{\"text\": \"{text}\"}}, \"$inc\": {{\"n\": 1}}}}");
    for update in [large.as_str(), r#"{"$set": {"new": 1}}"#, r#"{"$unset": {"n": 1}}"#] {
        c.update("x", r#"{"$mul": {"n": 2}}"#).unwrap();
        c.update("x", update).unwrap();
        assert_eq!(deltas(), 0, "{update}");
    }
}

#[test]
fn a_large_document_keeps_nobody_from_changing_small_ones() {
    let env = Env::in_memory(1);
    let db = Database::builder().env(env).memory(8 << 20).open("db").unwrap();
    let c = db.collection("c");
    c.put("large", r#"{"n": 0}"#).unwrap();
    c.put("small", r#"{"n": 0}"#).unwrap();
    let text = "x".repeat(1_400_000);
    let grow = |draft: &mut Draft| {
        draft.set("text", text.as_str())?;
        Ok(true)
    };
    assert!(c.modify("large", grow).unwrap());
    assert_eq!(c.update("small", r#"{"$set": {"n": 1}}"#).unwrap().modified_count, 1);
    // Nor does one that is refused.
    let refused = c.modify("small", |draft| {
        draft.set("text", "x".repeat(5_000_000))?;
        Ok(true)
    });
    assert!(refused.is_err());
    assert_eq!(c.update("small", r#"{"$set": {"n": 2}}"#).unwrap().modified_count, 1);
}

/// Has a document changed and deleted at the same time, so that the delete mostly comes between two attempts of the
/// change: the second one waits for a unique key that somebody else holds. `change` makes `new` of the document with
/// this `_id`, and says whether it found it. What it says is compared with what the delete finds.
#[allow(clippy::disallowed_methods, reason = "threads that wait for each other's locks")]
fn raced(change: impl Fn(&Collection, i32) -> bool + Sync) {
    let db = Database::builder().env(Env::in_memory(1)).open("db").unwrap();
    let c = db.collection("c");
    c.create_index_with(r#"{"u": 1}"#, r#"{"unique": true}"#).unwrap();
    let open = c.open().unwrap();
    let index = open.indexes().indexes[0].clone();
    let (_nobody, never) = std::sync::mpsc::channel::<()>();
    let mut too_late = 0;
    for (id, wait_ms) in (0..12).flat_map(|id| [1, 10, 40].map(|wait| (id, wait))) {
        c.put(id, format!("{{\"u\": {id}, \"old\": true}}").as_str()).unwrap();
        let wanted = crate::IntoDocument::into_map(format!("{{\"u\": {}}}", id + 1000)).unwrap();
        let claim = index.keys(&wanted, b"").unwrap().keys[0].bytes.clone();
        let wait = || assert!(never.recv_timeout(std::time::Duration::from_millis(wait_ms)).is_err());
        let held = db.store().lock_all([(index.tree, claim.as_slice(), LockMode::Exclusive)]);
        let (found, deleted) = std::thread::scope(|scope| {
            let change = scope.spawn(|| change(&c, id));
            wait();
            let delete = scope.spawn(|| c.get_and_delete(id).unwrap());
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
    raced(|c, id| c.replace(id, new(id)).unwrap().matched_count == 1);
    raced(|c, id| {
        let result = c.update(id, set(id)).unwrap();
        assert_eq!(result.matched_count, result.modified_count);
        result.modified_count == 1
    });
    for which in [ReturnDocument::Before, ReturnDocument::After] {
        raced(|c, id| c.get_and_update(id, set(id), which).unwrap().is_some());
        let filter = |id: i32| format!("{{\"_id\": {id}}}");
        raced(|c, id| c.find_one_and_update(filter(id), set(id)).return_document(which).run().unwrap().is_some());
    }
    raced(|c, id| {
        let result = c.update_one(format!("{{\"_id\": {id}}}"), set(id)).run().unwrap();
        assert_eq!(result.matched_count, result.modified_count);
        result.modified_count == 1
    });
}
