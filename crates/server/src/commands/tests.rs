mod compatibility;
mod registry;

use super::*;
use crate::security::Security;
use crate::security::action::Action;
use crate::security::audit::Audit;
use crate::security::check::Wanted;
use crate::security::directory::Change;
use crate::security::directory::Rules;
use crate::security::login::Peer;
use crate::security::name::Name;
use crate::security::records::{Role, User};
use alluvium::{Database, Map, doc};

/// The security of a server with one user for each list of roles.
struct Fixture {
    security: Security,
}

impl Fixture {
    fn new(users: &[(&str, &[(&str, &str)])]) -> Self {
        let db = Database::in_memory().unwrap();
        // Stores the users directly, as in an older database, whose users may include no administrator.
        let known = db.collection("admin.system.users");
        for (name, roles) in users {
            let roles = roles.iter().map(|(db, role)| Name::new(db, role)).collect();
            let (name, credentials) = (Name::new("admin", name), Vec::new());
            let user = User { name, id: vec![1; 16], credentials, is_external: false, roles, custom_data: None };
            known.put(user.name.id(), user.to_map()).unwrap();
        }
        let audit = Audit::open(&db.as_ref().env, None).unwrap();
        let security = Security::open(&db, Rules { logins: true, certificates: false }, audit).unwrap();
        Self { security }
    }

    fn peer(&self, user: Option<&str>) -> Peer {
        let peer = Peer::socket("test".to_owned());
        if let Some(user) = user {
            peer.log_in(&self.security.directory.content().unwrap(), &Name::new("admin", user));
        }
        peer
    }

    /// The error code if a user may not run a command.
    fn refusal(&self, user: Option<&str>, command: &Command, db: &str, body: &Map) -> Option<i32> {
        let wanted = Wanted { name: command.name, access: command.access, db, body, sequences: &[] };
        self.security.check(&self.peer(user), &wanted).err().map(|error| error.code)
    }
}

/// A body that uses the database `b`. Each command with [`Access::ByFields`] needs an entry here.
fn body(command: &Command) -> Map {
    let name = command.name;
    match name {
        "aggregate" => doc! {(name): "things", "pipeline": []},
        "applyOps" => doc! {(name): [{"op": "i", "ns": "b.things", "o": {"_id": 1}}]},
        "bulkWrite" => {
            doc! {(name): 1, "nsInfo": [{"ns": "b.things"}], "ops": [{"insert": 0, "document": {}}]}
        }
        "createUser" | "updateUser" => doc! {(name): "x", "roles": [{"role": "read", "db": "b"}]},
        "createRole" | "updateRole" => doc! {(name): "x", "roles": [], "privileges": []},
        "dataSize" => doc! {(name): "b.things"},
        "filemd5" => doc! {(name): 1},
        "validateDBMetadata" => doc! {(name): 1, "db": "b"},
        "explain" => doc! {(name): {"find": "things"}},
        "grantPrivilegesToRole" | "revokePrivilegesFromRole" => {
            doc! {(name): "x", "privileges": [{"resource": {"db": "b", "collection": ""}, "actions": ["find"]}]}
        }
        "grantRolesToRole" | "grantRolesToUser" | "revokeRolesFromRole" | "revokeRolesFromUser" => {
            doc! {(name): "x", "roles": [{"role": "read", "db": "b"}]}
        }
        "listCollections" => doc! {(name): 1},
        "listDatabases" => doc! {(name): 1, "authorizedDatabases": false},
        "renameCollection" => doc! {(name): "b.things", "to": "b.others"},
        "cloneCollectionAsCapped" => doc! {(name): "things", "toCollection": "others"},
        "collMod" | "create" | "findAndModify" | "update" => doc! {(name): "things"},
        "_mergeAuthzCollections" => doc! {(name): 1, "tempUsersCollection": "admin.tempusers", "drop": false, "db": ""},
        "rolesInfo" | "usersInfo" => doc! {(name): 1},
        _ => {
            assert!(!matches!(command.access, Access::ByFields(_)), "{name} has no body in this test");
            doc! {(name): "things"}
        }
    }
}

fn database(command: &Command) -> &'static str {
    if command.admin_only { "admin" } else { "b" }
}

