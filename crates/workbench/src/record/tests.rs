use super::*;
use serde_json::json;

#[test]
fn paths_name_fields_and_places() {
    let value = json!({"outcome": [{"rate": 2}, {"latency": {"p99": 1.5}}], "text": "3"});
    assert_eq!(figure(&value, "outcome.0.rate"), Some(2.0));
    assert_eq!(figure(&value, "outcome.1.latency.p99"), Some(1.5));
    assert_eq!(figure(&value, "outcome.last.latency.p99"), Some(1.5));
    for missing in ["outcome.2.rate", "outcome.rate", "text", "text.0", "", "outcome.1.latency"] {
        assert_eq!(figure(&value, missing), None, "{missing}");
    }
    assert_eq!(at(&value, "outcome.1.latency"), Some(&json!({"p99": 1.5})));
}
