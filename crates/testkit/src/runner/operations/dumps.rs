//! Dumps: the database is written to files, which are restored into another database.

use crate::model::{indexes, read_state};
use crate::runner::session::Session;
use crate::worlds::remove_dir;
use alluvium::Database;
use alluvium::dump;
use alluvium_store::Options;
use std::path::Path;

/// Dumps everything, restores it into an empty database, and compares.
pub(crate) fn dump_and_restore(session: &mut Session) {
    if session.state.collections.is_empty() {
        return;
    }
    let gzip = session.rng.bool();
    session.note(format!("dump, gzip {gzip}, and restore"));
    let (dir, to) = (Path::new("dumped"), Path::new("restored"));
    let report = session.db().dump(dir).gzip(gzip).alluvium_types(true).run();
    let report = report.unwrap_or_else(|e| panic!("dump: {e}"));
    let documents: usize = session.state.collections.values().map(|contents| contents.documents.len()).sum();
    let reported = (report.collections, report.documents);
    assert_eq!(reported, (session.state.collections.len() as u64, documents as u64), "the report of a dump");
    session.effect("dump", documents > 0);
    let env = &session.world.env;
    let dump = dump::read(dir).env(env.clone()).run().unwrap_or_else(|e| panic!("the dump cannot be read: {e}"));
    let lost = [&dump.passed_over[..], &dump.skipped].concat();
    assert!(lost.is_empty(), "of the dump is passed over: {lost:?}");
    let options = Options { partitions: Some(1 + session.rng.u32(0..3)), ..session.options.clone() };
    let db = Database::builder().env(env.clone()).options(options).open(to).expect("an empty database");
    let restore = dump.restore(&db).readers(2).writers(1).strict_indexes(true);
    let report = restore.run().unwrap_or_else(|e| panic!("restore: {e}"));
    assert_eq!(report.collections.iter().map(|c| c.documents).sum::<u64>(), documents as u64);
    let found = read_state(&db).unwrap_or_else(|e| panic!("reading what was restored: {e}"));
    let expected = session.state.clone().without_unready();
    assert!(found == expected, "dumped and restored differ:\n{}", expected.difference(&found));
    indexes::check_now(&db).unwrap_or_else(|broken| panic!("a restored database: {broken}"));
    db.close().expect("close");
    remove_dir(&session.world.env, dir);
    remove_dir(&session.world.env, to);
}