#[test]
fn without_a_login_only_open_commands_run() {
    let fixture = Fixture::new(&[("someone", &[])]);
    for command in all() {
        let refusal = fixture.refusal(None, command, database(command), &body(command));
        let expected = (!command.access.is_open()).then_some(13);
        assert_eq!(refusal, expected, "{}", command.name);
    }
}

#[test]
fn users_without_roles_run_nothing_that_needs_one() {
    let fixture = Fixture::new(&[("newcomer", &[]), ("writer", &[("a", "readWrite"), ("a", "dbOwner")])]);
    for command in all().filter(|command| !matches!(command.access, Access::Open | Access::Login)) {
        for user in ["newcomer", "writer"] {
            let refusal = fixture.refusal(Some(user), command, database(command), &body(command));
            assert_eq!(refusal, Some(13), "{} by {user}", command.name);
        }
    }
}

#[test]
fn root_runs_every_command() {
    let fixture = Fixture::new(&[("root", &[("admin", "root")])]);
    for command in all() {
        let refusal = fixture.refusal(Some("root"), command, database(command), &body(command));
        assert_eq!(refusal, None, "{}", command.name);
    }
}

#[test]
fn open_commands_are_these() {
    let open: Vec<&str> = all().filter(|command| command.access.is_open()).map(|command| command.name).collect();
    let expected = [
        "authenticate",
        "buildInfo",
        "connectionStatus",
        "driverOIDTest",
        "endSessions",
        "hello",
        "isMaster",
        "listCommands",
        "logout",
        "ping",
        "saslContinue",
        "saslStart",
        "whatsmyuri",
    ];
    assert_eq!(open, expected);
}

/// True if a user with roles on the database `a` may not run a command there.
fn refused(fixture: &Fixture, user: &str, body: Map) -> bool {
    let name = body.entries[0].0.as_str().unwrap().to_owned();
    let command = find(&name).unwrap();
    let db = if command.admin_only { "admin" } else { "a" };
    fixture.refusal(Some(user), command, db, &body) == Some(13)
}

#[test]
fn pipelines_need_every_collection_that_they_use() {
    let fixture = Fixture::new(&[("reader", &[("a", "read")]), ("writer", &[("a", "readWrite")])]);
    let pipeline = |user: &str, stage: Map| refused(&fixture, user, doc! {"aggregate": "c", "pipeline": [stage]});
    let deep = doc! {"$lookup": {"from": "d", "as": "x", "pipeline": [{"$unionWith": {"coll": "e", "pipeline": [
        {"$graphLookup": {"from": "system.users"}}
    ]}}]}};
    for allowed in [
        doc! {"$match": {}},
        doc! {"$lookup": {"from": "d", "as": "x", "pipeline": []}},
        doc! {"$unionWith": "d"},
        doc! {"$collStats": {}},
        doc! {"$facet": {"one": [{"$lookup": {"from": "d"}}]}},
    ] {
        assert!(!pipeline("reader", allowed.clone()), "{allowed}");
    }
    for refused in [
        deep,
        doc! {"$unionWith": "system.profile"},
        doc! {"$unionWith": {"coll": "system.profile"}},
        doc! {"$facet": {"one": [], "two": [{"$lookup": {"from": "system.users"}}]}},
        doc! {"$lookup": {"from": {"db": "b", "coll": "d"}}},
        doc! {"$out": {"db": "b", "coll": "d"}},
        doc! {"$merge": {"into": {"db": "b", "coll": "d"}}},
        doc! {"$currentOp": {}},
        doc! {"$surprise": {}},
        doc! {"$match": {}, "$out": {"db": "b", "coll": "d"}},
    ] {
        assert!(pipeline("writer", refused.clone()), "{refused}");
        let explained = doc! {"explain": {"aggregate": "c", "pipeline": [refused.clone()]}};
        assert!(super::tests::refused(&fixture, "writer", explained), "{refused}");
        let view = doc! {"create": "v", "viewOn": "c", "pipeline": [refused.clone()]};
        assert!(super::tests::refused(&fixture, "writer", view), "{refused}");
    }
    for written in [doc! {"$out": "d"}, doc! {"$merge": "d"}, doc! {"$merge": {"into": "d"}}] {
        assert!(pipeline("reader", written.clone()), "{written}");
        assert!(!pipeline("writer", written.clone()), "{written}");
    }
}

