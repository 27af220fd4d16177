//! Applies operations to a database and to the model, and compares the results.
//!
//! A [`Runner`] draws the operations. The operations themselves (`operations/`) are functions of a `Session`, and
//! independent of the runner.

pub mod counts;
mod draws;
mod expectations;
mod kept;
mod moved;
mod observer;
mod operations;
mod session;

use crate::model::read_state;
use crate::replay::sequence;
use alluvium::{Database, Durability};
use operations::{cursors, growth, indexes, lifecycle, maintenance, snapshots};
use session::Session;
use std::time::Duration;

pub use operations::growth::By;
pub use session::{MakeHook, Mix};

/// Applies random operations to a database and to its model.
pub struct Runner {
    session: Session,
}

impl Runner {
    /// A new database in a new world. If `durability` is given, all random options use it.
    pub fn new(seed: u64, mix: Mix, durability: Option<Durability>) -> Self {
        Self::with_hook(seed, mix, durability, false, false, None)
    }

    /// Like [`Runner::new`], with background threads.
    pub fn in_background(seed: u64) -> Self {
        Self::with_hook(seed, Mix::All, None, true, false, None)
    }

    /// Like [`Runner::new`], with a hook that is created before the database, and created again for the world after
    /// each kill. With `usual_tuning`, the sizes are those of large databases.
    pub fn with_hook(
        seed: u64,
        mix: Mix,
        durability: Option<Durability>,
        background: bool,
        usual_tuning: bool,
        hook: Option<MakeHook>,
    ) -> Self {
        Self { session: Session::new(seed, mix, durability, background, usual_tuning, hook) }
    }

    /// The database.
    pub fn db(&self) -> &Database {
        self.session.db()
    }

    /// The number of flushes that wrote something.
    pub fn flushes(&self) -> u32 {
        self.session.flushes
    }

    /// The number of calls that merged files.
    pub fn compactions(&self) -> u32 {
        self.session.compactions
    }

    /// Executes one random operation, which is determined by the seed and the number of the step.
    pub fn step(&mut self, number: u32) {
        self.session.rng = sequence::rng_of(self.session.seed, number);
        self.session.world.clock.advance(Duration::from_millis(self.session.rng.u64(0..40)));
        operations::step(&mut self.session);
        self.check_invariants();
        if self.session.mix == Mix::All {
            snapshots::forget_ended(&mut self.session);
            indexes::check_indexes(&self.session);
            if number.is_multiple_of(3) {
                indexes::check_derived(&self.session);
            }
        }
    }

    /// Checks the invariants, even while background threads are in the middle of an operation.
    fn check_invariants(&self) {
        let broken = self.session.db().store().broken_invariant().unwrap_or_else(|e| panic!("looking for files: {e}"));
        assert!(broken.is_none(), "{broken:?}");
    }

    /// Executes the random operations with these numbers, and then compares everything.
    pub fn run(&mut self, steps: &[u32]) {
        for number in steps {
            self.step(*number);
        }
        self.check_all();
    }

    /// Compares all documents, and checks every file.
    pub fn check_all(&mut self) {
        snapshots::forget_ended(&mut self.session);
        let found = read_state(self.session.db()).unwrap_or_else(|e| panic!("reading everything: {e}"));
        assert!(found == self.session.state, "expected and found differ:\n{}", self.session.state.difference(&found));
        let damage = self.session.db().verify().run().unwrap_or_else(|e| panic!("verify: {e}")).damage;
        assert!(damage.is_empty(), "verify finds {damage:?}");
        for at in (0..self.session.snapshots.len()).rev() {
            snapshots::check_snapshot(&mut self.session, at);
        }
        cursors::drain_cursors(&mut self.session);
        indexes::check_indexes(&self.session);
        indexes::check_derived(&self.session);
    }

    /// Closes and reopens the database, and checks everything.
    pub fn finish(mut self) {
        self.session.note("close and check".to_owned());
        self.check_all();
        lifecycle::close(&mut self.session);
        self.session.open();
        self.check_all();
        lifecycle::close(&mut self.session);
    }

    /// Flushes the memtables.
    pub fn flush(&mut self) {
        maintenance::flush(&mut self.session);
    }

    /// Compacts everything.
    pub fn compact(&mut self) {
        maintenance::compact(&mut self.session);
    }

    /// Adds many documents at once; see [`By`]. `number` distinguishes the calls in a sequence.
    pub fn grow(&mut self, number: u32, count: u32, by: By) {
        growth::grow(&mut self.session, number, count, by);
    }
}
