//! Users, roles and logins.

use super::{Connection, MINUTE, SECOND, World};
use crate::client::Client;
use crate::config::Config;
use crate::fields::Fields;
use crate::host::Host;
use crate::security::login::Peer;
use crate::security::name::Name;
use alluvium::{Binary, Map, Value, doc};
use alluvium_env::OpenMode;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The built-in roles that `docs/SERVER.md` names: the roles of each database, and the roles of `admin`.
const OF_DATABASES: [&str; 5] = ["read", "readWrite", "dbAdmin", "userAdmin", "dbOwner"];
const OF_ADMIN: [&str; 11] = [
    "readAnyDatabase",
    "readWriteAnyDatabase",
    "dbAdminAnyDatabase",
    "userAdminAnyDatabase",
    "clusterMonitor",
    "clusterManager",
    "hostManager",
    "clusterAdmin",
    "backup",
    "restore",
    "root",
];

/// A server with users on which every command is allowed.
fn administered() -> World {
    let world = World::with(Config { authentication: false, ..Config::default() });
    world.connect().ok("admin", doc! {"createUser": "root", "pwd": "secret", "roles": ["root"]});
    world
}

/// The same server after a power cut. Every command is allowed here, too.
fn after_a_cut(world: &World) -> World {
    World::on(world.cut(), Config { authentication: false, ..Config::default() })
}

/// All users and roles, with all stored fields.
fn kept(world: &World) -> Vec<Map> {
    let connection = world.connect();
    let of = |db: &str, body: Map, field: &str| {
        let reply = connection.ok(db, body);
        let found = reply.elements(field).expect("a list").iter().filter_map(Value::as_map).cloned();
        found.collect::<Vec<_>>()
    };
    let users = doc! {"usersInfo": {"forAllDBs": true}, "showCredentials": true};
    let roles = |db: &str| of(db, doc! {"rolesInfo": 1, "showPrivileges": true}, "roles");
    [of("admin", users, "users"), roles("admin"), roles("zoo")].concat()
}

#[test]
fn changes_of_users_and_roles_are_on_the_disk() {
    let world = administered();
    let connection = world.connect();
    let rights = || doc! {"resource": {"db": "zoo", "collection": ""}, "actions": ["find"]};
    for (db, change) in [
        ("zoo", doc! {"createUser": "keeper", "pwd": "one", "roles": ["read"]}),
        ("zoo", doc! {"updateUser": "keeper", "pwd": "two"}),
        ("zoo", doc! {"grantRolesToUser": "keeper", "roles": ["dbAdmin"]}),
        ("zoo", doc! {"revokeRolesFromUser": "keeper", "roles": ["read"]}),
        ("zoo", doc! {"createRole": "feeder", "privileges": [], "roles": []}),
        ("zoo", doc! {"grantPrivilegesToRole": "feeder", "privileges": [(rights())]}),
        ("zoo", doc! {"grantRolesToRole": "feeder", "roles": ["readWrite"]}),
        ("zoo", doc! {"revokeRolesFromRole": "feeder", "roles": ["readWrite"]}),
        ("zoo", doc! {"revokePrivilegesFromRole": "feeder", "privileges": [(rights())]}),
        ("zoo", doc! {"updateRole": "feeder", "roles": ["read"]}),
        ("zoo", doc! {"dropRole": "feeder"}),
        ("zoo", doc! {"createRole": "cleaner", "privileges": [], "roles": []}),
        ("zoo", doc! {"dropAllRolesFromDatabase": 1}),
        ("zoo", doc! {"dropUser": "keeper"}),
        ("zoo", doc! {"createUser": "guest", "pwd": "three", "roles": []}),
        ("zoo", doc! {"dropAllUsersFromDatabase": 1}),
    ] {
        let before = kept(&world);
        connection.ok(db, change.clone());
        let after = kept(&world);
        assert_ne!(before, after, "{change}");
        assert_eq!(kept(&after_a_cut(&world)), after, "{change}");
    }
}

