use super::*;
use crate::api;
use alluvium::doc;
use alluvium_query::pipeline::stages::{Position, StableApi};

fn stage(row: &StageRow) -> Value {
    Value::Map(Map::from([(row.name, Map::new())]))
}

/// The error code for a pipeline on a source; 0 if there is no error.
fn code(place: (&str, Option<&str>), stages: &[Value]) -> i32 {
    check(place.0, place.1, stages).err().map_or(0, |error| error.code)
}

/// Sources of pipelines, one of each kind.
const PLACES: [(Over, &str, Option<&str>); 4] = [
    (Over::Collection, "a", Some("c")),
    (Over::Database, "a", None),
    (Over::Admin, "admin", None),
    (Over::Sessions, "config", Some("system.sessions")),
];

#[test]
fn every_stage_of_servers_has_its_place() {
    for row in stages::all() {
        let Some(server) = row.of_server else {
            assert!(!row.only_local, "{}: only stages of servers have documents of the present alone", row.name);
            continue;
        };
        assert_eq!(row.position, Position::First, "{}", row.name);
        let (misplaced, this) = (answer(server).misplaced.0, stage(row));
        let other = Value::Map(doc! {"$limit": 1});
        for (over, db, collection) in PLACES {
            // The collection of sessions is also a collection, and `admin` is also a database.
            let fits = match row.over {
                Over::Collection => collection.is_some(),
                Over::Database => collection.is_none(),
                Over::Anything => true,
                exact => exact == over,
            };
            let place = (db, collection);
            let expected = if fits { 0 } else { misplaced };
            assert_eq!(code(place, std::slice::from_ref(&this)), expected, "{} over {over:?}", row.name);
            if fits {
                assert_eq!(code(place, &[other.clone(), this.clone()]), 40602, "{}", row.name);
                let facet = Value::Map(doc! {"$facet": {"x": (Value::Array(vec![this.clone()]))}});
                assert_eq!(code(place, &[facet]), 40600, "{}", row.name);
            }
        }
        let of_another = doc! {"$unionWith": {"coll": "d", "pipeline": (Value::Array(vec![this.clone()]))}};
        let expected = if matches!(row.over, Over::Collection | Over::Anything) { 0 } else { misplaced };
        assert_eq!(code(("a", Some("c")), &[Value::Map(of_another)]), expected, "{}", row.name);
        let two_fields =
            Value::Map([stage(row), other].iter().flat_map(|s| s.as_map().unwrap().entries.clone()).collect());
        assert_eq!(code(("a", Some("c")), &[two_fields]), 40323, "{}", row.name);
    }
}

#[test]
fn every_stage_is_in_the_stable_api_or_not() {
    for row in stages::all() {
        let other = api::other_stage(&[stage(row)]);
        let strict = |operand: Map| api::other_stage(&[Value::Map(Map::from([(row.name, operand)]))]).is_none();
        match row.api {
            StableApi::Yes => assert_eq!(other, None, "{}", row.name),
            StableApi::No => assert_eq!(other, Some(row.name)),
            StableApi::Without(option) => {
                assert!(strict(Map::new()) && !strict(Map::from([(option, Value::from(false))])), "{}", row.name);
            }
            StableApi::Only(option) => {
                let given = |name: &str| Map::from([(name, Map::new())]);
                assert!(strict(given(option)) && !strict(given("another")), "{}", row.name);
            }
        }
        // Stages that report about the server change between versions, and are therefore not in the stable API.
        assert!(row.of_server.is_none() || row.api != StableApi::Yes, "{}", row.name);
        assert!(row.of_server.is_some() || row.missing.is_some() || row.api == StableApi::Yes, "{}", row.name);
    }
}