#[test]
fn writes_need_what_they_do() {
    let fixture = Fixture::new(&[("updater", &[("admin", "updater")]), ("writer", &[("a", "readWrite")])]);
    let privilege = doc! {"resource": {"db": "a", "collection": "c"}, "actions": ["update"]};
    let privileges = crate::security::records::parse_privileges(&[privilege.into()]).unwrap();
    let role = Role { name: Name::new("admin", "updater"), privileges, roles: Vec::new() };
    fixture.security.directory.change(|_| Ok(vec![Change::PutRole(role)])).unwrap();
    let update =
        |upsert: bool| doc! {"update": "c", "updates": [{"q": {}, "u": {}}, {"q": {}, "u": {}, "upsert": upsert}]};
    assert!(!refused(&fixture, "updater", update(false)));
    assert!(refused(&fixture, "updater", update(true)));
    assert!(!refused(&fixture, "writer", update(true)));
    assert!(refused(&fixture, "updater", doc! {"update": "d", "updates": []}));
    assert!(refused(&fixture, "updater", doc! {"findAndModify": "c", "update": {}}));
    assert!(!refused(&fixture, "writer", doc! {"findAndModify": "c", "update": {}, "upsert": true}));
    let bulk = |ops: Map, ns: &str| doc! {"bulkWrite": 1, "ops": [ops], "nsInfo": [{"ns": ns}]};
    assert!(!refused(&fixture, "updater", bulk(doc! {"update": 0}, "a.c")));
    assert!(refused(&fixture, "updater", bulk(doc! {"update": 0, "upsert": true}, "a.c")));
    assert!(refused(&fixture, "updater", bulk(doc! {"insert": 0}, "a.c")));
    assert!(refused(&fixture, "updater", bulk(doc! {"update": 0}, "a.d")));
    assert!(refused(&fixture, "updater", bulk(doc! {"update": 7}, "a.c")));
    assert!(refused(&fixture, "writer", doc! {"renameCollection": "a.c", "to": "b.c"}));
    assert!(!refused(&fixture, "writer", doc! {"renameCollection": "a.c", "to": "a.d", "dropTarget": true}));
}

/// An entry needs the privileges of the same write or command, and an entry with a UUID needs the right to use UUIDs.
#[test]
fn entries_of_a_log_need_what_they_do() {
    let fixture = Fixture::new(&[("writer", &[("a", "readWrite")]), ("reader", &[("a", "read")])]);
    let apply = |entry: Map| doc! {"applyOps": [(entry)]};
    let of_command = |object: Map| apply(doc! {"op": "c", "ns": "a.$cmd", "o": (object)});
    for entry in [
        apply(doc! {"op": "i", "ns": "a.c", "o": {"_id": 1}}),
        apply(doc! {"op": "u", "ns": "a.c", "o": {"x": 1}, "o2": {"_id": 1}}),
        apply(doc! {"op": "d", "ns": "a.c", "o": {"_id": 1}}),
        of_command(doc! {"create": "d"}),
        of_command(doc! {"createIndexes": "c", "key": {"x": 1}, "name": "x_1"}),
        of_command(doc! {"applyOps": [{"op": "i", "ns": "a.c", "o": {"_id": 1}}]}),
    ] {
        assert!(!refused(&fixture, "writer", entry.clone()), "{entry}");
        assert!(refused(&fixture, "reader", entry.clone()), "{entry}");
    }
    for entry in [
        apply(doc! {"op": "n", "ns": "a.c", "o": {}}),
        apply(doc! {"op": "i", "ns": "b.c", "o": {"_id": 1}}),
        apply(doc! {"op": "d", "ns": "a.c", "o": {"_id": 1}, "ui": (Value::from("x"))}),
        of_command(doc! {"dropDatabase": 1}),
        of_command(doc! {"renameCollection": "a.c", "to": "b.c"}),
        of_command(doc! {"applyOps": [{"op": "i", "ns": "b.c", "o": {"_id": 1}}]}),
        apply(doc! {"op": "i", "ns": "a.system.views", "o": {"_id": "a.v", "viewOn": "c", "pipeline": [
            {"$lookup": {"from": {"db": "b", "coll": "d"}}}
        ]}}),
    ] {
        assert!(refused(&fixture, "writer", entry.clone()), "{entry}");
    }
}

