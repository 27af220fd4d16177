//! `applyOps`, as `mongorestore --oplogReplay` of mongo-tools 100.13 sends it, with one entry in each command. The
//! codes are those of MongoDB 8.2, according to documentdb's functional tests (system/replication/commands/applyOps).

use super::{Connection, World, batch, insert, with};
use crate::fields::Fields;
use alluvium::{Binary, Map, Value, doc};

fn apply(ops: impl IntoIterator<Item = Map>) -> Map {
    Map::from([("applyOps", Value::Array(ops.into_iter().map(Value::Map).collect()))])
}

/// Applies one entry. A log adds further fields to the four fields of the operation.
fn replay(connection: &Connection<'_>, op: &str, namespace: &str, object: Map, query: Option<Map>) -> Map {
    let mut entry = doc! {"op": op, "ns": namespace, "o": (object), "v": 2, "wall": (Value::DateTime(0)), "t": 1};
    if let Some(query) = query {
        entry.push("o2", query);
    }
    connection.ok("admin", with(apply([entry]), [("bypassDocumentValidation", Value::Bool(true))]))
}

fn command(connection: &Connection<'_>, object: Map) -> Map {
    replay(connection, "c", "zoo.$cmd", object, None)
}

fn found(connection: &Connection<'_>, collection: &str) -> Vec<Map> {
    batch(&connection.ok("zoo", doc! {"find": collection, "sort": {"_id": 1}}))
}

fn names(connection: &Connection<'_>) -> Vec<String> {
    let list = batch(&connection.ok("zoo", doc! {"listCollections": 1, "nameOnly": true}));
    let mut names: Vec<String> = list.iter().filter_map(|entry| entry.text("name").map(str::to_owned)).collect();
    names.sort();
    names
}

#[test]
fn documents_of_a_log_are_inserted_changed_and_deleted() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", doc! {"create": "pets"});
    let update = |object: Map, id: i32| replay(&connection, "u", "zoo.pets", object, Some(doc! {"_id": id}));
    for round in 0..2 {
        let inserted = replay(&connection, "i", "zoo.pets", doc! {"_id": 1, "a": 1, "l": [1, 2]}, None);
        assert_eq!((inserted.integer("applied"), inserted.elements("results")), (Some(1), Some(&[true.into()][..])));
        replay(&connection, "i", "zoo.pets", doc! {"_id": 2, "a": 2}, None);
        replay(&connection, "i", "zoo.pets", doc! {"_id": 3}, None);
        update(doc! {"$v": 2, "diff": {"u": {"a": 5}, "sl": {"a": true, "u2": 3}}}, 1);
        update(doc! {"_id": 2, "b": "replaced"}, 2);
        update(doc! {"$v": 1, "$set": {"b.c": 1}, "$unset": {"x": true}}, 3);
        update(doc! {"$set": {"d": 1}}, 3);
        replay(&connection, "d", "zoo.pets", doc! {"_id": 4}, None);
        let expected = [
            doc! {"_id": 1, "a": 5, "l": [1, 2, 3]},
            doc! {"_id": 2, "b": "replaced"},
            doc! {"_id": 3, "b": {"c": 1}, "d": 1},
        ];
        assert_eq!(found(&connection, "pets"), expected, "round {round}");
    }
    replay(&connection, "d", "zoo.pets", doc! {"_id": 1}, None);
    assert_eq!(found(&connection, "pets").len(), 2);
    // A delete in a collection that does not exist succeeds. An entry without an operation is not counted.
    replay(&connection, "d", "zoo.none", doc! {"_id": 1}, None);
    let nothing = replay(&connection, "n", "zoo.pets", doc! {"msg": "noop"}, None);
    assert_eq!(nothing.integer("applied"), Some(0));
}

#[test]
fn commands_of_a_log_are_carried_out_and_repeated() {
    let world = World::new();
    let connection = world.connect();
    for _ in 0..2 {
        let id_index = doc! {"v": 2, "key": {"_id": 1}, "name": "_id_"};
        command(&connection, doc! {"create": "pets", "idIndex": (id_index)});
    }
    command(&connection, doc! {"createIndexes": "pets", "v": 2, "key": {"a": 1}, "name": "a_1", "unique": true});
    let two = doc! {"commitIndexBuild": "pets", "indexBuildUUID": (uuid(3)), "indexes": [
        {"v": 2, "key": {"b": 1}, "name": "b_1"}, {"v": 2, "key": {"c": 1}, "name": "c_1"}
    ]};
    command(&connection, two);
    command(&connection, doc! {"startIndexBuild": "pets"});
    command(&connection, doc! {"collMod": "pets", "index": {"name": "b_1", "hidden": true}});
    for _ in 0..2 {
        command(&connection, doc! {"dropIndexes": "pets", "index": "c_1"});
        command(&connection, doc! {"deleteIndexes": "pets", "index": "none_1"});
    }
    let indexes = batch(&connection.ok("zoo", doc! {"listIndexes": "pets"}));
    let shown: Vec<_> = indexes.iter().map(|index| (index.text("name"), index.flag("hidden"))).collect();
    assert_eq!(shown, [(Some("_id_"), false), (Some("a_1"), false), (Some("b_1"), true)]);
    // The log has a view as a document of `system.views`, a collection that does not exist here.
    for pipeline in [doc! {"$match": {"a": 1}}, doc! {"$match": {"a": 2}}] {
        replay(&connection, "i", "zoo.system.views", view(pipeline), None);
    }
    replay(&connection, "i", "zoo.pets", doc! {"_id": 1, "a": 2}, None);
    assert_eq!(found(&connection, "view").len(), 1);
    replay(&connection, "d", "zoo.system.views", doc! {"_id": "zoo.view"}, None);
    for _ in 0..2 {
        let dropped = Value::Binary(Binary { subtype: 4, bytes: vec![1; 16] });
        command(&connection, doc! {"renameCollection": "zoo.pets", "to": "zoo.animals", "dropTarget": (dropped)});
    }
    assert_eq!(names(&connection), ["animals"]);
    let nested = doc! {"applyOps": [
        {"op": "i", "ns": "zoo.animals", "o": {"_id": 2}}, {"op": "c", "ns": "zoo.$cmd", "o": {"create": "others"}}
    ]};
    command(&connection, nested);
    assert_eq!((found(&connection, "animals").len(), names(&connection)), (2, vec!["animals".into(), "others".into()]));
    for _ in 0..2 {
        command(&connection, doc! {"drop": "animals"});
        command(&connection, doc! {"dropDatabase": 1});
    }
    assert!(names(&connection).is_empty());
}

