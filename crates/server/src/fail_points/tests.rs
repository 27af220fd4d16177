use super::*;
use alluvium::doc;
use alluvium_env::SeededRng;
use std::time::Duration;

const PING: &str = "ping";

fn entered(points: &FailPoints, body: &Map) -> bool {
    failure(points, body, None).is_some()
}

fn failure(points: &FailPoints, body: &Map, application: Option<&str>) -> Option<Failure> {
    let application = || application.map(str::to_owned);
    let resolve = |name: &str| (name == PING || name == "Ping").then_some(PING);
    points.on_command(&Candidate { name: PING, body, resolve, application: &application })
}

fn points(mode: impl Into<Value>, data: Map) -> FailPoints {
    let points = FailPoints::new(Arc::new(SeededRng::new(7)));
    points.configure(COMMAND, &mode.into(), data).unwrap();
    points
}

#[test]
fn modes_decide_how_often_a_point_is_entered() {
    let data = || doc! {"failCommands": ["Ping"], "errorCode": 6};
    let ping = doc! {"ping": 1};
    let pattern = |points: &FailPoints| (0..4).map(|_| entered(points, &ping)).collect::<Vec<bool>>();
    let t = true;
    let f = false;
    for (mode, expected) in [
        (Value::from("off"), [f, f, f, f]),
        (Value::from("alwaysOn"), [t, t, t, t]),
        (Value::Map(doc! {"times": 2}), [t, t, f, f]),
        (Value::Map(doc! {"times": 0}), [f, f, f, f]),
        (Value::Map(doc! {"skip": 1}), [f, t, t, t]),
        // The Go driver sends each field of a mode (`mtest.FailPointMode`); only the first counts.
        (Value::Map(doc! {"times": 1, "skip": 0}), [t, f, f, f]),
        (Value::Map(doc! {"times": 1, "skip": 1}), [t, f, f, f]),
        (Value::Map(doc! {"activationProbability": 1}), [t, t, t, t]),
        (Value::Map(doc! {"activationProbability": 0.0}), [f, f, f, f]),
    ] {
        let points = points(mode.clone(), data());
        assert_eq!(pattern(&points), expected, "{mode}");
        let count = expected.iter().filter(|entered| **entered).count() as i64;
        assert_eq!(points.configure(COMMAND, &Value::from("off"), Map::new()), Ok(count), "{mode}");
        assert_eq!(pattern(&points), [f; 4], "{mode}, and off");
    }
}

#[test]
fn only_the_listed_commands_of_the_application_fail() {
    let always = || Value::from("alwaysOn");
    let ping = doc! {"ping": "pets", "$db": "zoo"};
    assert!(!entered(&points(always(), doc! {"failCommands": ["find"]}), &ping));
    assert!(!entered(&points(always(), doc! {}), &ping));
    assert!(entered(&points(always(), doc! {"failAllCommands": true}), &ping));
    let of_one = |namespace: &str| doc! {"failAllCommands": true, "namespace": namespace};
    assert!(entered(&points(always(), of_one("zoo.pets")), &ping));
    assert!(!entered(&points(always(), of_one("zoo.others")), &ping));
    let named = points(always(), doc! {"failCommands": ["ping"], "appName": "shop"});
    assert!(failure(&named, &ping, Some("shop")).is_some());
    assert!(failure(&named, &ping, Some("other")).is_none());
    assert!(failure(&named, &ping, None).is_none());
}

#[test]
fn a_failure_has_what_the_data_say() {
    let data = doc! {
        "failCommands": ["ping"], "errorCode": 11600, "errorLabels": [], "closeConnection": true,
        "blockConnection": true, "blockTimeMS": 40, "writeConcernError": {"code": 91}, "errorExtraInfo": {"a": 1}
    };
    let failed = failure(&points("alwaysOn", data), &doc! {"ping": 1}, None).unwrap();
    assert_eq!(failed.wait, Duration::from_millis(40));
    let error = failed.error.clone().unwrap();
    assert_eq!((error.code, error.name, error.fields), (11600, "InterruptedAtShutdown", doc! {"a": 1}));
    assert_eq!(failed.labels, Some(Vec::new()));
    assert!(failed.closes);
    assert_eq!(failed.write_concern_error, Some(doc! {"code": 91}));
    let limited = failed.clone().within_limit(&doc! {"ping": 1, "maxTimeMS": 20});
    assert_eq!((limited.wait, limited.error.unwrap().code), (Duration::from_millis(20), 50));
    assert_eq!(failed.clone().within_limit(&doc! {"ping": 1, "maxTimeMS": 60}), failed);
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let points = FailPoints::new(Arc::new(SeededRng::new(7)));
    let code = |name: &str, mode: Value, data: Map| points.configure(name, &mode, data).map_err(|error| error.code);
    let always = || Value::from("alwaysOn");
    assert_eq!(code("failEverything", always(), doc! {}), Err(40));
    assert_eq!(code(COMMAND, Value::from("often"), doc! {}), Err(2));
    assert_eq!(code(COMMAND, Value::Map(doc! {"activationProbability": 1.5}), doc! {}), Err(2));
    assert_eq!(code(COMMAND, Value::Map(doc! {"times": -1}), doc! {}), Err(2));
    assert_eq!(code(COMMAND, always(), doc! {"errorCode": "six"}), Err(14));
    assert_eq!(code(COMMAND, always(), doc! {"failCommands": [1]}), Err(14));
    assert_eq!(code(COMMAND, always(), doc! {"blockConnection": true}), Err(9));
    assert_eq!(code(COMMAND, always(), doc! {"threadName": "x"}), Err(115));
    assert_eq!(code(COMMAND, Value::from("off"), doc! {"threadName": "x"}), Ok(0));
}

#[test]
fn names_of_codes_are_in_order() {
    for code in [1, 6, 91, 13436] {
        assert_ne!(errors::name(code), "UnknownError");
    }
    assert_eq!(errors::name(-1), "UnknownError");
}
