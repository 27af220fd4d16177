//! A transaction is one write, whatever happens to its connection, its session or the server.

use super::{Connection, MINUTE, SECOND, World, batch, cursor_of, insert, lsid, with};
use crate::fields::Fields;
use crate::sessions::{End, SessionId, Step};
use alluvium::{Binary, ChangeScope, Map, Value, doc};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A command of the transaction with this number, of the first session.
fn within(body: Map, number: i64) -> Map {
    let fields = [("lsid", lsid(1)), ("txnNumber", Value::Int64(number)), ("autocommit", Value::Bool(false))];
    with(body, fields)
}

/// The first command of a transaction.
fn first(body: Map, number: i64) -> Map {
    with(within(body, number), [("startTransaction", Value::Bool(true))])
}

fn commit(number: i64) -> Map {
    within(doc! {"commitTransaction": 1}, number)
}

fn abort(number: i64) -> Map {
    within(doc! {"abortTransaction": 1}, number)
}

fn labels(reply: &Map) -> Vec<String> {
    let labels = reply.elements("errorLabels").unwrap_or_default();
    labels.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

const TRANSIENT: [&str; 1] = ["TransientTransactionError"];

fn ids(connection: &Connection<'_>, find: Map) -> Vec<i64> {
    let mut body = doc! {"find": "pets", "sort": {"_id": 1}};
    body.entries.extend(find.entries);
    let found = connection.ok("zoo", body);
    batch(&found).iter().filter_map(|pet| pet.integer("_id")).collect()
}

/// The fields of a further command.
fn further(number: i64) -> Map {
    within(Map::new(), number)
}

#[test]
fn a_transaction_is_one_write_to_several_collections() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", insert(1));
    connection.ok("zoo", first(insert(2), 1));
    // Over another connection, to a new collection of another database.
    let other = world.connect();
    other.ok("shop", within(doc! {"insert": "orders", "documents": [{"_id": 7}]}, 1));
    let update =
        doc! {"update": "pets", "updates": [{"q": {"_id": {"$gte": 1}}, "u": {"$set": {"old": true}}, "multi": true}]};
    assert_eq!(other.ok("zoo", within(update, 1)).integer("nModified"), Some(2));
    other.ok("zoo", within(doc! {"delete": "pets", "deletes": [{"q": {"_id": 1}, "limit": 1}]}, 1));
    assert_eq!(ids(&connection, further(1)), [2]);
    let count = doc! {"aggregate": "pets", "pipeline": [{"$match": {"old": true}}, {"$count": "n"}], "cursor": {}};
    assert_eq!(batch(&connection.ok("zoo", within(count, 1)))[0].integer("n"), Some(1));
    let distinct = connection.ok("zoo", within(doc! {"distinct": "pets", "key": "_id"}, 1));
    assert_eq!(distinct.elements("values").map(<[_]>::len), Some(1));
    assert_eq!((ids(&connection, Map::new()), world.count("shop.orders")), (vec![1], 0));
    connection.ok("admin", commit(1));
    assert_eq!((ids(&connection, Map::new()), world.count("shop.orders")), (vec![2], 1));
}

#[test]
fn an_aborted_transaction_leaves_nothing() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", first(doc! {"create": "cages"}, 1));
    connection.ok("zoo", within(insert(1), 1));
    connection.ok("admin", abort(1));
    assert_eq!(labels(&connection.fails(251, "admin", abort(1))), TRANSIENT);
    assert_eq!(labels(&connection.fails(251, "admin", commit(1))), TRANSIENT);
    let collections = world.shared.db.collections();
    assert!(collections.iter().all(|info| info.database != "zoo"), "{collections:?}");
    connection.ok("zoo", first(doc! {"create": "cages"}, 2));
    connection.ok("zoo", within(doc! {"insert": "cages", "documents": [{"_id": 1}]}, 2));
    connection.ok("admin", commit(2));
    assert_eq!(world.count("zoo.cages"), 1);
}

