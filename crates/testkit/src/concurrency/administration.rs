//! Checks, statistics and copies of a database, while its collections and indexes are created and dropped.

use alluvium::export::{Encoder, Format};
use alluvium::kv::Options;
use alluvium::{Database, Error, Result, backup};
use alluvium_env::Env;

/// The documents of a collection.
const DOCUMENTS: i64 = 4;

/// Creates a collection with documents and indexes, renames it, and drops the indexes and the
/// collection.
///
/// # Errors
/// Errors of the database.
pub fn come_and_go(db: &Database, round: u32) -> Result<()> {
    let (from, to) = (format!("pets-{}", round % 2), format!("other.pets-{}", round % 3));
    let pets = db.collection(&from);
    for id in 0..DOCUMENTS {
        pets.put(id, format!(r#"{{"word":"word {id}","list":[{id},{round}]}}"#).as_str())?;
    }
    pets.create_index(r#"{"word":1}"#).unique(true).run()?;
    // Snapshots before this update contain arrays that the second index never saw.
    pets.update_many("{}", r#"{"$set":{"list":0}}"#).run()?;
    pets.create_index(r#"{"list":1}"#).run()?;
    db.rename_collection(&from, &to)?;
    let pets = db.collection(&to);
    pets.drop_index(r#"{"word":1}"#)?;
    pets.drop()
}

/// Checks, measures and copies a database, while [`come_and_go`] runs. The copies are made in
/// directories that belong to `round`.
///
/// # Errors
/// Errors of the database, except for collections and indexes that were dropped.
///
/// # Panics
/// If a check finds damage, or a copy is incomplete.
pub fn administer(db: &Database, options: &Options, env: &Env, round: u32) -> Result<()> {
    let report = db.verify().run()?;
    assert!(report.damage.is_empty(), "{:?}", report.damage);
    db.stats();
    let mut out = Vec::new();
    for info in db.collections() {
        let collection = db.collection(&info.full_name());
        if_exists(collection.stats())?;
        if_exists(collection.index_stats())?;
        if_exists(collection.indexes())?;
        let counted = [collection.count()?, collection.estimated_count()?, collection.find("{}").count()?];
        assert!(counted.iter().all(|documents| *documents <= DOCUMENTS as u64), "{counted:?}");
        let (mut cursor, mut encoder) = (collection.scan().run()?, Encoder::new(Format::JsonLines));
        while encoder.write_next(&mut cursor, &mut out)? {}
        assert!(encoder.documents() <= DOCUMENTS as u64);
    }
    db.dump(format!("dump-{round}")).run()?;
    let (copy, restored) = (format!("copy-{round}"), format!("restored-{round}"));
    db.checkpoint(&copy).run()?;
    backup::check(&copy).env(env.clone()).run()?;
    backup::restore(&copy, &restored).env(env.clone()).run()?;
    let restored = Database::builder().env(env.clone()).options(options.clone()).open(&restored)?;
    let report = restored.verify().run()?;
    assert!(report.damage.is_empty(), "{:?}", report.damage);
    restored.close()
}

/// The value, unless its collection or index does not exist.
fn if_exists<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(Error::NoSuchCollection { .. }) => Ok(None),
        result => result.map(Some),
    }
}
