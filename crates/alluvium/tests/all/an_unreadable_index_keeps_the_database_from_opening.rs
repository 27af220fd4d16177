//! If this build of the library cannot read the description of an index, the database does not
//! open. Otherwise writes would not maintain the index, and a build that can read the description
//! would miss entries.

use alluvium::{Database, ErrorKind};
use std::path::Path;

fn open(env: &alluvium_env::Env) -> alluvium::Result<Database> {
    Database::builder().env(env.clone()).partitions(2).open(Path::new("db"))
}

#[test]
fn an_unreadable_index_keeps_the_database_from_opening() {
    let env = alluvium_env::Env::in_memory(7);
    let db = open(&env).unwrap();
    let pets = db.collection("pets");
    pets.put(1, r#"{"k":1}"#).unwrap();
    pets.create_index(r#"{"k":1}"#).run().unwrap();
    let (tree, mut description) = db.store().trees().into_iter().find(|(_, text)| text.first() == Some(&4)).unwrap();
    // The description now has an unknown option, as if a later build had written it.
    let name = description.windows(4).rposition(|bytes| bytes == b"name".as_slice()).unwrap();
    description[name] = b'N';
    db.store().describe_trees(&[(tree, &description)]).unwrap();
    db.close().unwrap();
    let error = open(&env).expect_err("it is refused");
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert!(error.to_string().contains("newer version"), "{error}");
}
