//! Rights that change while cursors are open, and secrets while commands run.

use super::*;
use crate::security::directory::Change;
use crate::security::name::Name;
use crate::security::records::User;
use std::sync::mpsc;

const PASSWORD: &str = "correct horse";

fn put_user(shared: &Shared, roles: &[(&str, &str)]) {
    let user = |name: &str, roles: &[(&str, &str)]| {
        let roles = roles.iter().map(|(db, role)| Name::new(db, role)).collect();
        let (name, credentials) = (Name::new("admin", name), Vec::new());
        Change::Put(User { name, id: vec![1; 16], credentials, is_external: false, roles, custom_data: None })
    };
    // The users have to include an administrator.
    let changes = vec![user("root", &[("admin", "root")]), user("reader", roles)];
    shared.security.directory.change(|_| Ok(changes)).expect("users");
}

/// The reply to a command of the user.
fn reply_to(shared: &Shared, body: Map) -> Map {
    let peer = Peer::socket("test".to_owned());
    peer.log_in(&shared.security.directory.content().expect("users"), &Name::new("admin", "reader"));
    answer(shared, Client::new(1, peer, None), body)
}

fn open_cursor(shared: &Shared, command: Map) -> i64 {
    let reply = reply_to(shared, command);
    let cursor = reply.get("cursor").and_then(Value::as_map).unwrap_or_else(|| panic!("{reply}"));
    let id = cursor.get("id").and_then(Value::as_i64).expect("a number");
    assert_ne!(id, 0, "{reply}");
    id
}

fn code(reply: &Map) -> Option<i64> {
    reply.get("code").and_then(Value::as_i64)
}

#[test]
fn a_cursor_needs_its_rights_at_each_reading() {
    let shared = server();
    fill(&shared);
    let get_more = |id: i64| doc! {"getMore": id, "collection": "pets", "batchSize": 1, "$db": "zoo"};
    let find = || doc! {"find": "pets", "batchSize": 1, "$db": "zoo"};
    let look_up = || {
        doc! {"aggregate": "pets", "cursor": {"batchSize": 0}, "$db": "zoo", "pipeline": [
            {"$lookup": {"from": "text", "localField": "_id", "foreignField": "_id", "as": "texts"}}
        ]}
    };
    put_user(&shared, &[("zoo", "read")]);
    let id = open_cursor(&shared, find());
    assert_eq!(code(&reply_to(&shared, get_more(id))), None);
    // After a change to another role that allows the same, the cursor can still be read.
    let id = open_cursor(&shared, find());
    put_user(&shared, &[("admin", "readAnyDatabase")]);
    assert_eq!(code(&reply_to(&shared, get_more(id))), None);
    for command in [find(), look_up()] {
        let id = open_cursor(&shared, command);
        put_user(&shared, &[("admin", "hostManager")]);
        assert_eq!(code(&reply_to(&shared, get_more(id))), Some(13));
        put_user(&shared, &[("zoo", "read")]);
        // The cursor was closed.
        assert_eq!(code(&reply_to(&shared, get_more(id))), Some(43));
    }
    let collections = open_cursor(&shared, doc! {"listCollections": 1, "cursor": {"batchSize": 1}, "$db": "zoo"});
    put_user(&shared, &[("admin", "hostManager")]);
    let more = doc! {"getMore": collections, "collection": "$cmd.listCollections", "$db": "zoo"};
    assert_eq!(code(&reply_to(&shared, more)), Some(13));
}

/// Runs every command that lists operations, while `createUser` waits for another change of users.
#[test]
#[allow(clippy::disallowed_methods, reason = "threads of the system")]
fn a_password_is_shown_nowhere() {
    let shared = server();
    shared.slow.set_level("admin", Level::All);
    shared.slow.set_threshold_ms(0);
    let create = || {
        doc! {"createUser": "reader", "pwd": PASSWORD, "roles": ["root"], "comment": "as it was typed", "$db": "admin"}
    };
    let client = || Client::new(1, Peer::socket("test".to_owned()), None);
    let (begun, has_begun) = mpsc::channel();
    let (end, may_end) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        // The sender is dropped with the scope, so that a failure below ends the waiting thread.
        let (shared, end) = (&shared, end);
        scope.spawn(move || {
            let wait = |_: &_| {
                begun.send(()).expect("a receiver");
                let _ended = may_end.recv();
                Ok(Vec::new())
            };
            shared.security.directory.change(wait).expect("no change");
        });
        has_begun.recv().expect("a sender");
        let creating = scope.spawn(move || answer(shared, client(), create()));
        let listed = loop {
            let current = answer(shared, client(), doc! {"currentOp": 1, "$db": "admin"});
            let listed = Value::Map(current).to_string();
            if listed.contains("createUser") {
                break listed;
            }
            std::thread::yield_now();
        };
        assert!(!listed.contains(PASSWORD) && listed.contains("as it was typed"), "{listed}");
        end.send(()).expect("a receiver");
        let created = creating.join().expect("a reply");
        assert_eq!(code(&created), None, "{created}");
    });
    let profiled = shared.slow.entries("admin");
    let profiled = profiled.iter().map(|entry| Value::Map(entry.clone()).to_string()).collect::<String>();
    assert!(profiled.contains("createUser") && !profiled.contains(PASSWORD), "{profiled}");
    let log = shared.log.get();
    assert!(!log.lines.iter().any(|line| line.contains(PASSWORD)));
}

/// The audit log names the command and the user, for every command that creates a user.
#[test]
fn every_way_to_make_a_user_is_audited() {
    let db = Database::in_memory().expect("a database");
    let env = db.as_ref().env.clone();
    let path = std::path::Path::new("audit.jsonl");
    let audit = Audit::open(&env, Some(path)).expect("a file");
    let shared = server_with(db, audit);
    let client = || Client::new(1, Peer::socket("test".to_owned()), None);
    let user = doc! {"_id": "admin.mallory", "user": "mallory", "db": "admin", "credentials": {}, "roles": [
        {"role": "root", "db": "admin"}
    ], "userId": Binary { subtype: 4, bytes: vec![1; 16] }};
    shared.db.collection("admin.tempusers").put("admin.mallory", user).expect("a document");
    let merge = doc! {"_mergeAuthzCollections": 1, "tempUsersCollection": "admin.tempusers", "$db": "admin"};
    let merged = answer(&shared, client(), merge);
    assert_eq!(code(&merged), None, "{merged}");
    assert!(shared.security.directory.has_users());
    let file = env.fs.open(path, alluvium_env::OpenMode::ReadWrite).expect("the log");
    let mut bytes = vec![0; usize::try_from(file.len().expect("its length")).expect("a short log")];
    file.read_at(&mut bytes, 0).expect("the lines");
    let lines = String::from_utf8(bytes).expect("text");
    assert!(lines.contains("_mergeAuthzCollections") && lines.contains("admin.mallory"), "{lines}");
}
