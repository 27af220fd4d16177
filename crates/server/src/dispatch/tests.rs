//! Sends every command with every type of value in every field. The result must be success or an error with a MongoDB
//! code, and never an internal fault.

mod codes;
mod limits;
mod plans;
mod power_cuts;
mod repetitions;
mod rights;
mod unsendable;

use super::*;
use crate::config::Config;
use crate::fields::{self, Field, Kind};
use crate::replica_set::ReplicaSet;
use crate::security::Security;
use crate::security::audit::Audit;
use crate::security::directory::Rules;
use crate::security::login::Peer;
use crate::slow::Level;
use alluvium::{Binary, Code, Database, Double, Regex, Timestamp, doc};
use alluvium_document::bson::decode_document;
use alluvium_wire::Form;
use alluvium_wire::reply::begin;
use std::collections::BTreeMap;

/// Error codes that mean a fault of the server, not an error of the client.
const FAULTS: [i64; 2] = [1, 8];

/// A value of each type.
fn values() -> Vec<Value> {
    let code = Code { code: "f()".into(), scope: None };
    vec![
        Value::Null,
        Value::Bool(true),
        Value::Int32(1),
        Value::Int32(-1),
        Value::Int64(i64::MAX),
        Value::Int64(i64::MIN),
        Value::Double(Double(1.5)),
        Value::Double(Double(f64::NAN)),
        Value::Double(Double(-f64::INFINITY)),
        Value::Decimal("1e6000".parse().expect("a number")),
        Value::from(""),
        Value::from("text"),
        Value::from("a\0b"),
        Value::from("$a..b"),
        Value::Binary(Binary { subtype: 4, bytes: vec![1; 16] }),
        Value::Array(vec![]),
        Value::Array(vec![Value::Int32(1)]),
        Value::Array(vec![Value::Map(Map::new())]),
        Value::Array(vec![Value::Map(doc! {"$nonsense": 1})]),
        Value::Map(Map::new()),
        Value::Map(doc! {"a": 1}),
        Value::Map(doc! {"$nonsense": 1}),
        Value::Map(doc! {"": {"": []}}),
        Value::ObjectId([7; 12]),
        Value::DateTime(i64::MIN),
        Value::Timestamp(Timestamp { time: 1, increment: 1 }),
        Value::Regex(Box::new(Regex { pattern: "(".into(), options: "q".into() })),
        Value::MinKey,
        Value::MaxKey,
        Value::Undefined,
        Value::Code(Box::new(code)),
        Value::Symbol("symbol".into()),
    ]
}

/// A value that a field accepts.
fn good(kind: Kind) -> Value {
    match kind {
        Kind::Any
        | Kind::Text
        | Kind::Collection
        | Kind::Hint
        | Kind::IndexNames
        | Kind::CollectionOrNumber
        | Kind::FlagOrText => Value::from("pets"),
        Kind::Flag | Kind::Bool | Kind::BoolOrUuid => Value::Bool(false),
        Kind::Integer | Kind::Limit | Kind::Int32 | Kind::Number => Value::Int32(1),
        Kind::Int64 => Value::Int64(1),
        Kind::Document | Kind::Change => Value::Map(Map::new()),
        Kind::Array | Kind::Documents => Value::Array(vec![]),
    }
}

/// A command with its required fields, and one field with a given value.
fn body(command: &Command, field: &str, value: &Value) -> Map {
    let argument = command.fields.iter().find(|field| field.name == command.name);
    let mut body = Map::from([(command.name, argument.map_or(Value::Int32(1), |field| good(field.kind)))]);
    for required in command.fields.iter().filter(|field| field.required) {
        body.insert(required.name, good(required.kind));
    }
    body.insert("$db", if command.admin_only { "admin" } else { "zoo" });
    body.insert(field, value.clone());
    body
}

/// The reply to a client that has not logged in.
fn reply(shared: &Shared, body: Map) -> Map {
    answer(shared, Client::new(1, Peer::socket("test".to_owned()), None), body)
}

/// The reply without its header; empty if the client expects no reply.
fn answer(shared: &Shared, client: Client, body: Map) -> Map {
    let request = Request {
        request_id: 1,
        form: Form::Msg,
        body,
        sequences: Vec::new(),
        more_to_come: false,
        exhaust_allowed: false,
    };
    match execute(shared, &Arc::new(client), request, None, Arc::new(AtomicBool::new(false))) {
        Some(Reply { bytes, .. }) => decode_document(&bytes[begin(Form::Msg).len()..]).expect("a document"),
        None => Map::new(),
    }
}

fn server() -> Shared {
    let db = Database::in_memory().expect("a database");
    let audit = Audit::open(&db.as_ref().env, None).expect("no file");
    server_with(db, audit)
}

fn server_with(db: Database, audit: Audit) -> Shared {
    server_of(db, Config::default(), audit)
}

