//! Repeated retryable writes.

use super::*;

/// The session of the tests.
fn lsid() -> Value {
    Value::Map(Map::from([("id", Value::Binary(Binary { subtype: 4, bytes: vec![7; 16] }))]))
}

fn send(shared: &Shared, db: &str, body: Map) -> Map {
    let mut body = body;
    body.push("$db", db);
    reply(shared, body)
}

/// Sends a retryable write with a number.
fn write(shared: &Shared, db: &str, number: i64, body: &Map) -> Map {
    let mut body = body.clone();
    body.push("lsid", lsid());
    body.push("txnNumber", number);
    send(shared, db, body)
}

/// The documents of `zoo.pets`.
fn pets(shared: &Shared) -> Vec<String> {
    let found = shared.db.collection("zoo.pets").find(Map::new()).sort(doc! {"_id": 1}).run().expect("a cursor");
    found.map(|document| document.expect("a document").to_string()).collect()
}

/// The fields of a reply that a repetition must return unchanged.
fn shown(reply: &Map) -> String {
    let shown = ["n", "nModified", "upserted", "writeErrors", "cursor", "nErrors", "nMatched", "nDeleted", "nInserted"];
    let fields = reply.entries.iter().filter(|(name, _)| shown.contains(&name.as_str().unwrap_or_default()));
    Map { entries: fields.cloned().collect() }.to_string()
}

/// Runs a write and repeats it, on the same server and after a restart. The reply must be the same, and nothing may be
/// applied twice.
fn repeats(db: &str, body: &Map) {
    let shared = server();
    send(&shared, "zoo", doc! {"insert": "pets", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}]});
    let first = write(&shared, db, 1, body);
    let after = pets(&shared);
    for round in ["again", "after a start"] {
        let repeated = write(&shared, db, 1, body);
        assert_eq!(shown(&repeated), shown(&first), "{round}: {body}");
        assert_eq!(pets(&shared), after, "{round}: {body}");
        // Afterwards, the state of the session is read from its records.
        drop(shared.sessions.end(&[SessionId::of_command(&Map::from([("lsid", lsid())]), None).unwrap().unwrap()]));
    }
    // A write with a greater number is another write.
    write(&shared, db, 2, body);
    assert_ne!(pets(&shared), after, "{body}");
}

#[test]
fn a_statement_that_changed_nothing_does_not_find_what_later_ones_have_written() {
    let set = |id: i32, a: i32| doc! {"q": {"_id": id}, "u": {"$set": {"a": a}, "$inc": {"n": 1}}};
    let of_a = |a: i32, set: Map| doc! {"q": {"a": a}, "u": (Value::Map(set))};
    // At first, no document has `a: 5`.
    let first = || of_a(5, doc! {"$inc": {"found": 1}});
    repeats("zoo", &doc! {"update": "pets", "updates": [(first()), (set(1, 5))]});
    repeats("zoo", &doc! {"update": "pets", "updates": [(first()), (first()), (set(1, 5)), (first()), (set(2, 5))]});
    let updates: Vec<Value> = (0..2_500).map(|_| Value::Map(first())).chain([Value::Map(set(1, 5))]).collect();
    repeats("zoo", &doc! {"update": "pets", "updates": (Value::Array(updates))});
    let operations = Value::Array(vec![
        Value::Map(doc! {"update": 0, "filter": {"a": 5}, "updateMods": {"$inc": {"found": 1}}}),
        Value::Map(doc! {"delete": 0, "filter": {"a": 6}}),
        Value::Map(doc! {"insert": 0, "document": {"_id": 1}}),
        Value::Map(doc! {"update": 0, "filter": {"_id": 1}, "updateMods": {"$set": {"a": 5}, "$inc": {"n": 1}}}),
        Value::Map(doc! {"update": 0, "filter": {"_id": 2}, "updateMods": {"$set": {"a": 6}, "$inc": {"n": 1}}}),
    ]);
    let bulk = doc! {"bulkWrite": 1, "ops": operations, "nsInfo": [{"ns": "zoo.pets"}], "ordered": false};
    repeats("admin", &bulk);
}

