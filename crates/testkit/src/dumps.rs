//! Dumps among the operations: all is written into files beside the database and restored into another one.

use crate::Runner;
use crate::checkpoints::remove;
use crate::indexes;
use crate::state::read_state;
use alluvium::Database;
use alluvium::dump::{Dump, DumpOptions, RestoreOptions};
use alluvium_store::Options;
use std::path::Path;

impl Runner {
    /// Dumps everything, restores that into an empty database, and compares.
    pub(crate) fn dump_and_restore(&mut self) {
        if self.state.collections.is_empty() {
            return;
        }
        let options = DumpOptions { gzip: self.rng.bool(), alluvium_types: true, ..DumpOptions::default() };
        self.note(format!("dump, gzip {}, and restore", options.gzip));
        let (dir, to) = (Path::new("dumped"), Path::new("restored"));
        let report = self.db().dump(dir, &options, |_, _| {}).unwrap_or_else(|e| panic!("dump: {e}"));
        let documents: usize = self.state.collections.values().map(|contents| contents.documents.len()).sum();
        let told = (report.collections, report.documents);
        assert_eq!(told, (self.state.collections.len() as u64, documents as u64), "what a dump tells");
        self.effect("dump", documents > 0);
        let env = &self.world.env;
        let dump = Dump::read(env, dir).unwrap_or_else(|e| panic!("the dump cannot be read: {e}"));
        assert!(dump.passed_over.is_empty(), "of the dump is passed over: {:?}", dump.passed_over);
        let options = Options { partitions: Some(1 + self.rng.u32(0..3)), ..self.options.clone() };
        let db = Database::builder().env(env.clone()).options(options).open(to).expect("an empty database");
        let restore = RestoreOptions { readers: 2, writers: 1, strict_indexes: true, ..RestoreOptions::default() };
        let report = dump.restore(&db, &restore).unwrap_or_else(|e| panic!("restore: {e}"));
        assert_eq!(report.collections.iter().map(|c| c.documents).sum::<u64>(), documents as u64);
        let found = read_state(&db).unwrap_or_else(|e| panic!("reading what was restored: {e}"));
        let expected = self.state.clone().without_unready();
        assert!(found == expected, "dumped and restored differ:\n{}", expected.difference(&found));
        indexes::check_now(&db).unwrap_or_else(|broken| panic!("a restored database: {broken}"));
        db.close().expect("close");
        remove(&self.world.env, dir);
        remove(&self.world.env, to);
    }
}
