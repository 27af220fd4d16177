//! The options and stages that a change stream takes, and those that it refuses.

use super::*;

#[test]
fn a_stream_is_refused_with_the_codes_of_mongodb() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", insert(1));
    connection.ok("zoo", doc! {"create": "view", "viewOn": "pets", "pipeline": []});
    let opened = connection.ok("zoo", watch(doc! {}));
    let place = Value::Map(token(&opened));
    let time = Value::Timestamp(Timestamp { time: 5, increment: 5 });
    let text = |text: &str| Value::Map(Map::from([("_data", Value::from(text))]));
    let start = |name: &'static str, value: &Value| (name, value.clone());
    let options = [
        (Map::from([("unknown", Value::from(1))]), 40415),
        (Map::from([("resumeAfter", Value::from(1))]), 14),
        (Map::from([("startAtOperationTime", Value::from(1))]), 14),
        (Map::from([("fullDocument", Value::from("all"))]), 2),
        (Map::from([("fullDocumentBeforeChange", Value::from("all"))]), 2),
        (Map::from([("resumeAfter", Value::Map(doc! {"x": 1}))]), 40647),
        (Map::from([("startAfter", text("nonsense"))]), 9),
        (Map::from([("allChangesForCluster", Value::from(true))]), 72),
        (Map::from([("showSystemEvents", Value::from(true))]), 115),
        (Map::from([start("resumeAfter", &place), start("startAfter", &place)]), 50865),
        (Map::from([start("resumeAfter", &place), start("startAtOperationTime", &time)]), 40674),
        (Map::from([start("startAfter", &place), start("startAtOperationTime", &time)]), 40674),
        (Map::from([start("startAtOperationTime", &time)]), 286),
    ];
    for (options, code) in options {
        connection.fails(code, "zoo", watch(options));
    }
    let first = || Value::Map(doc! {"$changeStream": {}});
    let limit = Value::Map(doc! {"$limit": 1});
    let pipelines = [
        (vec![limit.clone(), first()], 40602),
        (vec![first(), limit], 20),
        (vec![first(), first()], 40602),
        (vec![Value::Map(doc! {"$changeStream": 1})], 6188500),
        (vec![Value::Map(doc! {"$facet": {"x": [{"$changeStream": {}}]}})], 40600),
        (vec![first(), Value::Map(doc! {"$changeStreamSplitLargeEvent": {"x": 1}})], 7182800),
    ];
    for (pipeline, code) in pipelines {
        connection.fails(code, "zoo", stages(pipeline));
    }
    for (db, collection, code) in [
        ("admin", "pets", 73),
        ("local", "pets", 73),
        ("config", "pets", 73),
        ("zoo", "system.js", 73),
        ("zoo", "view", 166),
    ] {
        connection.fails(code, db, doc! {"aggregate": collection, "pipeline": [{"$changeStream": {}}], "cursor": {}});
    }
    connection.fails(73, "admin", doc! {"aggregate": 1, "pipeline": [{"$changeStream": {}}], "cursor": {}});
    connection.fails(115, "zoo", doc! {"explain": (Value::Map(watch(doc! {})))});
    let fields = [("lsid", lsid(1)), ("txnNumber", Value::Int64(1)), ("autocommit", Value::Bool(false))];
    let first_statement = with(with(watch(doc! {}), fields), [("startTransaction", Value::Bool(true))]);
    connection.fails(263, "zoo", first_statement);
    let alone = World::with(Config { replica_set: None, ..Config::default() });
    alone.connect().fails(40573, "zoo", watch(doc! {}));
}

#[test]
fn options_that_are_null_are_missing() {
    let world = World::new();
    let connection = world.connect();
    let place = Value::Map(token(&connection.ok("zoo", watch(doc! {}))));
    let names = ["resumeAfter", "startAfter", "startAtOperationTime", "fullDocument", "fullDocumentBeforeChange"];
    connection.ok("zoo", watch(names.into_iter().map(|name| (name, Value::Null)).collect()));
    connection.ok("zoo", watch(Map::from([("resumeAfter", place.clone()), ("startAfter", Value::Null)])));
    connection.ok("zoo", watch(Map::from([("startAtOperationTime", Value::Null), ("startAfter", place)])));
    connection.fails(14, "zoo", watch(Map::from([("showExpandedEvents", Value::Null)])));
    let views = [(true, 72), (false, 0)];
    for (number, (enabled, code)) in (0..).zip(views) {
        let images = Value::Map(Map::from([("enabled", enabled)]));
        let name = format!("view{number}");
        let view = doc! {"create": name, "viewOn": "pets", "changeStreamPreAndPostImages": (images)};
        match code {
            0 => drop(connection.ok("zoo", view)),
            code => drop(connection.fails(code, "zoo", view)),
        }
    }
}

#[test]
fn expanded_events_are_not_in_the_stable_api() {
    let world = World::new();
    let connection = world.connect();
    let strict = [("apiVersion", Value::from("1")), ("apiStrict", Value::from(true))];
    connection.ok("zoo", with(watch(doc! {"fullDocument": "updateLookup"}), strict.clone()));
    for expanded in [true, false] {
        let options = Map::from([("showExpandedEvents", expanded)]);
        connection.fails(323, "zoo", with(watch(options.clone()), strict.clone()));
        connection.ok("zoo", watch(options));
    }
}

#[test]
fn a_stage_that_fills_values_in_is_allowed() {
    let world = World::new();
    let connection = world.connect();
    let filled = |fill: Map| {
        stages(vec![Value::Map(doc! {"$changeStream": {}}), Value::Map(Map::from([("$fill", Value::Map(fill))]))])
    };
    let opened = connection.ok("zoo", filled(doc! {"output": {"zoo": {"value": "north"}}}));
    connection.ok("zoo", insert(1));
    let events = batch(&connection.ok("zoo", more(cursor_of(&opened))));
    assert_eq!(events[0].text("zoo"), Some("north"));
    // These need the documents before.
    let refused = [
        doc! {"sortBy": {"x": 1}, "output": {"zoo": {"method": "linear"}}},
        doc! {"sortBy": {"x": 1}, "output": {"zoo": {"value": 1}}},
        doc! {"output": {"zoo": {"method": "locf"}}},
    ];
    refused.into_iter().for_each(|fill| drop(connection.fails(20, "zoo", filled(fill))));
}