#[test]
fn a_commit_may_be_repeated() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", first(insert(1), 1));
    let durable = |number| with(commit(number), [("writeConcern", Value::Map(doc! {"w": "majority"}))]);
    connection.ok("admin", durable(1));
    connection.ok("admin", durable(1));
    connection.fails(256, "zoo", within(insert(2), 1));
    connection.fails(256, "admin", abort(1));
    for next in [world.after_a_kill(), world.after_a_cut()] {
        let connection = next.connect();
        connection.ok("admin", commit(1));
        assert_eq!(next.count("zoo.pets"), 1);
        // A transaction that was not committed is known to be gone.
        assert_eq!(labels(&connection.fails(251, "admin", commit(2))), TRANSIENT);
        let numbered = with(insert(6), [("lsid", lsid(1)), ("txnNumber", Value::Int64(1))]);
        connection.fails(72, "zoo", numbered);
        connection.fails(225, "zoo", first(insert(5), 0));
        connection.fails(225, "zoo", first(insert(5), 1));
        connection.ok("zoo", first(insert(5), 2));
        connection.ok("admin", commit(2));
        connection.fails(225, "admin", commit(1));
    }
}

#[test]
fn a_commit_that_is_lost_leaves_no_record() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", with(insert(1), [("writeConcern", Value::Map(doc! {"j": true}))]));
    connection.ok("zoo", first(insert(2), 1));
    connection.ok("admin", commit(1));
    let next = world.after_a_cut();
    assert_eq!(labels(&next.connect().fails(251, "admin", commit(1))), TRANSIENT);
    assert_eq!(next.count("zoo.pets"), 1, "otherwise this proves nothing");
}

#[test]
fn the_second_writer_of_a_document_conflicts() {
    let world = World::new();
    let (connection, other) = (world.connect(), world.connect());
    connection.ok("zoo", insert(1));
    let change = || doc! {"update": "pets", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}}]};
    let of_other =
        |body: Map| with(body, [("lsid", lsid(2)), ("txnNumber", Value::Int64(1)), ("autocommit", Value::Bool(false))]);
    connection.ok("zoo", first(change(), 1));
    let refused = other.fails(112, "zoo", with(of_other(change()), [("startTransaction", Value::Bool(true))]));
    assert_eq!(labels(&refused), TRANSIENT);
    other.fails(251, "admin", of_other(doc! {"commitTransaction": 1}));
    connection.ok("admin", commit(1));
    // A transaction that has read before, and writes now, conflicts, too.
    let writes = [
        change(),
        doc! {"findAndModify": "pets", "query": {"_id": 1}, "remove": true},
        doc! {"delete": "pets", "deletes": [{"q": {"n": {"$gte": 0}}, "limit": 0}]},
        doc! {"insert": "pets", "documents": [{"_id": 30}, {"_id": 3}]},
        doc! {"update": "pets", "updates": [{"q": {"_id": 3}, "u": {"$inc": {"n": 1}}, "upsert": true}]},
    ];
    for (number, write) in (2..).zip(writes) {
        connection.ok("zoo", first(doc! {"find": "pets"}, number));
        other.ok("zoo", change());
        other.ok("zoo", doc! {"delete": "pets", "deletes": [{"q": {"_id": 3}, "limit": 1}]});
        other.ok("zoo", insert(3));
        let refused = connection.fails(112, "zoo", within(write, number));
        assert_eq!(labels(&refused), TRANSIENT);
        connection.fails(251, "admin", commit(number));
    }
}

#[test]
fn an_error_aborts_the_transaction() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", insert(1));
    let duplicate = doc! {"insert": "pets", "documents": [{"_id": 2}, {"_id": 1}, {"_id": 3}], "ordered": false};
    let wrong: [(&str, Map); 4] = [
        ("writeErrors", duplicate),
        ("writeErrors", doc! {"update": "pets", "updates": [{"q": {}, "u": {"$nonsense": {"a": 1}}}]}),
        ("code", doc! {"find": "pets", "filter": {"$nonsense": 1}}),
        ("code", doc! {"aggregate": "pets", "pipeline": [{"$nonsense": 1}], "cursor": {}}),
    ];
    for (number, (field, wrong)) in (1..).zip(wrong) {
        connection.ok("zoo", first(insert(9), number));
        let reply = connection.run("zoo", within(wrong, number));
        assert!(reply.contains(field) && labels(&reply).is_empty(), "{reply}");
        if field == "writeErrors" {
            assert_eq!(reply.elements(field).map(<[_]>::len), Some(1), "{reply}");
        }
        assert_eq!(labels(&connection.fails(251, "zoo", within(insert(8), number))), TRANSIENT);
        assert_eq!(ids(&connection, Map::new()), [1]);
    }
    let counts = connection.ok("admin", doc! {"serverStatus": 1});
    let counts = counts.document("transactions").expect("counts");
    assert_eq!((counts.integer("totalAborted"), counts.integer("currentOpen")), (Some(4), Some(0)));
}

