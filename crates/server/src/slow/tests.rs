use super::*;
use alluvium::doc;

#[test]
fn long_commands_are_not_kept() {
    let slow = SlowOperations::default();
    let text = "x".repeat(1_000_000);
    slow.keep("shop", doc! {"op": "query", "command": {"find": "pets", "comment": (text.as_str())}, "millis": 7});
    slow.keep("shop", doc! {"op": "query", "command": {"find": "pets"}});
    let kept = slow.entries("shop");
    assert!(bson_size(&Value::Map(kept[0].clone())) < 1000, "{}", kept[0]);
    assert_eq!(kept[0].get("millis"), Some(&Value::Int32(7)));
    assert_eq!(kept[1], doc! {"op": "query", "command": {"find": "pets"}});
}
