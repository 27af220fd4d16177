//! Plain keys and values, and sorted sets of values under a key, in the store on which collections
//! are built.
//!
//! ```text
//! cargo run --release -p alluvium --example keyvalue
//! ```

#![allow(clippy::disallowed_methods, reason = "a small program of its own")]

use alluvium_store::{Durability, Options, Store, ValuesOf};

fn main() -> alluvium_store::Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("kv");
    let store = Store::open(alluvium_env::Env::os(), &path, Options::default())?;
    let trees = store.create_trees(&[b"sessions"])?;
    let sessions = trees[0];

    let mut batch = store.batch();
    for user in 0..1000_u32 {
        batch.put(sessions, &user.to_be_bytes(), format!("session of {user}").as_bytes());
    }
    store.write(batch, Durability::Sync)?;
    let mut value = Vec::new();
    assert!(store.get(sessions, &7_u32.to_be_bytes(), &mut value)?);
    println!("{}", String::from_utf8_lossy(&value));

    // Many values under one key, sorted, added and removed one by one.
    let followers = store.create_multivalue_tree(b"followers")?;
    let mut batch = store.batch();
    for follower in ["grace", "linus", "ada"] {
        batch.put_value(followers, b"rex", follower.as_bytes());
    }
    store.write(batch, Durability::Periodic)?;
    let values = store.multivalue(followers)?;
    let mut stream = values.values(ValuesOf::key(b"rex").from(b"b"))?;
    while let Some(follower) = stream.next()? {
        println!("{}", String::from_utf8_lossy(follower));
    }
    store.close()
}