#[test]
fn passwords_are_not_stored() {
    let world = administered();
    let password = "correct horse battery staple";
    world.connect().ok("zoo", doc! {"createUser": "keeper", "pwd": password, "roles": ["read"]});
    let is_inside = |bytes: &[u8]| bytes.windows(password.len()).any(|part| part == password.as_bytes());
    let fs = &world.shared.env.fs;
    let (mut dirs, mut files, mut names) = (vec![Path::new("db").to_owned()], 0, 0);
    while let Some(dir) = dirs.pop() {
        for entry in fs.list(&dir).expect("a directory") {
            let path = dir.join(&entry.name);
            if entry.is_dir {
                dirs.push(path);
                continue;
            }
            let file = fs.open(&path, OpenMode::Read).expect("a file");
            let mut bytes = vec![0; usize::try_from(file.len().expect("a length")).expect("short")];
            file.read_exact_at(&mut bytes, 0).expect("bytes");
            assert!(!is_inside(&bytes), "{}", path.display());
            names += usize::from(bytes.windows(6).any(|part| part == b"keeper"));
            files += 1;
        }
    }
    assert!(files > 0 && names > 0, "{names} of {files} files have the name: otherwise this proves nothing");
}

#[test]
fn the_built_in_roles_can_be_granted_and_others_made() {
    let world = administered();
    let connection = world.connect();
    let create = |db: &str, role: &str| {
        let body = doc! {"createUser": (format!("of {role}")), "pwd": "x", "roles": [role]};
        connection.run(db, body).integer("code")
    };
    for role in OF_DATABASES {
        assert_eq!((create("zoo", role), create("admin", role)), (None, None), "{role}");
    }
    for role in OF_ADMIN {
        assert_eq!((create("zoo", role), create("admin", role)), (Some(31), None), "{role}");
    }
    let made = doc! {"createRole": "looker", "roles": ["read"], "privileges": [
        {"resource": {"db": "zoo", "collection": "pets"}, "actions": ["insert"]}
    ]};
    connection.ok("zoo", made);
    assert_eq!(create("zoo", "looker"), None);
    // Options that cannot be stored are refused, not ignored.
    let restrictions = || Value::Array(vec![Value::Map(doc! {"clientSource": ["127.0.0.1"]})]);
    for body in [
        doc! {"createUser": "x", "pwd": "x", "roles": [], "authenticationRestrictions": (restrictions())},
        doc! {"updateUser": "root", "authenticationRestrictions": (restrictions())},
        doc! {"createRole": "x", "privileges": [], "roles": [], "authenticationRestrictions": (restrictions())},
    ] {
        let reply = connection.run("admin", body);
        let is_named = reply.text("errmsg").is_some_and(|text| text.contains("authenticationRestrictions"));
        assert!(!reply.flag("ok") && is_named, "{reply}");
    }
}

/// A connection from a network address.
fn from<'a>(world: &'a World, address: &str) -> Connection<'a> {
    let peer = Peer::network(SocketAddr::new(address.parse().expect("an address"), 1), Host::new("localhost", 27017));
    Connection { shared: &world.shared, client: Arc::new(Client::new(1, peer, None)) }
}

fn payload(text: &str) -> Value {
    Value::Binary(Binary { subtype: 0, bytes: text.as_bytes().to_vec() })
}

/// Logs in with a wrong proof. Returns the replies, and the delay of the last reply.
fn guess(world: &World, address: &str, user: &str) -> (Map, Map, Duration) {
    let connection = from(world, address);
    let first = format!("n,,n={user},r=0123456789abcdef");
    let start = doc! {"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": (payload(&first))};
    let begun = connection.ok("admin", start);
    let Some(Value::Binary(challenge)) = begun.get("payload") else { panic!("{begun}") };
    let challenge = String::from_utf8(challenge.bytes.clone()).expect("text");
    let nonce = challenge.split(',').find_map(|part| part.strip_prefix("r=")).expect("a nonce");
    // 32 bytes in base64.
    let last = format!("c=biws,r={nonce},p={}=", "A".repeat(43));
    let proceed = doc! {"saslContinue": 1, "conversationId": 1, "payload": (payload(&last))};
    let refused = connection.fails(18, "admin", proceed);
    let lengths = challenge.split(',').map(|part| (part[..1].to_owned(), Value::from(part.len() as i64)));
    // The salt and the nonce are random. Only their lengths and the number of iterations are compared.
    let count = challenge.split(',').find_map(|part| part.strip_prefix("i=")).expect("a count").to_owned();
    let shape = Map {
        entries: lengths.chain([("count".to_owned(), Value::from(count))]).map(|(a, b)| (a.into(), b)).collect(),
    };
    let without_time = |mut reply: Map| {
        reply
            .entries
            .retain(|(name, _)| !["$clusterTime", "operationTime"].contains(&name.as_str().unwrap_or_default()));
        reply
    };
    (shape, without_time(refused), connection.client.peer.take_delay())
}

