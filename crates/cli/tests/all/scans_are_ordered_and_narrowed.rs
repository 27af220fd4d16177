//! `scan` with its bounds, direction, limit and fields.

use crate::common::Place;

fn ids(place: &Place, options: &[&str]) -> Vec<i64> {
    let out = place.good(&[&["scan", "db", "c"], options].concat());
    let id = |line: &str| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["_id"].as_i64();
    out.lines().map(|line| id(line).expect("a number")).collect()
}

#[test]
fn scans_are_ordered_and_narrowed() {
    let place = Place::new();
    let lines: String = (0..100).map(|n| format!("{{\"_id\":{},\"n\":{n}}}\n", (n * 37) % 100 - 50)).collect();
    place.write("in.jsonl", lines);
    place.good(&["load", "db", "c", "in.jsonl"]);
    assert_eq!(ids(&place, &[]), (-50..50).collect::<Vec<_>>());
    assert_eq!(ids(&place, &["--from", "-3", "--to", "2"]), [-3, -2, -1, 0, 1]);
    assert_eq!(ids(&place, &["--from=-3", "--to=2", "--reverse"]), [1, 0, -1, -2, -3]);
    assert_eq!(ids(&place, &["--limit", "2"]), [-50, -49]);
    assert_eq!(ids(&place, &["--reverse", "--limit", "2"]), [49, 48]);
    // As in queries, 0 means no limit.
    assert_eq!(ids(&place, &["--limit", "0"]).len(), 100);
    assert_eq!(ids(&place, &["--from", "7", "--to", "7"]), [0_i64; 0]);
    assert_eq!(place.good(&["scan", "db", "c", "--limit", "1", "--fields", "n"]), "{\"_id\":-50,\"n\":0}\n");
}
