//! During concurrent writes, deletes, flushes, compactions and sweeps, a query at a snapshot
//! returns the documents that match at this snapshot, with every index.

use crate::queries::{INDEXES, Step, all_at, check_at, filter, run, sort, step};
use alluvium::{Database, Hint};
use proptest::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sets a flag when it is dropped, even if a check has panicked.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 64, ..ProptestConfig::default() })]

    #[test]
    fn plans_hold_at_a_snapshot_while_others_write(
        before in proptest::collection::vec(step(), 1..60),
        writers in proptest::collection::vec(proptest::collection::vec(step(), 40..120), 1..4),
        made in proptest::sample::subsequence((0..INDEXES.len()).collect::<Vec<_>>(), 1..6),
        queries in proptest::collection::vec((filter(), sort()), 2..6),
        remember in prop::sample::select(vec![0, usize::MAX]),
    ) {
        let env = alluvium_env::Env::in_memory(1);
        let db = Database::builder().env(env).partitions(2).open(Path::new("db")).unwrap();
        let c = db.create_collection("c").run().unwrap();
        made.iter().for_each(|at| drop(c.create_index(INDEXES[*at].0).options(INDEXES[*at].1).run().unwrap()));
        before.iter().for_each(|step| if matches!(step, Step::Flush) { db.flush().unwrap() } else { run(&c, step) });
        let hints = c.indexes().unwrap().into_iter().map(|index| Some(Hint::from(index.name)));
        let hints: Vec<Option<Hint>> = hints.chain([None]).collect();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _ends = Ends(&done);
            for steps in &writers {
                let (db, c, done) = (&db, &c, &done);
                scope.spawn(move || {
                    for step in steps.iter().cycle() {
                        match step {
                            _ if done.load(Ordering::Relaxed) => break,
                            Step::Flush => db.flush().unwrap(),
                            step => run(c, step),
                        }
                    }
                });
            }
            let (db, done) = (&db, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    db.compact().run().unwrap();
                    db.sweep_indexes().unwrap();
                }
            });
            // One snapshot before the concurrent writes is kept, and others are taken during them.
            let first = db.snapshot();
            let all = all_at(&c, &first);
            for (filter, sort) in &queries {
                for hint in &hints {
                    check_at(&c, &first, &all, filter, sort, hint.clone(), remember);
                    let now = db.snapshot();
                    check_at(&c, &now, &all_at(&c, &now), filter, sort, hint.clone(), remember);
                }
            }
        });
    }
}
