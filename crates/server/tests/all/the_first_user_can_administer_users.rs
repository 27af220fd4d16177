//! If users have to log in, they must include an administrator. The server refuses to create a first user who is not an
//! administrator, and the last administrator cannot be removed.

use crate::common::Running;
use alluvium::{Database, Map, Value, doc};
use alluvium_server::Config;

const ILLEGAL: Option<i64> = Some(20);

fn user(name: &str, roles: &[&str]) -> Map {
    let roles: Vec<Value> = roles.iter().map(|role| Value::from(*role)).collect();
    doc! {"createUser": name, "pwd": "secret", "roles": (Value::Array(roles))}
}

#[test]
fn a_first_user_of_another_role_is_refused() {
    let server = Running::new();
    let mut client = server.client();
    for (db, roles) in [
        ("admin", &[][..]),
        ("admin", &["readWriteAnyDatabase", "dbAdminAnyDatabase", "clusterAdmin", "backup"]),
        ("shop", &["dbOwner"]),
        // As in MongoDB, whose localhost exception only allows creating users of `admin`.
        ("shop", &["userAdmin"]),
    ] {
        assert_eq!(client.code(db, user("one", roles)), ILLEGAL, "{db}, {roles:?}");
    }
    let elsewhere = doc! {"createUser": "one", "pwd": "secret", "roles": [{"role": "root", "db": "admin"}]};
    assert_eq!(client.code("shop", elsewhere), ILLEGAL);
    let certificate = doc! {"createUser": "CN=one", "roles": [{"role": "root", "db": "admin"}]};
    assert_eq!(client.code("$external", certificate), ILLEGAL, "without TLS it could not log in");
    // Nothing was written: the connection may still run every command.
    assert_eq!(client.code("shop", doc! {"find": "c"}), None);
    assert_eq!(client.ok("admin", doc! {"usersInfo": {"forAllDBs": true}}).get("users"), Some(&Value::Array(vec![])));
    // Roles do not make logins necessary, and can be created before users.
    let privileges = doc! {"resource": {"db": "admin", "collection": ""}, "actions": ["createUser", "grantRole"]};
    client.ok("admin", doc! {"createRole": "keeper", "roles": [], "privileges": [(privileges)]});
    assert_eq!(client.code("shop", doc! {"find": "c"}), None);

    let reply = client.ok("admin", user("keeper", &["keeper"]));
    let note = reply.get("note").and_then(Value::as_str).unwrap_or_default();
    assert!(note.contains("login"), "{reply}");
    assert_eq!(client.code("shop", doc! {"find": "c"}), Some(13));
    assert_eq!(client.log_in("admin", "keeper", "secret"), None);
    let reply = client.ok("admin", user("other", &[]));
    assert!(!reply.contains("note"), "{reply}");
}

#[test]
fn the_last_administrator_stays() {
    let server = Running::new();
    let mut client = server.client();
    client.ok("admin", doc! {"createRole": "keeper", "roles": ["userAdminAnyDatabase"], "privileges": []});
    client.ok("admin", user("one", &["keeper"]));
    assert_eq!(client.log_in("admin", "one", "secret"), None);
    client.ok("admin", user("reader", &["readAnyDatabase"]));
    for command in [
        doc! {"dropUser": "one"},
        doc! {"updateUser": "one", "roles": ["readAnyDatabase"]},
        doc! {"revokeRolesFromUser": "one", "roles": ["keeper"]},
        doc! {"dropRole": "keeper"},
        doc! {"updateRole": "keeper", "roles": []},
        doc! {"revokeRolesFromRole": "keeper", "roles": ["userAdminAnyDatabase"]},
        doc! {"dropAllRolesFromDatabase": 1},
    ] {
        let shown = command.to_string();
        assert_eq!(client.code("admin", command), ILLEGAL, "{shown}");
    }
    // After another administrator exists, this user can be dropped.
    client.ok("admin", user("two", &["root"]));
    client.ok("admin", doc! {"dropRole": "keeper"});
    let mut two = server.client();
    assert_eq!(two.log_in("admin", "two", "secret"), None);
    two.ok("admin", doc! {"dropUser": "one"});
    assert_eq!(two.code("admin", doc! {"dropUser": "two"}), ILLEGAL);
    // Without users, the server is open to this machine again.
    two.ok("admin", doc! {"dropAllUsersFromDatabase": 1});
    assert_eq!(server.client().code("shop", doc! {"find": "c"}), None);
}

#[test]
fn users_of_a_dump_need_an_administrator_among_them() {
    let db = Database::in_memory().unwrap();
    let server = Running::of(&db, Config { authentication: false, ..Config::default() });
    // If logins are not required, the users need no administrator.
    server.client().ok("shop", user("reader", &["read"]));
    let copied = |to: &str| {
        for document in db.collection("admin.system.users").find(doc! {}).run().unwrap().map(Result::unwrap) {
            db.collection(&format!("admin.{to}")).put(document.id().clone(), document.to_map().unwrap()).unwrap();
        }
    };
    copied("few");
    server.client().ok("admin", user("root", &["root"]));
    copied("all");
    server.client().ok("admin", doc! {"dropAllUsersFromDatabase": 1});
    server.client().ok("shop", doc! {"dropAllUsersFromDatabase": 1});
    drop(server);
    let server = Running::of(&db, Config::default());
    let merge = |users: &str| doc! {"_mergeAuthzCollections": 1, "tempUsersCollection": (format!("admin.{users}")), "drop": true};
    let mut client = server.client();
    assert_eq!(client.code("admin", merge("few")), ILLEGAL);
    assert_eq!(client.code("shop", doc! {"find": "c"}), None);
    assert!(client.ok("admin", merge("all")).contains("note"));
    assert_eq!(client.log_in("admin", "root", "secret"), None);
    assert_eq!(client.code("admin", merge("few")), ILLEGAL);
    drop((client, server));

    // Users without an administrator may be changed, because the change makes nothing worse.
    let server = Running::of(&db, Config { authentication: false, ..Config::default() });
    server.client().ok("admin", doc! {"dropUser": "root"});
    let keeper = doc! {"createRole": "keeper", "roles": ["userAdmin"], "privileges": []};
    server.client().ok("shop", keeper);
    server.client().ok("shop", doc! {"grantRolesToUser": "reader", "roles": ["keeper"]});
    drop(server);
    let server = Running::of(&db, Config::default());
    let mut client = server.client();
    assert_eq!(client.log_in("shop", "reader", "secret"), None);
    client.ok("shop", user("another", &["read"]));
}
