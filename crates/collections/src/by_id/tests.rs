use super::*;
use crate::testing::Database;
use alluvium_store::Options;

#[test]
fn a_checked_update_writes_a_delta_where_that_is_smaller() {
    let db = Database::with(Options::default());
    let c = db.collection("c");
    // Two documents of one form, so that the second has a shape.
    let text = "some text that makes the row larger than the delta, and then some more of it";
    for id in ["before", "x"] {
        c.put(id, format!("{{\"n\": 0, \"text\": \"{text}\"}}").as_str());
    }
    let key = ids::id_key(&Value::from("x")).unwrap();
    let deltas = || db.store().get_chained(c.state().documents, &key, &mut Vec::new()).unwrap().unwrap();
    let mut most = 0;
    for times in 1..=40 {
        let result = c.update("x", r#"{"$inc": {"n": 1}}"#);
        assert_eq!((result.matched_count, result.modified_count), (1, 1));
        assert_eq!(c.get("x").unwrap().to_map().unwrap().get("n").and_then(Value::as_i64), Some(times));
        most = most.max(deltas());
    }
    assert_eq!(most, DELTAS_MAX);
    // An update that changes nothing writes nothing.
    let before = deltas();
    assert_eq!(c.update("x", r#"{"$max": {"n": 3}}"#).modified_count, 0);
    assert_eq!(deltas(), before);
    // A delta as large as the row, an added field, and a removed field: rows are written.
    let large = format!("{{\"$set\": {{\"text\": \"{text}\"}}, \"$inc\": {{\"n\": 1}}}}");
    for update in [large.as_str(), r#"{"$set": {"new": 1}}"#, r#"{"$unset": {"n": 1}}"#] {
        c.update("x", r#"{"$mul": {"n": 2}}"#);
        c.update("x", update);
        assert_eq!(deltas(), 0, "{update}");
    }
}

#[test]
fn a_large_document_does_not_prevent_changes_of_small_ones() {
    let tuning = alluvium_store::Tuning { max_batch_bytes: Some(1_600_000), ..alluvium_store::Tuning::default() };
    let db = Database::with(Options { memory_bytes: 8 << 20, tuning, ..Options::default() });
    let c = db.collection("c");
    c.put("large", r#"{"n": 0}"#);
    c.put("small", r#"{"n": 0}"#);
    let text = "x".repeat(1_400_000);
    let grow = |draft: &mut Draft| {
        draft.set("text", text.as_str())?;
        Ok(true)
    };
    assert!(c.writer().modify(&"large".into(), grow).unwrap());
    assert_eq!(c.update("small", r#"{"$set": {"n": 1}}"#).modified_count, 1);
    // A change that is refused writes nothing either.
    let refused = c.writer().modify(&"small".into(), |draft| {
        draft.set("text", "x".repeat(5_000_000))?;
        Ok(true)
    });
    assert!(refused.is_err());
    assert_eq!(c.update("small", r#"{"$set": {"n": 2}}"#).modified_count, 1);
}
