use super::*;
use crate::Database;
use env::Env;

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