fn view(stage: Map) -> Map {
    doc! {"_id": "zoo.view", "viewOn": "pets", "pipeline": [(stage)]}
}

fn uuid(byte: u8) -> Value {
    Value::Binary(Binary { subtype: 4, bytes: vec![byte; 16] })
}

#[test]
fn an_entry_that_cannot_be_applied_is_reported() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", insert(1));
    let entry = |op: &str, object: Map| doc! {"op": op, "ns": "zoo.pets", "o": (object)};
    let update = |id: i32| doc! {"op": "u", "ns": "zoo.pets", "o": {"a": 1}, "o2": {"_id": id}};
    // If an update finds nothing, the remaining entries are applied. After an error, no more entries are applied.
    let reply = connection.fails(8, "admin", apply([update(9), entry("i", doc! {"_id": 2})]));
    assert_eq!(reply.integer("applied"), Some(2), "{reply}");
    assert_eq!(reply.elements("results"), Some(&[false.into(), true.into()][..]));
    let missing = doc! {"op": "i", "ns": "zoo.none", "o": {"_id": 1}};
    let reply = connection.fails(26, "admin", apply([update(1), missing, entry("i", doc! {"_id": 3})]));
    assert_eq!((reply.integer("applied"), found(&connection, "pets").len()), (Some(2), 2), "{reply}");
    let of_command = |object: Map| doc! {"op": "c", "ns": "zoo.$cmd", "o": (object)};
    for (code, entry) in [
        (4, doc! {"ns": "zoo.pets", "o": {"_id": 1}}),
        (14, doc! {"op": 1, "ns": "zoo.pets", "o": {}}),
        (20, doc! {"op": "", "ns": "zoo.pets", "o": {}}),
        (20, doc! {"op": "i", "o": {"_id": 1}}),
        (20, doc! {"op": "i", "ns": "", "o": {"_id": 1}}),
        (2, entry("x", doc! {"_id": 1})),
        (40414, doc! {"op": "i", "ns": "zoo.pets"}),
        (4, entry("i", doc! {})),
        (4, doc! {"op": "u", "ns": "zoo.pets", "o": {"a": 1}, "o2": {}}),
        (73, doc! {"op": "i", "ns": "zoo", "o": {"_id": 1}}),
        (4_772_601, doc! {"op": "u", "ns": "zoo.pets", "o": {"$v": 2}, "o2": {"_id": 1}}),
        (4_772_600, doc! {"op": "u", "ns": "zoo.pets", "o": {"$v": "2"}, "o2": {"_id": 1}}),
        (66, doc! {"op": "u", "ns": "zoo.pets", "o": {"$v": 2, "diff": {"u": {"_id": 7}}}, "o2": {"_id": 1}}),
        (3_318_200, doc! {"op": "i", "ns": "zoo.pets", "ui": (uuid(1)), "o": {"_id": 1}}),
        (115, of_command(doc! {"emptycapped": "pets"})),
        (115, doc! {"op": "c", "ns": "local.$cmd", "o": {"create": "oplog.rs"}}),
        (115, doc! {"op": "c", "ns": "zoo.$cmd", "ui": (uuid(1)), "o": {"create": "others"}}),
    ] {
        let shown = entry.to_string();
        let reply = connection.run("admin", apply([entry]));
        assert_eq!(reply.integer("code"), Some(code), "{shown}: {reply}");
    }
    for (code, option) in [
        (2, ("prepare", Value::Bool(false))),
        (31_056, ("partialTxn", Value::Bool(true))),
        (31_240, ("count", Value::Int32(1))),
        (6_711_600, ("preCondition", Value::Array(vec![]))),
        (6_711_601, ("alwaysUpsert", Value::Bool(true))),
        (9, ("oplogApplicationMode", Value::from("BadMode"))),
    ] {
        connection.fails(code, "admin", with(apply([]), [option]));
    }
    let drop = || of_command(doc! {"dropDatabase": 1});
    connection.fails(6_275_900, "admin", apply([drop(), drop()]));
    let mut deep = doc! {"drop": "none"};
    // The command has more than the ten allowed levels of nesting.
    for _ in 0..12 {
        deep = doc! {"applyOps": [(of_command(deep))]};
    }
    connection.fails(9, "admin", deep);
}