#[test]
fn a_login_that_fails_has_one_answer() {
    let world = World::new();
    world.connect().ok("admin", doc! {"createUser": "root", "pwd": "secret", "roles": ["root"]});
    let known = guess(&world, "10.0.0.1", "root");
    let unknown = guess(&world, "10.0.0.2", "stranger");
    assert_eq!(known, unknown);
    // A user who does not exist also has the same salt at each attempt, and all mechanisms.
    let mechanisms = |user: &str| {
        let reply = world.connect().ok("admin", doc! {"hello": 1, "saslSupportedMechs": (format!("admin.{user}"))});
        reply.get("saslSupportedMechs").cloned()
    };
    let all = ["SCRAM-SHA-1", "SCRAM-SHA-256"].map(Value::from).to_vec();
    assert_eq!(
        (mechanisms("root"), mechanisms("stranger")),
        (Some(Value::Array(all.clone())), Some(Value::Array(all)))
    );
}

#[test]
fn after_five_failures_within_a_minute_logins_wait() {
    let world = World::new();
    world.connect().ok("admin", doc! {"createUser": "root", "pwd": "secret", "roles": ["root"]});
    for user in ["root", "stranger"] {
        // Each attempt comes from another address, so that only the attempts of the user are counted.
        let delays: Vec<Duration> = (0..12).map(|n| guess(&world, &format!("10.0.0.{n}"), user).2).collect();
        assert!(delays[..4].iter().all(Duration::is_zero), "{user}: {delays:?}");
        assert!(delays[5..].iter().all(|delay| !delay.is_zero() && *delay <= SECOND), "{user}: {delays:?}");
        assert_eq!(delays[11], SECOND, "{user}");
    }
    for n in 0..6 {
        guess(&world, "10.0.1.1", &format!("user {n}"));
    }
    assert!(!guess(&world, "10.0.1.1", "another").2.is_zero(), "the address counts, too");
    assert!(guess(&world, "10.0.1.2", "another").2.is_zero());
    world.clock.advance(MINUTE + SECOND);
    assert!(guess(&world, "10.0.1.1", "root").2.is_zero(), "they are forgotten after a minute");
}

#[test]
fn a_change_of_roles_applies_to_the_next_command() {
    let world = World::new();
    let root = world.connect();
    root.ok("admin", doc! {"createUser": "root", "pwd": "secret", "roles": ["root"]});
    let log_in = |connection: &Connection<'_>, user: &str, db: &str| {
        let content = world.shared.security.directory.content().expect("users");
        connection.client.peer.log_in(&content, &Name::new(db, user));
    };
    log_in(&root, "root", "admin");
    root.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1}]});
    root.ok("zoo", doc! {"createRole": "looker", "roles": [], "privileges": []});
    root.ok("zoo", doc! {"createUser": "keeper", "pwd": "x", "roles": ["looker"]});
    let keeper = world.connect();
    log_in(&keeper, "keeper", "zoo");
    let find = || doc! {"find": "pets"};
    let privilege = || doc! {"resource": {"db": "zoo", "collection": "pets"}, "actions": ["find"]};
    for (change, is_allowed) in [
        (doc! {"grantPrivilegesToRole": "looker", "privileges": [(privilege())]}, true),
        (doc! {"revokePrivilegesFromRole": "looker", "privileges": [(privilege())]}, false),
        (doc! {"grantRolesToRole": "looker", "roles": ["read"]}, true),
        (doc! {"revokeRolesFromRole": "looker", "roles": ["read"]}, false),
        (doc! {"grantRolesToUser": "keeper", "roles": ["read"]}, true),
        (doc! {"updateUser": "keeper", "roles": []}, false),
        (doc! {"updateUser": "keeper", "roles": ["read"]}, true),
        (doc! {"dropUser": "keeper"}, false),
        (doc! {"createUser": "keeper", "pwd": "x", "roles": ["read"]}, false),
    ] {
        root.ok("zoo", change.clone());
        let expected = if is_allowed { None } else { Some(13) };
        assert_eq!(keeper.run("zoo", find()).integer("code"), expected, "after {change}");
    }
}

#[test]
fn a_lost_password_is_replaced_without_authentication() {
    let world = World::new();
    world.connect().ok("admin", doc! {"createUser": "root", "pwd": "lost", "roles": ["root"]});
    world.connect().fails(13, "admin", doc! {"updateUser": "root", "pwd": "new"});
    let before = kept(&after_a_cut(&world));
    let open = after_a_cut(&world);
    open.connect().ok("admin", doc! {"updateUser": "root", "pwd": "new"});
    assert_ne!(kept(&open), before);
}