#[test]
fn a_session_has_one_transaction() {
    let world = World::new();
    let connection = world.connect();
    connection.fails(251, "zoo", within(insert(1), 1));
    connection.ok("zoo", first(insert(1), 3));
    connection.fails(50_911, "zoo", first(insert(1), 3));
    connection.ok("zoo", within(insert(2), 3));
    connection.fails(225, "zoo", first(insert(1), 2));
    connection.fails(251, "zoo", within(insert(1), 4));
    // A higher number aborts it, that of a retryable write, too.
    connection.ok("zoo", first(insert(1), 4));
    connection.fails(225, "admin", commit(3));
    connection.ok("zoo", with(insert(5), [("lsid", lsid(1)), ("txnNumber", Value::Int64(5))]));
    connection.fails(225, "admin", commit(4));
    assert_eq!(ids(&connection, Map::new()), [5]);
    connection.ok("zoo", first(insert(6), 6));
    connection.fails(72, "zoo", with(insert(7), [("lsid", lsid(1)), ("txnNumber", Value::Int64(6))]));
    connection.ok("admin", commit(6));
    assert_eq!(ids(&connection, Map::new()), [5, 6]);
}

#[test]
fn a_transaction_ends_after_a_minute_and_with_its_session() {
    let world = World::new();
    let connection = world.connect();
    let open = || world.shared.sessions.transactions.open.load(Ordering::Relaxed);
    connection.ok("zoo", first(insert(1), 1));
    world.wait(MINUTE);
    connection.ok("zoo", within(insert(2), 1));
    world.wait(SECOND);
    assert_eq!(open(), 0);
    assert_eq!(labels(&connection.fails(251, "admin", commit(1))), TRANSIENT);
    let ends = [("endSessions", true), ("killSessions", true), ("killSessions", false), ("killAllSessions", false)];
    for (number, (end, is_named)) in (2..).zip(ends) {
        connection.ok("zoo", first(insert(1), number));
        let listed = if is_named { vec![lsid(1)] } else { Vec::new() };
        world.connect().ok("admin", Map::from([(end, Value::Array(listed))]));
        assert_eq!(open(), 0, "{end}");
        connection.fails(251, "admin", commit(number));
    }
    connection.ok("admin", doc! {"setParameter": 1, "transactionLifetimeLimitSeconds": 600});
    connection.ok("zoo", first(insert(1), 9));
    world.wait(9 * MINUTE);
    connection.ok("admin", commit(9));
    assert_eq!(ids(&connection, Map::new()), [1]);
}

#[test]
fn a_cursor_belongs_to_its_transaction() {
    let world = World::new();
    let connection = world.connect();
    (1..=3).for_each(|id| drop(connection.ok("zoo", insert(id))));
    let find = || doc! {"find": "pets", "batchSize": 1};
    let more = |id: i64| doc! {"getMore": id, "collection": "pets"};
    connection.ok("zoo", first(insert(4), 1));
    let inside = cursor_of(&connection.ok("zoo", within(find(), 1)));
    let outside = cursor_of(&connection.ok("zoo", with(find(), [("lsid", lsid(1))])));
    world.connect().ok("zoo", insert(5));
    connection.ok("zoo", within(insert(6), 1));
    connection.fails(50_740, "zoo", with(more(inside), [("lsid", lsid(1))]));
    assert_eq!(batch(&connection.ok("zoo", within(more(inside), 1))).len(), 3, "what was there when it was opened");
    let inside = cursor_of(&connection.ok("zoo", within(find(), 1)));
    connection.fails(50_739, "zoo", within(more(outside), 1));
    connection.fails(251, "admin", commit(1));
    connection.fails(43, "zoo", with(more(inside), [("lsid", lsid(1))]));
    connection.ok("zoo", with(more(outside), [("lsid", lsid(1))]));
    let write = doc! {"bulkWrite": 1, "nsInfo": [{"ns": "zoo.pets"}], "cursor": {"batchSize": 1}, "ops": [
        {"insert": 0, "document": {"_id": 20}}, {"insert": 0, "document": {"_id": 21}},
    ]};
    let results = cursor_of(&connection.ok("admin", first(write, 2)));
    let more_results = doc! {"getMore": results, "collection": "$cmd.bulkWrite"};
    assert_eq!(batch(&connection.ok("admin", within(more_results, 2))).len(), 1);
    for (number, end) in [(3, commit as fn(i64) -> Map), (4, abort)] {
        let inside = cursor_of(&connection.ok("zoo", first(find(), number)));
        connection.ok("admin", end(number));
        connection.fails(43, "zoo", with(more(inside), [("lsid", lsid(1))]));
    }
}

