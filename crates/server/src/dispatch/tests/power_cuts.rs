//! The effects of a command survive a power cut right after its reply, if the client asked for durability. The test
//! runs every command in the registry that writes.

use super::*;
use crate::host::SetName;
use alluvium::kv::Options;
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::{Env, ManualClock, SeededRng};

/// A command under test, and the commands that run before it. The earlier commands do not wait for the disk.
struct Case {
    before: Vec<(&'static str, Map)>,
    db: &'static str,
    body: Map,
    /// True if the earlier commands are synced to the disk.
    synced: bool,
    /// True if the reply is an error.
    fails: bool,
    /// True if the command always waits for the disk, even if the client does not ask for it.
    always: bool,
}

impl Case {
    fn new(db: &'static str, body: Map) -> Self {
        Self { before: Vec::new(), db, body, synced: false, fails: false, always: false }
    }

    fn after(self, before: impl IntoIterator<Item = (&'static str, Map)>) -> Self {
        Self { before: before.into_iter().collect(), ..self }
    }

    /// As [`Case::after`], for earlier commands that are synced to the disk.
    fn after_synced(self, before: impl IntoIterator<Item = (&'static str, Map)>) -> Self {
        Self { synced: true, ..self.after(before) }
    }

    fn failing(self) -> Self {
        Self { fails: true, ..self }
    }

    fn always(self) -> Self {
        Self { always: true, ..self }
    }
}

/// Documents for the cases.
fn pets() -> (&'static str, Map) {
    ("zoo", doc! {"insert": "pets", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}]})
}

fn index() -> (&'static str, Map) {
    ("zoo", doc! {"createIndexes": "pets", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})
}

fn view() -> (&'static str, Map) {
    ("zoo", doc! {"create": "view", "viewOn": "pets", "pipeline": []})
}

fn capped() -> (&'static str, Map) {
    ("zoo", doc! {"create": "log", "capped": true, "size": 4096})
}

fn role() -> (&'static str, Map) {
    ("zoo", doc! {"createRole": "keeper", "roles": ["read"], "privileges": []})
}

fn user() -> (&'static str, Map) {
    ("zoo", doc! {"createUser": "ada", "pwd": "secret", "roles": ["read"]})
}

/// The configuration of a replica set.
fn set(version: i32) -> Map {
    doc! {"_id": "rs1", "version": version, "members": [{"_id": 0, "host": "b.example:27017"}]}
}

fn insert(id: i32) -> Map {
    doc! {"insert": "pets", "documents": [{"_id": id}]}
}

fn of_transaction(mut body: Map) -> Map {
    let id = Binary { subtype: 4, bytes: vec![1; 16] };
    body.push("lsid", Map::from([("id", Value::Binary(id))]));
    body.push("txnNumber", Value::Int64(1));
    body.push("autocommit", false);
    body
}

/// The first statement of a transaction.
fn first_insert() -> (&'static str, Map) {
    let mut body = of_transaction(insert(5));
    body.push("startTransaction", true);
    ("zoo", body)
}

fn update(update: Map, upsert: bool) -> Map {
    doc! {"update": "pets", "updates": [{"q": {"_id": 1}, "u": (Value::Map(update)), "upsert": upsert}]}
}

/// A pipeline with this stage over some of `pets`.
fn aggregate(stage: Map) -> Map {
    doc! {"aggregate": "pets", "pipeline": [{"$match": {"_id": 1}}, (Value::Map(stage))], "cursor": {}}
}

// long: a table of commands
/// The requests that test a command which writes. The list is empty for a command that stores nothing; its line states
/// the reason.
fn cases(name: &str) -> Vec<Case> {
    let privilege = || doc! {"resource": {"db": "zoo", "collection": ""}, "actions": ["insert"]};
    let zoo = |body: Map| Case::new("zoo", body);
    let of_role = |body: Map| zoo(body).after([role()]).always();
    let of_user = |body: Map| zoo(body).after([role(), user()]).always();
    match name {
        "_mergeAuthzCollections" => {
            let role = doc! {"_id": "zoo.vet", "role": "vet", "db": "zoo", "privileges": [], "roles": []};
            let insert = doc! {"insert": "temproles", "documents": [(Value::Map(role))]};
            let body = doc! {(name): 1, "tempRolesCollection": "admin.temproles", "drop": false, "db": ""};
            vec![Case::new("admin", body).after([("admin", insert)]).always()]
        }
        "aggregate" => vec![
            zoo(aggregate(doc! {"$out": "new"})).after([pets()]),
            zoo(aggregate(doc! {"$out": "pets"})).after([index(), pets()]),
            zoo(aggregate(doc! {"$out": {"db": "other", "coll": "new"}})).after([pets()]),
            zoo(aggregate(doc! {"$merge": "new"})).after([pets()]),
            zoo(aggregate(doc! {"$merge": {"into": "pets", "whenMatched": "keepExisting"}})).after([pets()]),
        ],
        "applyOps" => {
            let body = |entry: Map| Case::new("admin", doc! {(name): [(Value::Map(entry))]});
            let apply = |entry: Map| body(entry).after([pets()]);
            let of_command = |object: Map| body(doc! {"op": "c", "ns": "zoo.$cmd", "o": (object)});
            let delta = doc! {"$v": 2, "diff": {"i": {"b": 1}}};
            vec![
                apply(doc! {"op": "i", "ns": "zoo.pets", "o": {"_id": 7}}),
                apply(doc! {"op": "u", "ns": "zoo.pets", "o": (delta), "o2": {"_id": 1}}),
                apply(doc! {"op": "d", "ns": "zoo.pets", "o": {"_id": 1}}),
                of_command(doc! {"create": "others"}).after([pets()]),
                of_command(doc! {"drop": "pets"}).after_synced([pets()]),
            ]
        }
        "bulkWrite" => {
            let namespaces = || Value::Array(vec![Value::Map(doc! {"ns": "zoo.pets"})]);
            let with = |operation: Map| doc! {(name): 1, "ops": [(Value::Map(operation))], "nsInfo": (namespaces())};
            let insert = || doc! {"insert": 0, "document": {"_id": 1}};
            let update = || doc! {"update": 0, "filter": {"_id": 1}, "updateMods": {"$set": {"a": 1}}, "upsert": true};
            vec![
                Case::new("admin", with(insert())),
                Case::new("admin", with(update())),
                Case::new("admin", with(update())).after([pets()]),
                Case::new("admin", with(insert())).after([pets()]),
            ]
        }
        "cloneCollectionAsCapped" => {
            vec![zoo(doc! {(name): "pets", "toCollection": "log", "size": 4096}).after([pets()])]
        }
        "collMod" => vec![
            zoo(doc! {(name): "pets", "validator": {"a": 1}}).after([pets()]),
            zoo(doc! {(name): "pets", "index": {"name": "a_1", "hidden": true}}).after([pets(), index()]),
            zoo(doc! {(name): "log", "cappedSize": 8192}).after([capped()]),
            zoo(doc! {(name): "view", "viewOn": "others", "pipeline": []}).after([view()]),
        ],
        "convertToCapped" => vec![zoo(doc! {(name): "pets", "size": 4096}).after([pets()])],
        "commitTransaction" => vec![
            Case::new("admin", of_transaction(doc! {(name): 1})).after([first_insert()]),
            Case::new("admin", of_transaction(doc! {(name): 1})).after([pets(), first_insert()]),
        ],
        // It stores nothing.
        "abortTransaction" => Vec::new(),
        "create" => vec![
            zoo(doc! {(name): "pets"}),
            zoo(doc! {(name): "pets", "validator": {"a": 1}, "collation": {"locale": "de"}}),
            zoo(capped().1),
            zoo(view().1),
            zoo(doc! {(name): "pets"}).after([("zoo", doc! {"create": "pets"})]),
            zoo(view().1).after([view()]).failing(),
        ],
        "createIndexes" => {
            vec![
                zoo(index().1),
                zoo(index().1).after([("zoo", doc! {"create": "pets"})]),
                zoo(index().1).after([index()]),
            ]
        }
        "createRole" => vec![zoo(role().1).always()],
        "createUser" => vec![zoo(user().1).always()],
        "delete" => {
            let delete = || doc! {(name): "pets", "deletes": [{"q": {"_id": 1}, "limit": 1}]};
            vec![zoo(delete()).after([pets()]), zoo(delete()).after([pets(), ("zoo", delete())])]
        }
        "drop" => {
            vec![zoo(doc! {(name): "pets"}).after_synced([pets()]), zoo(doc! {(name): "view"}).after_synced([view()])]
        }
        "dropAllRolesFromDatabase" => vec![of_role(doc! {(name): 1})],
        "dropAllUsersFromDatabase" => vec![of_user(doc! {(name): 1})],
        "dropDatabase" => vec![zoo(doc! {(name): 1}).after_synced([pets(), view(), capped()])],
        "dropIndexes" => vec![
            zoo(doc! {(name): "pets", "index": "a_1"}).after([index()]),
            zoo(doc! {(name): "pets", "index": "*"}).after([index()]),
        ],
        "dropRole" => vec![of_role(doc! {(name): "keeper"})],
        "dropUser" => vec![of_user(doc! {(name): "ada"})],
        "findAndModify" => {
            let set = || doc! {(name): "pets", "query": {"_id": 1}, "update": {"$set": {"a": 1}}, "upsert": true};
            vec![
                zoo(set()),
                zoo(set()).after([pets()]),
                zoo(doc! {(name): "pets", "query": {"_id": 1}, "remove": true}).after([pets()]),
                zoo(doc! {(name): "pets", "query": {"_id": 1}, "update": {"$inc": {"a": 1}}}).after([pets()]),
            ]
        }
        "grantPrivilegesToRole" => vec![of_role(doc! {(name): "keeper", "privileges": [(Value::Map(privilege()))]})],
        "revokePrivilegesFromRole" => {
            let grant = doc! {"grantPrivilegesToRole": "keeper", "privileges": [(Value::Map(privilege()))]};
            let body = doc! {(name): "keeper", "privileges": [(Value::Map(privilege()))]};
            vec![zoo(body).after([role(), ("zoo", grant)]).always()]
        }
        "grantRolesToRole" => vec![of_role(doc! {(name): "keeper", "roles": ["readWrite"]})],
        "revokeRolesFromRole" => vec![of_role(doc! {(name): "keeper", "roles": ["read"]})],
        "grantRolesToUser" => vec![of_user(doc! {(name): "ada", "roles": ["keeper"]})],
        "revokeRolesFromUser" => vec![of_user(doc! {(name): "ada", "roles": ["read"]})],
        "insert" => vec![
            zoo(insert(1)),
            zoo(insert(3)).after([pets()]),
            // The error of a duplicate key depends on the other document.
            zoo(insert(1)).after([pets()]),
            zoo(doc! {"insert": "pets", "documents": [{"_id": 3}, {"_id": 3}], "ordered": false}).after([pets()]),
        ],
        "reIndex" => vec![zoo(doc! {(name): "pets"}).after([pets(), index()]).always()],
        "renameCollection" => vec![
            Case::new("admin", doc! {(name): "zoo.pets", "to": "zoo.others"}).after([pets()]),
            Case::new("admin", doc! {(name): "zoo.pets", "to": "other.pets"}).after([pets()]),
            Case::new("admin", doc! {(name): "zoo.pets", "to": "zoo.log", "dropTarget": true})
                .after([pets(), capped()]),
        ],
        "update" => vec![
            zoo(update(doc! {"$set": {"b": 1}}, false)).after([pets()]),
            zoo(update(doc! {"$set": {"b": 1}}, true)),
            // The update changes nothing, and the reply says so.
            zoo(update(doc! {"$set": {"a": 1}}, false)).after([pets()]),
            zoo(update(doc! {"_id": 1, "a": 1}, false)).after([pets()]),
            zoo(doc! {"update": "pets", "updates": [{"q": {}, "u": {"$set": {"a": 2}}, "multi": true}]})
                .after([pets()]),
        ],
        "updateRole" => vec![of_role(doc! {(name): "keeper", "roles": []})],
        "updateUser" => vec![of_user(doc! {(name): "ada", "roles": []})],
        "replSetInitiate" => vec![Case::new("admin", doc! {(name): (Value::Map(set(1)))}).always()],
        "replSetReconfig" => {
            let initiate = ("admin", doc! {"replSetInitiate": (Value::Map(set(1)))});
            vec![Case::new("admin", doc! {(name): (Value::Map(set(2)))}).after_synced([initiate]).always()]
        }
        "setDefaultRWConcern" => {
            vec![Case::new("admin", doc! {(name): 1, "defaultWriteConcern": {"w": 1, "j": true}}).always()]
        }
        "setFeatureCompatibilityVersion" => vec![Case::new("admin", doc! {(name): "8.2", "confirm": true}).always()],
        // This command only changes a running build.
        "setIndexCommitQuorum" => Vec::new(),
        // These commands are refused, because no collection is encrypted.
        "cleanupStructuredEncryptionData" | "compactStructuredEncryptionData" => Vec::new(),
        _ => panic!("{name} writes, and has no case here: its answers must survive a power cut"),
    }
}

/// The way in which a client asks for durability.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Concern {
    Without,
    Synced,
    Majority,
    ByDefault,
}

