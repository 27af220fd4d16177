//! `min`, `max`, `returnKey` and `showRecordId` of `find`, and the listed fields of indexes.

use crate::common::{Client, Running};
use alluvium::{Map, Value, doc};

fn filled() -> (Running, Client) {
    let server = Running::new();
    let mut client = server.client();
    let index = |keys: Map, name: &str| Value::Map(doc! {"key": keys, "name": name});
    let indexes = vec![index(doc! {"a": 1, "b": -1}, "ab"), index(doc! {"a": -1}, "down")];
    client.ok("zoo", doc! {"createIndexes": "pets", "indexes": (Value::Array(indexes))});
    let documents = doc! {"insert": "pets", "documents": [
        {"_id": 1, "a": 1, "b": 1}, {"_id": 2, "a": 1, "b": 2}, {"_id": 3, "a": 2, "b": 1}, {"_id": 4, "a": "x"},
        {"_id": 5}
    ]};
    client.ok("zoo", documents);
    (server, client)
}

fn ids(client: &mut Client, mut find: Map) -> Vec<i64> {
    find.entries.insert(0, ("find".into(), Value::from("pets")));
    let found = client.documents("zoo", find);
    found.iter().map(|document| document.get("_id").and_then(Value::as_i64).expect("a number")).collect()
}

#[test]
fn bounds_are_in_the_order_of_the_index() {
    let (_server, mut client) = filled();
    let hint = "ab";
    // In the order of the index: {}, (1, 2), (1, 1), (2, 1), ("x", null).
    assert_eq!(ids(&mut client, doc! {"hint": hint, "min": {"a": 1, "b": 1}}), [1, 3, 4]);
    assert_eq!(ids(&mut client, doc! {"hint": hint, "max": {"a": 1, "b": 1}}), [5, 2]);
    assert_eq!(ids(&mut client, doc! {"hint": hint, "min": {"a": 1, "b": 2}, "max": {"a": 2, "b": 1}}), [2, 1]);
    assert_eq!(ids(&mut client, doc! {"hint": {"a": -1}, "min": {"a": 2}, "max": {"a": null}}), [3, 1, 2]);
    assert_eq!(ids(&mut client, doc! {"hint": {"a": -1}, "min": {"a": 2}, "filter": {"b": 2}}), [2]);
    let sorted = doc! {"hint": hint, "min": {"a": 1, "b": 1}, "sort": {"_id": -1}, "limit": 2};
    assert_eq!(ids(&mut client, sorted), [4, 3]);
    let mut fails = |code: i32, mut find: Map| {
        find.entries.insert(0, ("find".into(), Value::from("pets")));
        client.fails(code, "zoo", find);
    };
    fails(51173, doc! {"min": {"a": 1}});
    fails(51174, doc! {"hint": "ab", "min": {"a": 1}});
    fails(51174, doc! {"hint": "ab", "min": {"b": 1, "a": 1}});
    fails(51175, doc! {"hint": "down", "min": {"a": 1}, "max": {"a": 2}});
    fails(51176, doc! {"hint": "down", "min": {"a": 1}, "max": {"b": 2}});
    fails(2, doc! {"hint": "none", "min": {"a": 1}});
}

#[test]
fn keys_and_record_numbers_are_returned() {
    let (_server, mut client) = filled();
    let mut find = |find: Map| client.documents("zoo", find);
    let filter = doc! {"a": 1, "b": 2};
    let keys = find(doc! {"find": "pets", "filter": filter, "hint": "ab", "returnKey": true});
    assert_eq!(keys, [doc! {"a": 1, "b": 2}]);
    let keys = find(doc! {"find": "pets", "filter": {"_id": 3}, "sort": {"_id": 1}, "returnKey": true});
    assert_eq!(keys, [doc! {"_id": 3}]);
    let keys = find(doc! {"find": "pets", "filter": {"b": 2}, "hint": {"$natural": 1}, "returnKey": true});
    assert_eq!(keys, [Map::new()]);
    let numbered = find(doc! {"find": "pets", "filter": {"_id": {"$gte": 4}}, "showRecordId": true, "batchSize": 1});
    assert_eq!(numbered, [doc! {"_id": 4, "a": "x", "$recordId": 4}, doc! {"_id": 5, "$recordId": 5}]);
}

#[test]
fn indexes_are_listed_as_they_were_made() {
    let server = Running::new();
    let mut client = server.client();
    let create = |background: bool| {
        doc! {"createIndexes": "pets", "indexes": [{"key": {"a": 1}, "name": "a_1", "background": background}]}
    };
    client.ok("zoo", create(true));
    // This is the same index, although the option `background` differs.
    client.ok("zoo", create(false));
    let listed = client.documents("zoo", doc! {"listIndexes": "pets"});
    assert_eq!(listed[1].get("background"), Some(&Value::Bool(true)), "{}", listed[1]);
    let unique = doc! {"key": {"b.c": -1, "d": 1}, "name": "u", "unique": true};
    client.ok("zoo", doc! {"createIndexes": "pets", "indexes": [unique]});
    let document = |id: i32| Value::Map(doc! {"_id": id, "b": {"c": 1}});
    let documents = Value::Array(vec![document(1), document(2)]);
    let reply = client.ok("zoo", doc! {"insert": "pets", "documents": documents});
    let error = reply.get("writeErrors").and_then(Value::as_array).and_then(|errors| errors[0].as_map());
    assert_eq!(error.and_then(|error| error.get("keyPattern")), Some(&Value::Map(doc! {"b.c": -1, "d": 1})));
}