#[test]
fn a_statement_that_failed_fails_again() {
    // The first insert fails, because a document with its `_id` exists until the delete of the same command removes it.
    let operations = Value::Array(vec![
        Value::Map(doc! {"insert": 0, "document": {"_id": 1, "again": true}}),
        Value::Map(doc! {"delete": 0, "filter": {"_id": 1}}),
        Value::Map(doc! {"update": 0, "filter": {"_id": 2}, "updateMods": {"$inc": {"n": 1}}}),
    ]);
    repeats("admin", &doc! {"bulkWrite": 1, "ops": operations, "nsInfo": [{"ns": "zoo.pets"}], "ordered": false});
    let updates = Value::Array(vec![
        Value::Map(doc! {"q": {"_id": 1}, "u": {"$inc": {"name": 1}}}),
        Value::Map(doc! {"q": {"_id": 2}, "u": {"$push": {"a": 1}}}),
        Value::Map(doc! {"q": {"_id": 2}, "u": {"$set": {"a": [1]}}, "upsert": false}),
        Value::Map(doc! {"q": {"_id": 1}, "u": {"$inc": {"a": 1}}}),
    ]);
    repeats("zoo", &doc! {"update": "pets", "updates": updates, "ordered": false});
    repeats(
        "zoo",
        &doc! {"insert": "pets", "documents": [{"_id": 2}, {"a": 3}, {"_id": 1}, {"a": 4}], "ordered": false},
    );
}

#[test]
fn a_session_that_is_ended_during_a_write_holds_its_repetition_back() {
    let shared = server();
    let session = SessionId::of_command(&Map::from([("lsid", lsid())]), None).unwrap().unwrap();
    let running = shared.sessions.check_out(&session, 1, &AtomicBool::new(false)).unwrap();
    assert!(send(&shared, "zoo", Map::from([("endSessions", Value::Array(vec![lsid()]))])).flag("ok"));
    let mut body = doc! {"insert": "pets", "documents": [{"_id": 1}], "$db": "zoo", "txnNumber": 1};
    body.push("lsid", lsid());
    let request = Request {
        request_id: 1,
        form: Form::Msg,
        body,
        sequences: Vec::new(),
        more_to_come: false,
        exhaust_allowed: false,
    };
    let client = Arc::new(Client::new(1, Peer::socket("test".to_owned()), None));
    // With a client that has disconnected, a write that has to wait ends with an error.
    let answered = execute(&shared, &client, request, None, Arc::new(AtomicBool::new(true))).expect("a reply");
    let answered =
        decode_document(&answered.bytes[alluvium_wire::reply::begin(Form::Msg).len()..]).expect("a document");
    assert_eq!(answered.integer("code"), Some(11601), "it runs beside the write that it repeats: {answered}");
    drop(running);
    assert!(pets(&shared).is_empty());
}

#[test]
fn a_document_of_the_largest_size_is_changed_and_returned_by_a_retryable_write() {
    const LARGEST: usize = 16 << 20;
    let shared = server();
    let around = doc! {"_id": 1, "text": "", "n": 0};
    let text = "x".repeat(LARGEST - alluvium_document::bson::document_size(&around));
    let mut document = around;
    document.insert("text", text);
    shared.db.collection("zoo.pets").insert_one(&document).expect("a document of the largest size");
    for (number, new, n) in [(1, false, 0), (2, true, 2)] {
        let body = doc! {"findAndModify": "pets", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "new": new};
        let first = write(&shared, "zoo", number, &body);
        let repeated = write(&shared, "zoo", number, &body);
        for answer in [&first, &repeated] {
            assert!(answer.flag("ok"), "{:?} {:?}", answer.get("code"), answer.get("errmsg"));
            let value = answer.document("value").expect("the document");
            assert_eq!(value.integer("n"), Some(n), "new: {new}");
            assert_eq!(value.text("text").map(str::len), document.text("text").map(str::len));
        }
        assert!(first.get("value") == repeated.get("value"), "new: {new}");
    }
    let removed = doc! {"findAndModify": "pets", "query": {"_id": 1}, "remove": true};
    for _ in 0..2 {
        let answer = write(&shared, "zoo", 3, &removed);
        assert_eq!(answer.document("value").and_then(|value| value.integer("n")), Some(2));
    }
    assert!(pets(&shared).is_empty());
}
