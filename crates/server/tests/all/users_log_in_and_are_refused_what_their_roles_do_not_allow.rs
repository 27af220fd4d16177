//! Users log in, and are refused what their roles do not allow.

use crate::common::Running;
use alluvium::{Database, Value, doc};
use alluvium_server::Config;

const UNAUTHORIZED: Option<i64> = Some(13);
const FAILED: Option<i64> = Some(18);

// long: one server, from its first user to the audit log of all that was refused
#[test]
fn users_log_in_and_are_refused_what_their_roles_do_not_allow() {
    let dir = tempfile::tempdir().unwrap();
    let audit = dir.path().join("audit.jsonl");
    let db = Database::open(dir.path().join("db")).unwrap();
    let config = Config { audit: Some(audit.clone()), ..Config::default() };
    let served = Running::of(&db, config.clone());
    let mut open = served.client();
    assert_eq!(open.code("a", doc! {"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]}), None);
    let root = doc! {"createUser": "root", "pwd": "secret", "roles": ["root"]};
    assert_eq!(open.code("admin", root.clone()), None);
    // This connection needs a login from here on, too.
    assert_eq!(open.code("a", doc! {"find": "c"}), UNAUTHORIZED);
    assert_eq!(open.code("admin", root), UNAUTHORIZED);
    assert_eq!(open.code("admin", doc! {"ping": 1}), None);

    let mut root = served.client();
    assert_eq!(root.log_in("admin", "root", "wrong"), FAILED);
    assert_eq!(root.log_in("admin", "stranger", "secret"), FAILED);
    assert_eq!(root.log_in("a", "root", "secret"), FAILED);
    assert_eq!(root.log_in("admin", "root", "secret"), None);
    assert_eq!(root.code("a", doc! {"createUser": "writer", "pwd": "w", "roles": ["readWrite"]}), None);
    assert_eq!(root.code("a", doc! {"createUser": "writer", "pwd": "w", "roles": []}), Some(51003));
    assert_eq!(root.code("a", doc! {"createUser": "x", "pwd": "w", "roles": ["unknown"]}), Some(31));

    let mut writer = served.client();
    assert_eq!(writer.log_in("a", "writer", "w"), None);
    assert_eq!(writer.code("a", doc! {"insert": "c", "documents": [{"_id": 3}]}), None);
    assert_eq!(writer.code("b", doc! {"find": "c"}), UNAUTHORIZED);
    assert_eq!(writer.code("admin", doc! {"find": "system.users"}), UNAUTHORIZED);
    assert_eq!(writer.code("a", doc! {"dropDatabase": 1}), UNAUTHORIZED);
    // A pipeline within a stage does not help either.
    let reading = |name: &str| {
        let inner = doc! {"$lookup": {"from": name, "as": "x", "pipeline": []}};
        let union = doc! {"$unionWith": {"coll": "c", "pipeline": [inner]}};
        doc! {"aggregate": "c", "pipeline": [union], "cursor": {}}
    };
    assert_eq!(writer.code("a", reading("d")), None);
    assert_eq!(writer.code("a", reading("system.users")), UNAUTHORIZED);
    let status = writer.run("admin", doc! {"connectionStatus": 1}).to_string();
    assert!(status.contains(r#""authenticatedUsers":[{"user":"writer","db":"a"}]"#), "{status}");

    // Only the user who opened a cursor may use it.
    let cursor = root.run("a", doc! {"find": "c", "batchSize": 1});
    let id = cursor.get("cursor").and_then(|cursor| cursor.as_map()?.get("id").cloned()).unwrap();
    assert_eq!(writer.code("a", doc! {"getMore": (id.clone()), "collection": "c"}), UNAUTHORIZED);
    let killed = writer.run("a", doc! {"killCursors": "c", "cursors": [id.clone()]});
    assert_eq!(killed.get("cursorsNotFound"), Some(&Value::Array(vec![id])));

    // Changes of roles and users apply at once.
    let role = doc! {"createRole": "looker", "roles": [], "privileges": [
        {"resource": {"db": "b", "collection": "c"}, "actions": ["find"]}
    ]};
    assert_eq!(root.code("admin", role), None);
    let grant = doc! {"grantRolesToUser": "writer", "roles": [{"role": "looker", "db": "admin"}]};
    assert_eq!(root.code("a", grant), None);
    assert_eq!(writer.code("b", doc! {"find": "c"}), None);
    assert_eq!(writer.code("b", doc! {"find": "d"}), UNAUTHORIZED);
    assert_eq!(root.code("admin", doc! {"dropRole": "looker"}), None);
    assert_eq!(writer.code("b", doc! {"find": "c"}), UNAUTHORIZED);
    assert_eq!(root.code("a", doc! {"dropUser": "writer"}), None);
    assert_eq!(root.code("a", doc! {"createUser": "writer", "pwd": "w", "roles": ["readWrite"]}), None);
    assert_eq!(writer.code("a", doc! {"find": "c"}), UNAUTHORIZED, "another user of the same name");
    assert_eq!(root.code("admin", doc! {"logout": 1}), None);
    assert_eq!(root.code("a", doc! {"find": "c"}), UNAUTHORIZED);
    drop(served);

    // The users exist after a restart. The checks can be switched off.
    let served = Running::of(&db, config);
    assert_eq!(served.client().code("a", doc! {"find": "c"}), UNAUTHORIZED);
    assert_eq!(served.client().log_in("a", "writer", "w"), None);
    drop(served);
    let served = Running::of(&db, Config { authentication: false, ..Config::default() });
    assert_eq!(served.client().code("a", doc! {"find": "c"}), None);
    #[allow(clippy::disallowed_methods)]
    let lines = std::fs::read_to_string(audit).unwrap();
    let count = |part: &str| lines.lines().filter(|line| line.contains(part)).count();
    assert_eq!(count(r#""event":"login","#), 6, "{lines}");
    assert_eq!(count(r#""result":"AuthenticationFailed""#), 3, "{lines}");
    assert_eq!(count(r#""command":"createUser","namespace":"a.writer","result":"ok""#), 2, "{lines}");
    assert!(count(r#""event":"refused","#) >= 8, "{lines}");
}

#[test]
fn pipelines_in_stages_need_rights_of_their_own() {
    let db = Database::in_memory().unwrap();
    let served = Running::of(&db, Config::default());
    let mut open = served.client();
    assert_eq!(open.code("admin", doc! {"createUser": "root", "pwd": "secret", "roles": ["root"]}), None);
    let mut root = served.client();
    assert_eq!(root.log_in("admin", "root", "secret"), None);
    assert_eq!(root.code("a", doc! {"createUser": "writer", "pwd": "w", "roles": ["readWrite"]}), None);
    let mut writer = served.client();
    assert_eq!(writer.log_in("a", "writer", "w"), None);
    for (name, refusal) in [("d", None), ("system.users", UNAUTHORIZED)] {
        let inner = doc! {"$lookup": {"from": name, "as": "x", "pipeline": []}};
        let union = doc! {"$unionWith": {"coll": "c", "pipeline": [inner]}};
        let reading = doc! {"aggregate": "c", "pipeline": [union], "cursor": {}};
        assert_eq!(writer.code("a", reading), refusal, "{name}");
    }
}

#[test]
fn a_database_without_users_is_not_served_to_other_machines() {
    let db = Database::in_memory().unwrap();
    let listen = vec!["0.0.0.0:0".parse().unwrap()];
    let config = Config { listen, ..Config::default() };
    let error = alluvium_server::Server::bind(&db, config.clone()).err().unwrap();
    assert!(error.to_string().contains("no users"), "{error}");
    assert!(alluvium_server::Server::bind(&db, Config { authentication: false, ..config }).is_ok());
}

#[test]
fn an_address_has_so_many_connections_and_no_more() {
    let db = Database::in_memory().unwrap();
    let served = Running::of(&db, Config { connections_per_address: 2, ..Config::default() });
    let (mut one, mut two) = (served.client(), served.client());
    for client in [&mut one, &mut two] {
        assert_eq!(client.code("a", doc! {"ping": 1}), None);
    }
    assert_eq!(served.client().try_run("a", doc! {"ping": 1}), None);
}

#[test]
fn a_login_that_is_begun_with_another_mechanism_has_no_answer() {
    let db = Database::in_memory().unwrap();
    let served = Running::of(&db, Config::default());
    let mut client = served.client();
    let root = doc! {"createUser": "root", "pwd": "secret", "roles": ["root"], "mechanisms": ["SCRAM-SHA-1"]};
    assert_eq!(client.code("admin", root), None);
    let mut is_answered = |user: &str, mechanism: &str| {
        let payload = format!("n,,n={user},r=0123456789abcdef").into_bytes();
        let payload = Value::Binary(alluvium::Binary { subtype: 0, bytes: payload });
        let begun = doc! {"saslStart": 1, "mechanism": mechanism, "payload": payload, "db": "admin"};
        let hello = doc! {
            "hello": 1, "saslSupportedMechs": (format!("admin.{user}")), "speculativeAuthenticate": begun
        };
        client.run("admin", hello).contains("speculativeAuthenticate")
    };
    assert!(is_answered("root", "SCRAM-SHA-1"));
    // A client that chooses SCRAM-SHA-1 would treat this answer as an answer for SCRAM-SHA-1.
    assert!(!is_answered("root", "SCRAM-SHA-256"));
    // The answer does not reveal that a user does not exist.
    assert!(is_answered("none", "SCRAM-SHA-256"));
}

/// Sends the commands that `mongorestore` sends for the users and roles of a dump.
#[test]
fn users_of_a_dump_are_merged() {
    let db = Database::in_memory().unwrap();
    let served = Running::of(&db, Config { authentication: false, ..Config::default() });
    let mut client = served.client();
    assert_eq!(client.code("a", doc! {"createRole": "looker", "roles": ["read"], "privileges": []}), None);
    assert_eq!(client.code("a", doc! {"createUser": "one", "pwd": "1", "roles": ["looker"]}), None);
    let copied = |from: &str, to: &str| {
        for document in db.collection(&format!("admin.{from}")).find(doc! {}).run().unwrap().map(Result::unwrap) {
            db.collection(&format!("admin.{to}")).put(document.id().clone(), document.to_map().unwrap()).unwrap();
        }
    };
    copied("system.users", "tempusers");
    copied("system.roles", "temproles");
    assert_eq!(client.code("a", doc! {"dropAllUsersFromDatabase": 1}), None);
    assert_eq!(client.code("a", doc! {"dropAllRolesFromDatabase": 1}), None);
    for name in ["other", "one"] {
        assert_eq!(client.code("a", doc! {"createUser": name, "pwd": "2", "roles": []}), None);
    }
    assert_eq!(client.code("b", doc! {"createUser": "apart", "pwd": "2", "roles": []}), None);
    let merge = |drop: bool, db: &str| {
        let (users, roles) = ("admin.tempusers", "admin.temproles");
        doc! {"_mergeAuthzCollections": 1, "tempUsersCollection": users, "tempRolesCollection": roles, "drop": drop, "db": db}
    };
    assert_eq!(client.code("admin", doc! {"_mergeAuthzCollections": 1}), Some(2));
    assert_eq!(client.code("admin", doc! {"_mergeAuthzCollections": 1, "tempUsersCollection": "a.users"}), Some(2));
    let names = || {
        let users = db.collection("admin.system.users").find(doc! {}).run().unwrap();
        users.map(|user| user.unwrap().id().as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // Users of another database are not taken from the dump.
    assert_eq!(client.code("admin", merge(true, "b")), None);
    assert_eq!(names(), ["a.one", "a.other"]);
    assert_eq!(client.code("b", doc! {"createUser": "apart", "pwd": "2", "roles": []}), None);
    assert_eq!(client.code("admin", merge(false, "a")), None);
    assert_eq!(names(), ["a.one", "a.other", "b.apart"]);
    assert_eq!(served.client().log_in("a", "one", "1"), None, "the password of the dump");
    assert_eq!(client.code("admin", merge(true, "")), None);
    assert_eq!(names(), ["a.one"]);
    let roles = db.collection("admin.system.roles").count().unwrap();
    assert_eq!(roles, 1);
    drop(served);
    let served = Running::of(&db, Config::default());
    let mut one = served.client();
    assert_eq!(one.log_in("a", "one", "1"), None);
    assert_eq!(one.code("a", doc! {"find": "c"}), None);
    assert_eq!(one.code("admin", merge(true, "")), UNAUTHORIZED);
}
