//! Several threads write, flush and compact while others take snapshots. Each snapshot shows every writer at one count,
//! which includes all batches acknowledged before, and shows the same count again later. The same is true for every
//! checkpoint. A read without a snapshot sees no part of a batch before the whole batch is visible.

// The test uses real threads, which really race.
#![allow(clippy::disallowed_methods)]

use alluvium::backup;
use alluvium::{Database, Snapshot};
use alluvium_env::Env;
use alluvium_testkit::concurrency::administration;
use alluvium_testkit::concurrency::trails::{self, TrailView};
use alluvium_testkit::seed;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const WRITERS: u64 = 4;
const BATCHES: u64 = 120;

struct Crowd {
    db: Database,
    acknowledged: Vec<AtomicU64>,
    done: AtomicBool,
}

impl Crowd {
    fn write(&self, writer: u64) {
        for count in 1..=BATCHES {
            trails::batch(&self.db, writer, count).unwrap().commit().unwrap();
            self.acknowledged[writer as usize].store(count, Ordering::SeqCst);
            // A writer sees its own acknowledged batches, and all batches of other writers completely.
            let (acknowledged, snapshot) = (self.acknowledged(), self.db.snapshot());
            let look = TrailView::at(&self.db, &snapshot);
            for (other, acknowledged) in acknowledged.iter().enumerate() {
                let found = look.counters(other as u64).unwrap_or_else(|broken| panic!("{broken}"));
                assert!(found >= *acknowledged, "writer {other} had acknowledged {acknowledged}, and {found} is seen");
            }
        }
    }

    fn acknowledged(&self) -> Vec<u64> {
        self.acknowledged.iter().map(|count| count.load(Ordering::SeqCst)).collect()
    }

    fn watch(&self) {
        let mut kept: Vec<(Snapshot, Vec<u64>)> = Vec::new();
        for round in 0.. {
            let acknowledged = self.acknowledged();
            let snapshot = self.db.snapshot();
            let look = TrailView::at(&self.db, &snapshot);
            let whole = |writer: u64| look.whole(writer, round % 2 == 0).unwrap_or_else(|broken| panic!("{broken}"));
            let counts: Vec<u64> = (0..WRITERS).map(whole).collect();
            let now = |writer: u64| trails::never_back(&self.db, writer).unwrap_or_else(|broken| panic!("{broken}"));
            (0..WRITERS).for_each(now);
            assert!(
                counts.iter().zip(&acknowledged).all(|(found, acknowledged)| found >= acknowledged),
                "{counts:?} after {acknowledged:?}"
            );
            for (older, before) in &kept {
                let look = TrailView::at(&self.db, older);
                for (writer, before) in before.iter().enumerate() {
                    let found = look.whole(writer as u64, round % 2 == 1).unwrap_or_else(|broken| panic!("{broken}"));
                    assert_eq!(found, *before, "writer {writer}: a snapshot has changed");
                }
            }
            if kept.len() == 3 {
                kept.remove(round % 3);
            }
            kept.push((snapshot, counts));
            if self.done.load(Ordering::SeqCst) {
                return;
            }
        }
    }

    /// Makes checkpoints, each based on the one before, restores them, and checks them.
    fn back_up(&self, env: &Env) {
        let mut before = None;
        for round in 0.. {
            let acknowledged = self.acknowledged();
            let (dir, to) = (format!("checkpoint-{round}"), format!("restored-{round}"));
            let mut checkpoint = self.db.checkpoint(&dir).copy(round % 2 == 1);
            if let Some(base) = before.replace(dir.clone()) {
                checkpoint = checkpoint.base(base);
            }
            let made = checkpoint.run().unwrap();
            assert!(made.seq <= self.db.store().visible());
            backup::restore(&dir, &to).env(env.clone()).run().unwrap();
            let restored = Database::builder().env(env.clone()).open(&to).unwrap();
            assert!(restored.report().lost.is_empty() && restored.report().clean);
            let look = TrailView::at(&restored, &restored.snapshot());
            for (writer, acknowledged) in acknowledged.iter().enumerate() {
                let found = look.whole(writer as u64, round % 2 == 0).unwrap_or_else(|broken| panic!("{broken}"));
                assert!(
                    found >= *acknowledged,
                    "writer {writer} had acknowledged {acknowledged}, and the checkpoint has {found}"
                );
            }
            restored.close().unwrap();
            if self.done.load(Ordering::SeqCst) {
                return;
            }
        }
    }

    fn maintain(&self, seed: u64) {
        let mut rng = fastrand::Rng::with_seed(seed);
        while !self.done.load(Ordering::SeqCst) {
            match rng.u32(0..5) {
                0 => self.db.compact().run().unwrap(),
                1 => self.db.wait_for_compaction().unwrap(),
                2 => self.db.sync().unwrap(),
                _ => self.db.flush().unwrap(),
            }
        }
    }
}

#[test]
fn threads_see_whole_batches_at_every_snapshot() {
    seed::each("threads_see_whole_batches_at_every_snapshot", 0, 30, |seed| {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut options = alluvium_testkit::random_options(&mut rng, 3, alluvium::Durability::Periodic);
        (options.background, options.threads) = (true, Some(2));
        let env = Env::in_memory(seed);
        let db = Database::builder().env(env.clone()).options(options).open("db").unwrap();
        let acknowledged = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
        let crowd = Crowd { db, acknowledged, done: AtomicBool::new(false) };
        std::thread::scope(|scope| {
            let crowd = &crowd;
            let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || crowd.write(writer))).collect();
            let watcher = scope.spawn(|| crowd.watch());
            let maintainer = scope.spawn(move || crowd.maintain(seed));
            let keeper = scope.spawn(|| crowd.back_up(&env));
            let ended: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
            crowd.done.store(true, Ordering::SeqCst);
            for end in ended.into_iter().chain([watcher.join(), maintainer.join(), keeper.join()]) {
                if let Err(panic) = end {
                    std::panic::resume_unwind(panic);
                }
            }
        });
        let snapshot = crowd.db.snapshot();
        for writer in 0..WRITERS {
            assert_eq!(TrailView::at(&crowd.db, &snapshot).whole(writer, false), Ok(BATCHES));
        }
        crowd.db.close().unwrap();
    });
}

/// Checks find no damage, and copies are complete, while collections and indexes are created and dropped.
#[test]
fn checks_and_copies_hold_while_collections_come_and_go() {
    seed::each("threads_see_whole_batches_at_every_snapshot", 0, 6, |seed| {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut options = alluvium_testkit::random_options(&mut rng, 3, alluvium::Durability::Periodic);
        (options.background, options.threads) = (true, Some(2));
        let env = Env::in_memory(seed);
        let db = Database::builder().env(env.clone()).options(options.clone()).open("db").unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let administrator = scope.spawn(|| {
                (0..).take_while(|_| !done.load(Ordering::SeqCst)).for_each(|round| {
                    administration::administer(&db, &options, &env, round).unwrap();
                });
            });
            let changes = scope.spawn(|| (0..60).for_each(|round| administration::come_and_go(&db, round).unwrap()));
            let ended = changes.join();
            done.store(true, Ordering::SeqCst);
            for end in [ended, administrator.join()] {
                if let Err(panic) = end {
                    std::panic::resume_unwind(panic);
                }
            }
        });
        db.close().unwrap();
    });
}
