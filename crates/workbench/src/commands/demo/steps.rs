//! The steps of the demo in order.

use super::child::Loaded;
use super::expected::{self, Changes};
use super::operations::{Cost, Costs};
use super::query::Queried;
use super::table::{Findings, table};
use super::{Demo, terminal};
use crate::commands::generate;
use crate::comments::Generator;
use alluvium::Database;
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::output::Output;
use alluvium_cli::signals::Stop;
use alluvium_cli::text;
use std::time::Duration;

/// The collection that is loaded completely.
const COMMENTS: &str = "comments";
/// The collection whose first load is killed.
const KILLED: &str = "killed";

/// The results of the steps that use the loaded comments.
struct Used {
    costs: Costs,
    scan: Cost,
    queried: Queried,
    changes: Changes,
}

/// The results of opening the database after the kill.
struct Reopened {
    acknowledged: u64,
    found: u64,
    open: Duration,
}

impl Demo {
    /// Runs all steps, and prints the table and suggestions.
    pub(super) fn run(&self) -> Outcome {
        let started = self.env.clock.now();
        self.generate()?;
        let loaded = self.load_all()?;
        let Used { costs, scan, queried, changes } = self.use_it()?;
        let Reopened { acknowledged, found, open: open_after_kill } = self.kill_and_reopen()?;
        self.resume_and_verify(&changes)?;
        let next = self.next(&queried)?;
        let findings = Findings { loaded, costs, scan, queried, acknowledged, found, open_after_kill };
        let mut out = Output::new();
        let took = terminal::time(self.env.clock.now().saturating_sub(started));
        out.text(&format!("\n{}\nAll checks passed, in {took}.\n{next}", table(self, &findings)))?;
        out.finish()
    }

    /// Announces a step, runs it, and reports its time.
    fn step<T>(&self, what: &str, act: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        terminal::begin(what);
        let before = self.env.clock.now();
        let result = act()?;
        terminal::end(self.env.clock.now().saturating_sub(before));
        Ok(result)
    }

    fn open(&self) -> Outcome<Database> {
        let memory = usize::try_from(self.memory_bytes).unwrap_or(usize::MAX);
        Ok(Database::builder().create_if_missing(false).memory(memory).open(&self.database)?)
    }

    fn generate(&self) -> Outcome {
        let (docs, path) = (text::counted(self.docs, "comment"), self.comments.display());
        self.step(&format!("generate {docs} into {path}"), || {
            let mut comments = Generator::new(self.seed);
            generate::write_file(&self.comments, self.docs, &Stop::never(), |out| comments.write_line(out))
        })
    }

    fn load_all(&self) -> Outcome<Loaded> {
        let what = format!("load them into {}, and wait for all compactions", self.database.display());
        let loaded = self.step(&what, || self.load(COMMENTS))?;
        match loaded.figure("documents") {
            Some(n) if n as u64 == self.docs => Ok(loaded),
            n => Err(Failure::Damaged(format!("loaded {} documents of {}", n.unwrap_or(0.0), self.docs))),
        }
    }

    fn use_it(&self) -> Outcome<Used> {
        let ids = self.sample_ids()?;
        let number = text::count(ids.len() as u64);
        let database = self.open()?;
        let collection = database.collection(COMMENTS);
        let what = format!("get {number} random documents twice, update a fifth of them, delete a hundredth");
        let (costs, changes) = self.step(&what, || self.operate(&collection, &ids))?;
        let scan = self.step("scan all documents", || self.scan(&collection))?;
        let what = "find an author's best comments, without an index and with one";
        let queried = self.step(what, || self.query(&collection, &ids))?;
        database.close()?;
        Ok(Used { costs, scan, queried, changes })
    }

    fn kill_and_reopen(&self) -> Outcome<Reopened> {
        let what = "load the comments into a second collection, and kill -9 the load in the middle";
        let acknowledged = self.step(what, || self.load_and_kill(KILLED))?;
        self.step("reopen, and compare the documents with those that were acknowledged", || {
            let before = self.env.clock.now();
            let database = self.open()?;
            let open = self.env.clock.now().saturating_sub(before);
            let found = expected::check(&database.collection(KILLED), self.seed, acknowledged, &Changes::default())?;
            database.close()?;
            Ok(Reopened { acknowledged, found, open })
        })
    }

    fn resume_and_verify(&self, changes: &Changes) -> Outcome {
        self.step("resume the load", || self.load(KILLED))?;
        let database = self.open()?;
        self.step("compare every document of both collections with the generator's", || {
            for (name, changes) in [(COMMENTS, changes), (KILLED, &Changes::default())] {
                let wanted = self.docs - changes.deleted.len() as u64;
                let found = expected::check(&database.collection(name), self.seed, self.docs, changes)?;
                if found != wanted {
                    return Err(Failure::Damaged(format!("{name} has {found} documents instead of {wanted}")));
                }
            }
            Ok(())
        })?;
        let damage = self.step("verify every block of every file", || Ok(database.verify().run()?.damage))?;
        database.close()?;
        match damage.first() {
            None => Ok(()),
            Some(error) => Err(error.clone().into()),
        }
    }
}