/// A server with this configuration, without listeners.
pub(crate) fn server_of(db: Database, config: Config, audit: Audit) -> Shared {
    let rules = Rules { logins: config.authentication, certificates: false };
    let security = Security::open(&db, rules, audit).expect("no damaged users");
    let set = ReplicaSet::open(&db, &config).expect("no damaged configuration");
    Shared::new(db, config, "localhost:27017", set, security, None).expect("no damaged settings")
}

/// Restores the documents, which a command may have removed.
fn fill(shared: &Shared) {
    for name in ["zoo.pets", "zoo.text"] {
        let collection = shared.db.collection(name);
        // The drop also removes a validator that a command has set. The collection may be missing.
        let _dropped = collection.drop();
        for document in [doc! {"_id": 1, "a": 1}, doc! {"_id": 2, "a": [1, 2]}] {
            let id = document.get("_id").cloned().unwrap_or_default();
            collection.put(id, document).expect("a document");
        }
    }
}

#[test]
fn every_type_in_every_field_is_accepted_or_refused() {
    let shared = server();
    let (mut wrong, mut accepted, mut refused) = (BTreeMap::new(), 0, 0);
    for command in commands::all() {
        fill(&shared);
        let common = fields::COMMON.iter().filter(|field| field.name != "$db");
        let fields: Vec<&Field> = command.fields.iter().chain(common).collect();
        for field in fields {
            for value in values() {
                let reply = reply(&shared, body(command, field.name, &value));
                let (ok, code) = (reply.flag("ok"), reply.integer("code"));
                let is_missing = matches!(value, Value::Null | Value::Undefined);
                let may_be_missing = is_missing && !field.required && !field.refuses_null;
                let must_fail = !(field.kind.accepts(&value) || may_be_missing);
                (accepted, refused) = (accepted + u32::from(ok), refused + u32::from(!ok));
                let is_good = match ok {
                    true => !must_fail,
                    false => code.is_some_and(|code| !FAULTS.contains(&code)) || reply.is_empty(),
                };
                if !is_good {
                    wrong.insert(format!("{}.{}: {value}", command.name, field.name), reply.to_string());
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong replies: {wrong:#?}", wrong.len());
    assert!(accepted > 1_000 && refused > 10_000, "{accepted} accepted, {refused} refused");
}

/// Old drivers send commands by other names; for example, txmongo 26.0.0 sends `deleteIndexes`.
#[test]
fn a_command_by_another_name_has_its_reply() {
    let code = |command: &Command, name: &str| {
        let shared = server();
        fill(&shared);
        let mut body = body(command, command.name, &body(command, "$db", &"zoo".into()).entries[0].1);
        body.entries[0].0 = name.into();
        let reply = reply(&shared, body);
        (reply.flag("ok"), reply.integer("code"))
    };
    for command in commands::all() {
        for name in command.aliases {
            assert_eq!(code(command, name), code(command, command.name), "{name}");
        }
    }
}

#[test]
fn every_type_in_every_statement_is_accepted_or_refused() {
    let shared = server();
    fill(&shared);
    let statements = [
        ("update", "updates", doc! {"q": {}, "u": {"$set": {"a": 1}}}),
        ("delete", "deletes", doc! {"q": {"none": 1}, "limit": 0}),
        ("createIndexes", "indexes", doc! {"key": {"a": 1}, "name": "a_1"}),
        ("insert", "documents", doc! {"a": 1}),
    ];
    let fields = [
        "q",
        "u",
        "c",
        "multi",
        "upsert",
        "arrayFilters",
        "hint",
        "collation",
        "sort",
        "limit",
        "key",
        "name",
        "unique",
        "sparse",
        "expireAfterSeconds",
        "partialFilterExpression",
        "hidden",
        "v",
        "ns",
        "weights",
        "_id",
        "",
        "$a",
    ];
    let mut wrong = BTreeMap::new();
    for (command, array, statement) in &statements {
        for field in fields {
            for value in values() {
                let mut statement = statement.clone();
                statement.insert(field, value.clone());
                let statement = Value::Array(vec![Value::Map(statement)]);
                let body =
                    Map::from([(*command, Value::from("pets")), (*array, statement), ("$db", Value::from("zoo"))]);
                let reply = reply(&shared, body);
                let errors = reply.elements("writeErrors").unwrap_or_default().iter().filter_map(Value::as_map);
                let codes: Vec<i64> = errors.chain([&reply]).filter_map(|error| error.integer("code")).collect();
                let failed = !reply.flag("ok") && codes.is_empty();
                if failed || codes.iter().any(|code| FAULTS.contains(code)) {
                    wrong.insert(format!("{command}.{array}.{field}: {value}"), reply.to_string());
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong replies: {wrong:#?}", wrong.len());
}
