use super::*;
use alluvium::doc;

#[test]
fn values_are_checked() {
    let code = |name: &str, value: Value| Parameters::default().set(name, &value).map_err(|error| error.code);
    for (name, value, expected) in [
        ("logLevel", Value::from(1.5), Ok(true)),
        ("logLevel", Value::from(true), Ok(true)),
        ("logLevel", Value::from(-1), Err(2)),
        ("logLevel", Value::from(1_i64 << 31), Err(2)),
        ("logLevel", Value::from("1"), Err(2)),
        ("quiet", Value::from("yes"), Ok(true)),
        ("automationServiceDescriptor", Value::from("x".repeat(64)), Ok(true)),
        ("automationServiceDescriptor", Value::from("x".repeat(65)), Err(15)),
        ("automationServiceDescriptor", Value::from(1), Err(14)),
        ("logComponentVerbosity", Value::from("x"), Err(14)),
        ("logComponentVerbosity", doc! {"storage": {"wt": {"wtCompact": 2}}}.into(), Ok(true)),
        ("logComponentVerbosity", doc! {"nonsense": 2}.into(), Err(2)),
        ("logComponentVerbosity", doc! {"command": {"verbosity": f64::NAN}}.into(), Err(2)),
        ("cursorTimeoutMillis", Value::from(0), Err(2)),
        ("other", Value::from(1), Ok(false)),
    ] {
        assert_eq!(code(name, value.clone()), expected, "{name}: {value}");
    }
}

#[test]
fn components_have_their_own_level() {
    let mut parameters = Parameters::default();
    let set = doc! {"verbosity": 1, "command": 4, "storage": {"wt": {"verbosity": 3}}};
    assert_eq!(parameters.set("logComponentVerbosity", &set.into()), Ok(true));
    assert_eq!(parameters.log_level, 1);
    let shown = parameters.verbosity("");
    let level = |path: &[&str]| {
        let found = path.iter().try_fold(&shown, |map, name| map.get(name)?.as_map());
        found.and_then(|map| map.get("verbosity").cloned())
    };
    assert_eq!(level(&["command"]), Some(Value::Int32(4)));
    assert_eq!(level(&["storage", "wt"]), Some(Value::Int32(3)));
    assert_eq!(level(&["storage"]), Some(Value::Int32(-1)));
}

#[test]
fn parameters_of_clusters_have_forms() {
    let mut parameters = Parameters::default();
    for (name, value, expected) in [
        ("changeStreams", doc! {"expireAfterSeconds": 5}, Ok(())),
        ("changeStreams", doc! {}, Ok(())),
        ("changeStreams", doc! {"expireAfterSeconds": "x"}, Err(14)),
        ("changeStreams", doc! {"expireAfterSeconds": 0}, Err(2)),
        ("changeStreams", doc! {"other": 0}, Err(2)),
        ("changeStreams", doc! {"$other": 0}, Err(52)),
        ("changeStreamOptions", doc! {}, Err(2)),
        ("changeStreamOptions", doc! {"preAndPostImages": {"expireAfterSeconds": "on"}}, Err(2)),
        ("changeStreamOptions", doc! {"preAndPostImages": {"expireAfterSeconds": 7200}}, Ok(())),
        ("pauseMigrationsDuringMultiUpdates", doc! {"enabled": 1}, Err(14)),
        ("other", doc! {}, Err(4)),
    ] {
        let done = parameters.set_of_cluster(name, &value.clone().into()).map_err(|error| error.code);
        assert_eq!(done, expected, "{name}: {value}");
    }
    let images = doc! {"preAndPostImages": {"expireAfterSeconds": 7200_i64}};
    assert_eq!(parameters.of_cluster("changeStreamOptions"), Some(images));
}