fn open(mem: &Arc<MemFs>) -> Database {
    let env = Env { fs: mem.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(3)) };
    // The log is synced only by commands that ask for it, not by a timer or by background work.
    let options = Options { partitions: Some(1), background: false, ..Options::default() };
    Database::builder().env(env).options(options).open("db").expect("a database")
}

/// The collections, options, indexes, documents and views of a database.
fn content(db: &Database) -> Vec<String> {
    let mut lines = Vec::new();
    for info in db.collections() {
        let name = format!("{}.{}", info.database, info.name);
        let collection = db.collection(&name);
        lines.push(format!("{name} {}", collection.options().expect("options")));
        lines.extend(collection.indexes().expect("indexes").iter().map(|index| format!("{name} {}", index.definition)));
        let documents = collection.find(Map::new()).sort(doc! {"_id": 1}).run().expect("a cursor");
        lines.extend(documents.map(|document| format!("{name} {}", document.expect("a document"))));
    }
    lines.extend(db.views().into_iter().map(|(name, view)| format!("{name} {}", view.to_map())));
    lines
}

/// Runs a case. Returns the content of the database, and its content after a power cut right after the reply.
fn run(name: &str, case: &Case, concern: Concern) -> (Vec<String>, Vec<String>) {
    let mem = Arc::new(MemFs::new());
    let db = open(&mem);
    let audit = Audit::open(&db.as_ref().env, None).expect("no file");
    // Members of a replica set refuse `reIndex`.
    let replica_set = (name != "reIndex").then_some(SetName::OfDatabase);
    let config = Config { replica_set, authentication: false, ..Config::default() };
    let shared = server_of(db.clone(), config, audit);
    let send = |db: &str, body: &Map, fails: bool| {
        let mut body = body.clone();
        body.push("$db", db);
        let shown = body.to_string();
        let reply = reply(&shared, body);
        assert_eq!(reply.flag("ok"), !fails, "{shown}: {reply}");
    };
    for (db, body) in &case.before {
        send(db, body, false);
    }
    if case.synced {
        db.sync().expect("a sync");
    }
    let mut body = case.body.clone();
    match concern {
        Concern::Without => {}
        Concern::Synced => body.push("writeConcern", doc! {"j": true}),
        Concern::Majority => body.push("writeConcern", doc! {"w": "majority"}),
        Concern::ByDefault => {
            send("admin", &doc! {"setDefaultRWConcern": 1, "defaultWriteConcern": {"w": "majority"}}, false);
        }
    }
    send(case.db, &body, case.fails);
    let cut = Arc::new(mem.crash_clone(u64::MAX, CrashStyle::AllLost));
    (content(&db), content(&open(&cut)))
}

#[test]
fn what_a_command_answered_survives_a_power_cut() {
    for command in commands::all().filter(|command| command.may_write()) {
        for case in cases(command.name) {
            for concern in [Concern::Synced, Concern::Majority, Concern::ByDefault] {
                if concern == Concern::ByDefault && command.name == "reIndex" {
                    continue;
                }
                let (answered, kept) = run(command.name, &case, concern);
                assert_eq!(answered, kept, "{concern:?}: {}", case.body);
            }
            if !case.always {
                let (answered, kept) = run(command.name, &case, Concern::Without);
                assert_ne!(answered, kept, "synced without being asked, so that this proves nothing: {}", case.body);
            }
        }
    }
}
