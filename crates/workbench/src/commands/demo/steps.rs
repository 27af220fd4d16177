//! The steps of the demo, in their order.

use super::child::Loaded;
use super::expected::{self, Changes};
use super::operations::{Cost, Costs};
use super::{Demo, table};
use crate::commands::generate;
use alluvium::Database;
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::output::Output;
use alluvium_cli::signals::Stop;
use alluvium_cli::text;
use std::io::Write;
use std::time::Duration;

/// The collection that is loaded whole.
const COMMENTS: &str = "comments";
/// The collection whose first load is killed.
const KILLED: &str = "killed";

/// What the table is made of.
pub(super) struct Findings {
    pub loaded: Loaded,
    pub costs: Costs,
    pub scan: Cost,
    pub acknowledged: u64,
    pub found: u64,
    pub open_after_kill: Duration,
}

impl Demo {
    /// Runs all steps and prints the table.
    pub(super) fn run(&self) -> Outcome {
        let started = self.env.clock.now();
        self.generate()?;
        let loaded = self.load_all()?;
        let (costs, scan, changes) = self.use_it()?;
        let (acknowledged, found, open_after_kill) = self.kill_and_reopen()?;
        self.resume_and_verify(&changes)?;
        let findings = Findings { loaded, costs, scan, acknowledged, found, open_after_kill };
        let mut out = Output::new();
        let took = text::duration(self.env.clock.now().saturating_sub(started));
        out.text(&format!("\n{}\nEverything as it should be, in {took}.\n", table::table(self, &findings)))?;
        out.finish()
    }

    fn open(&self) -> Outcome<Database> {
        let memory = usize::try_from(self.memory_bytes).unwrap_or(usize::MAX);
        Ok(Database::builder().create_if_missing(false).memory(memory).open(&self.database)?)
    }

    fn generate(&self) -> Outcome {
        let (docs, path) = (text::counted(self.docs, "comment"), self.comments.display());
        say(&format!("generate {docs} into {path}"));
        let mut comments = crate::comments::Generator::new(self.seed);
        generate::write_file(&self.comments, self.docs, &Stop::never(), |out| comments.write_line(out))
    }

    fn load_all(&self) -> Outcome<Loaded> {
        say(&format!("load them into {}, and settle", self.database.display()));
        let loaded = self.load(COMMENTS)?;
        match loaded.figure("documents") {
            Some(n) if n as u64 == self.docs => Ok(loaded),
            n => Err(Failure::Damaged(format!("loaded {} documents of {}", n.unwrap_or(0.0), self.docs))),
        }
    }

    fn use_it(&self) -> Outcome<(Costs, Cost, Changes)> {
        let ids = self.sample_ids()?;
        let number = text::count(ids.len() as u64);
        say(&format!("get {number} random documents twice, update a fifth of them, delete a hundredth, scan all"));
        let database = self.open()?;
        let collection = database.collection(COMMENTS);
        let (costs, changes) = self.operate(&collection, &ids)?;
        let scan = self.scan(&collection)?;
        database.close()?;
        Ok((costs, scan, changes))
    }

    fn kill_and_reopen(&self) -> Outcome<(u64, u64, Duration)> {
        say("load them into a second collection, and kill -9 in the middle");
        let acknowledged = self.load_and_kill(KILLED)?;
        say("reopen, and compare what is there with what was acknowledged");
        let before = self.env.clock.now();
        let database = self.open()?;
        let opening = self.env.clock.now().saturating_sub(before);
        let found = expected::check(&database.collection(KILLED), self.seed, acknowledged, &Changes::default())?;
        database.close()?;
        Ok((acknowledged, found, opening))
    }

    fn resume_and_verify(&self, changes: &Changes) -> Outcome {
        say("resume the load");
        self.load(KILLED)?;
        say("compare every document of both collections with the generator's");
        let database = self.open()?;
        for (name, changes) in [(COMMENTS, changes), (KILLED, &Changes::default())] {
            let wanted = self.docs - changes.deleted.len() as u64;
            let found = expected::check(&database.collection(name), self.seed, self.docs, changes)?;
            if found != wanted {
                return Err(Failure::Damaged(format!("{name} has {found} documents instead of {wanted}")));
            }
        }
        say("verify every block of every file");
        let damage = database.verify()?;
        database.close()?;
        match damage.first() {
            None => Ok(()),
            Some(error) => Err(error.clone().into()),
        }
    }
}

/// Tells what begins.
fn say(step: &str) {
    // Nobody is left to tell if standard error is closed.
    let _closed = writeln!(std::io::stderr(), "- {step}");
}