#[test]
fn what_mongodb_refuses_in_transactions_is_refused() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", insert(1));
    let not_inside: [(&str, Map); 11] = [
        ("zoo", doc! {"count": "pets"}),
        ("zoo", doc! {"explain": {"find": "pets"}}),
        ("zoo", doc! {"drop": "pets"}),
        ("admin", doc! {"serverStatus": 1}),
        ("zoo", doc! {"listCollections": 1}),
        ("config", doc! {"find": "transactions"}),
        ("local", doc! {"find": "pets"}),
        ("admin", doc! {"insert": "pets", "documents": [{"_id": 1}]}),
        ("zoo", doc! {"find": "system.views"}),
        (
            "admin",
            doc! {"bulkWrite": 1, "ops": [{"insert": 0, "document": {"_id": 2}}], "nsInfo": [{"ns": "config.pets"}]},
        ),
        ("zoo", doc! {"killCursors": "pets", "cursors": []}),
    ];
    for (db, body) in not_inside {
        connection.fails(263, db, first(body, 1));
    }
    let within_first: [Map; 4] = [
        doc! {"aggregate": "pets", "pipeline": [{"$out": "copy"}], "cursor": {}},
        doc! {"aggregate": "pets", "pipeline": [{"$collStats": {}}], "cursor": {}},
        doc! {"find": "pets", "tailable": true},
        doc! {"create": "view", "viewOn": "pets", "pipeline": []},
    ];
    for (number, body) in (1..).zip(within_first) {
        connection.fails(263, "zoo", first(body, number));
    }
    let flag = |name: &'static str, value: bool| (name, Value::Bool(value));
    let of_session = || [("lsid", lsid(1)), ("txnNumber", Value::Int64(20))];
    let wrong: Vec<(i64, Map)> = vec![
        (72, with(with(insert(2), of_session()), [flag("startTransaction", true)])),
        (72, with(with(insert(2), of_session()), [flag("autocommit", true)])),
        (72, with(with(insert(2), of_session()), [flag("autocommit", false), flag("startTransaction", false)])),
        (72, with(insert(2), [("lsid", lsid(1)), flag("autocommit", false)])),
        (72, with(insert(2), [("txnNumber", Value::Int64(20)), flag("autocommit", false)])),
        (72, with(first(insert(2), 20), [("writeConcern", Value::Map(doc! {"w": 1}))])),
        (72, with(first(insert(2), 20), [("readConcern", Value::Map(doc! {"level": "linearizable"}))])),
        (50_768, with(doc! {"find": "pets"}, of_session())),
    ];
    for (code, body) in wrong {
        connection.fails(code, "zoo", body);
    }
    connection.fails(263, "admin", with(commit(20), [flag("startTransaction", true)]));
    connection.fails(125, "admin", doc! {"commitTransaction": 1});
    let snapshot = || [("readConcern", Value::Map(doc! {"level": "snapshot"}))];
    connection.ok("zoo", with(first(insert(2), 20), snapshot()));
    connection.fails(72, "zoo", with(within(insert(3), 20), snapshot()));
    connection.ok("admin", commit(20));
    assert_eq!(ids(&connection, Map::new()), [1, 2]);
}

#[test]
fn open_transactions_are_shown() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", first(insert(1), 4));
    world.wait(5 * SECOND);
    let shown = connection.ok("admin", doc! {"currentOp": 1, "type": "idleSession"});
    let shown = shown.elements("inprog").and_then(|all| all.first()?.as_map().cloned()).expect("the transaction");
    let of_transaction = shown.document("transaction").expect("its fields");
    assert_eq!(of_transaction.integer("timeOpenMicros"), Some(5_000_000));
    assert_eq!(of_transaction.document("parameters").and_then(|it| it.integer("txnNumber")), Some(4));
    let counts = connection.ok("admin", doc! {"serverStatus": 1});
    let counts = counts.document("transactions").expect("counts");
    assert_eq!((counts.integer("currentOpen"), counts.integer("currentInactive")), (Some(1), Some(1)));
    connection.ok("admin", commit(4));
    let counts = connection.ok("admin", doc! {"serverStatus": 1});
    let counts = counts.document("transactions").expect("counts");
    assert_eq!((counts.integer("totalStarted"), counts.integer("totalCommitted")), (Some(1), Some(1)));
}