#[test]
fn even_root_cannot_write_the_collections_of_users() {
    let fixture = Fixture::new(&[("root", &[("admin", "root")])]);
    let code = |body: Map| {
        let name = body.entries[0].0.as_str().unwrap().to_owned();
        fixture.refusal(Some("root"), find(&name).unwrap(), "admin", &body)
    };
    for body in [
        doc! {"insert": "system.users"},
        doc! {"update": "system.users"},
        doc! {"delete": "system.roles"},
        doc! {"findAndModify": "system.version"},
        doc! {"drop": "system.users"},
        doc! {"create": "system.users"},
        doc! {"createIndexes": "system.users"},
        doc! {"bulkWrite": 1, "ops": [], "nsInfo": [{"ns": "admin.system.users"}]},
        doc! {"renameCollection": "admin.system.users", "to": "admin.mine"},
        doc! {"renameCollection": "admin.mine", "to": "admin.system.users"},
        doc! {"applyOps": [{"op": "i", "ns": "admin.system.users", "o": {"_id": 1}}]},
        doc! {"applyOps": [{"op": "c", "ns": "admin.$cmd", "o": {"drop": "system.users"}}]},
        doc! {"applyOps": [{"op": "c", "ns": "a.$cmd", "o": {"applyOps": [
            {"op": "c", "ns": "admin.$cmd", "o": {"renameCollection": "a.c", "to": "admin.system.users"}}
        ]}}]},
        doc! {"aggregate": "c", "pipeline": [{"$out": "system.users"}]},
        doc! {"aggregate": "c", "pipeline": [{"$merge": "system.roles"}]},
    ] {
        assert_eq!(code(body.clone()), Some(13), "{body}");
    }
    assert_eq!(code(doc! {"find": "system.users"}), None);
    // A client cannot do this either while the server has no users.
    let empty = Fixture::new(&[]);
    let insert = doc! {"insert": "system.users"};
    assert_eq!(empty.refusal(None, find("insert").unwrap(), "admin", &insert), Some(13));
    assert_eq!(empty.refusal(None, find("insert").unwrap(), "admin", &doc! {"insert": "c"}), None);
}

#[test]
fn administrators_of_one_database_cannot_grant_more() {
    let fixture = Fixture::new(&[("keeper", &[("a", "userAdmin")]), ("owner", &[("a", "dbOwner")])]);
    let user = |role: &str, db: &str| doc! {"createUser": "x", "pwd": "x", "roles": [{"role": role, "db": db}]};
    let role = |resource: Map| {
        doc! {"createRole": "x", "roles": [], "privileges": [
            {"resource": resource, "actions": ["find"]}
        ]}
    };
    for name in ["keeper", "owner"] {
        assert!(!refused(&fixture, name, user("read", "a")));
        assert!(refused(&fixture, name, user("read", "b")));
        assert!(refused(&fixture, name, user("root", "admin")));
        assert!(!refused(&fixture, name, role(doc! {"db": "a", "collection": "c"})));
        assert!(refused(&fixture, name, role(doc! {"db": "", "collection": ""})));
        assert!(refused(&fixture, name, role(doc! {"cluster": true})));
        assert!(refused(&fixture, name, role(doc! {"anyResource": true})));
        assert!(refused(&fixture, name, doc! {"updateUser": "x", "roles": ["read"]}));
        assert!(!refused(&fixture, name, doc! {"updateUser": "x", "pwd": "y"}));
        assert!(!refused(&fixture, name, doc! {"usersInfo": 1}));
        assert!(refused(&fixture, name, doc! {"usersInfo": {"forAllDBs": true}}));
        assert!(refused(&fixture, name, doc! {"usersInfo": {"user": "keeper", "db": "b"}}));
        // Users may always see their own entry.
        assert!(!refused(&fixture, name, doc! {"usersInfo": {"user": name, "db": "admin"}}));
    }
}

#[test]
fn actions_have_different_names() {
    for action in Action::ALL {
        assert_eq!(Action::by_name(action.name()), Some(*action));
    }
    assert_eq!(Action::by_name("fly"), None);
}
