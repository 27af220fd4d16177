use super::*;
use alluvium::doc;

#[test]
fn operations_are_counted_by_their_times() {
    let latencies = Latencies::default();
    for micros in [0, 3, 3, 100] {
        latencies.note("zoo.pets", Use::Query, Duration::from_micros(micros));
    }
    latencies.note("zoo.pets", Use::Insert, Duration::from_secs(1_000_000_000));
    let shown = latencies.to_map("zoo.pets", true);
    let bucket = |micros: i64, count: i64| doc! {"micros": micros, "count": count};
    let histogram = vec![bucket(0, 1).into(), bucket(2, 2).into(), bucket(64, 1).into()];
    let mut reads = doc! {"histogram": Value::Array(histogram)};
    reads.push("latency", 106_i64);
    reads.push("ops", 4_i64);
    assert_eq!(shown.get("reads"), Some(&Value::Map(reads)));
    assert_eq!(latencies.to_map("zoo.other", false).get("writes"), Some(&doc! {"latency": 0_i64, "ops": 0_i64}.into()));
    latencies.retain(|_| false);
    assert_eq!(latencies.to_map("zoo.pets", false).get("reads"), Some(&doc! {"latency": 0_i64, "ops": 0_i64}.into()));
}