#[test]
fn indexes_of_new_collections_are_created_with_them() {
    let world = World::new();
    let connection = world.connect();
    let index =
        |on: &str| doc! {"createIndexes": on, "indexes": [{"key": {"kind": 1}, "name": "kind", "unique": true}]};
    let made = connection.ok("zoo", first(index("pets"), 1));
    let counts = ["numIndexesBefore", "numIndexesAfter"].map(|name| made.integer(name));
    assert_eq!((counts, made.flag("createdCollectionAutomatically")), ([Some(1), Some(2)], true));
    connection.ok("zoo", within(doc! {"insert": "pets", "documents": [{"_id": 1, "kind": "dog"}]}, 1));
    let by_index = doc! {"find": "pets", "filter": {"kind": "dog"}, "hint": "kind"};
    assert_eq!(batch(&connection.ok("zoo", within(by_index.clone(), 1))).len(), 1);
    connection.ok("admin", commit(1));
    assert_eq!(batch(&connection.ok("zoo", by_index)).len(), 1);
    let taken = connection.run("zoo", doc! {"insert": "pets", "documents": [{"_id": 2, "kind": "dog"}]});
    assert!(taken.contains("writeErrors"), "{taken}");
    // The same index exists; another one of a collection with documents does not belong into a transaction.
    connection.ok("zoo", first(index("pets"), 2));
    let other = doc! {"createIndexes": "pets", "indexes": [{"key": {"age": 1}, "name": "age"}]};
    connection.fails(263, "zoo", within(other, 2));
    connection.fails(251, "admin", commit(2));
    connection.fails(48, "zoo", first(doc! {"create": "pets"}, 3));
}

#[test]
fn a_commit_that_conflicts_is_not_taken_for_done_later() {
    let world = World::new();
    let connection = world.connect();
    let index = doc! {"createIndexes": "pets", "indexes": [{"key": {"name": 1}, "name": "name", "unique": true}]};
    connection.ok("zoo", index);
    let named = |id: i32| doc! {"insert": "pets", "documents": [{"_id": id, "name": "rex"}]};
    connection.ok("zoo", first(named(1), 1));
    world.connect().ok("zoo", named(2));
    assert_eq!(labels(&connection.fails(112, "admin", commit(1))), TRANSIENT);
    let next = world.after_a_kill();
    next.connect().fails(251, "admin", commit(1));
    assert_eq!(next.count("zoo.pets"), 1);
}

#[test]
fn recorded_changes_name_their_session_and_transaction() {
    let world = World::new();
    let (connection, scope) = (world.connect(), ChangeScope::Everything);
    world.shared.db.record_changes(scope.clone()).expect("a recording");
    connection.ok("zoo", first(insert(1), 7));
    connection.ok("zoo", within(insert(2), 7));
    connection.ok("admin", commit(7));
    connection.ok("zoo", insert(3));
    let changes = world.shared.db.changes(&scope, None).expect("changes");
    let fields: Vec<_> = changes.map(|change| change.expect("a change").transaction).collect();
    // SHA-256 of the empty text: the session has no user.
    let digest = [
        0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27, 0xae,
        0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
    ];
    let Value::Map(mut session) = lsid(1) else { panic!("a session is a map") };
    session.push("uid", Value::Binary(Binary { subtype: 0, bytes: digest.to_vec() }));
    let of_transaction = Some(Map::from([("lsid", Value::Map(session)), ("txnNumber", Value::Int64(7))]));
    assert_eq!(fields, [of_transaction.clone(), of_transaction.clone(), of_transaction, None]);
}

#[test]
fn a_statement_that_runs_too_long_is_stopped() {
    let world = World::new();
    let session = SessionId { uuid: [1; 16], user: None };
    world.connect().ok("zoo", insert(1));
    for (number, step) in [(1, Step::Begin), (2, Step::Continue)] {
        if step == Step::Continue {
            world.connect().ok("zoo", first(insert(2), number));
        }
        let stop = Arc::new(AtomicBool::new(false));
        let mut joined = world.shared.sessions.join(&session, number, step, &stop).expect("the transaction");
        if step == Step::Begin {
            joined.begin(&world.shared.db).expect("a transaction");
        }
        world.wait(MINUTE);
        assert!(!stop.load(Ordering::Relaxed));
        world.wait(SECOND);
        assert!(stop.load(Ordering::Relaxed), "{step:?}");
        let (has_ended, error) = joined.finish(End::None);
        assert_eq!((has_ended, error.map(|error| error.code)), (true, Some(290)));
        world.connect().fails(251, "admin", commit(number));
    }
}
