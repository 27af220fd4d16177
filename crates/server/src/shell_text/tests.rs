use super::*;
use alluvium::{Timestamp, doc};

#[test]
fn values_are_written_as_the_shell_writes_them() {
    assert_eq!(of_map(&doc! {}), "{}");
    assert_eq!(
        of_map(&doc! {"email": "a@x", "n": {"m": null, "l": [1, 2.0, 2.5]}, "e": []}),
        "{ email: \"a@x\", n: { m: null, l: [ 1, 2.0, 2.5 ] }, e: [] }"
    );
    let map = Map::from([
        ("id", Value::ObjectId([0xab; 12])),
        ("at", Value::DateTime(5)),
        ("ts", Value::Timestamp(Timestamp { time: 1, increment: 2 })),
        ("max", Value::MaxKey),
    ]);
    let id = "ab".repeat(12);
    assert_eq!(of_map(&map), format!("{{ id: ObjectId('{id}'), at: new Date(5), ts: Timestamp(1, 2), max: MaxKey }}"));
}
