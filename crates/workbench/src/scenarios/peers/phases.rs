//! Reads and updates of the documents that were put.

use super::figures::Phase;
use super::rest::settled;
use super::settings::Settings;
use super::source::Ids;
use crate::peer::{DocumentSession, Documents, Failure, Found};
use crate::scenarios::documents::IN_A_TRANSACTION;
use crate::scenarios::run::{Counters, Plan, Worker, run};
use crate::trials::Device;
use alluvium_cli::process::Usage;
use alluvium_env::Env;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The number of documents whose scores are checked after the updates.
const CHECKED: usize = 10_000;

/// Adds 1 to the scores of documents. Returns false if one of them does not exist.
type Increment<'a> = dyn Fn(&mut dyn DocumentSession, &[&str]) -> Result<bool, Failure> + Sync + 'a;

/// A store with documents.
pub(super) struct Phases<'a> {
    pub store: &'a dyn Documents,
    pub ids: &'a Ids,
    pub settings: &'a Settings,
}

impl Phases<'_> {
    /// Gets whole random documents for a time.
    pub fn get(&self, name: &str, duration: Duration) -> Result<Phase, Failure> {
        let fields = AtomicU64::new(0);
        let mut phase = self.run(self.plan(name, duration), &|session, worker| {
            let mut random = self.random(worker);
            let mut sum = 0;
            while worker.goes_on() {
                let id = self.ids.get(random.usize(0..self.ids.len()));
                sum += checked(id, worker.timed(|| session.get(id))?)?.fields as u64;
                Counters::add(&worker.counters.get);
            }
            fields.fetch_add(sum, Ordering::Relaxed);
            Ok(())
        })?;
        phase.fields = fields.into_inner() as f64 / phase.operations.max(1) as f64;
        Ok(phase)
    }

    /// Gets one field of random documents.
    pub fn field(&self) -> Result<Phase, Failure> {
        self.run(self.plan("field", self.settings.duration), &|session, worker| {
            let mut random = self.random(worker);
            while worker.goes_on() {
                let id = self.ids.get(random.usize(0..self.ids.len()));
                worker.timed(|| session.score(id))?.ok_or_else(|| missing(id))?;
                Counters::add(&worker.counters.get);
            }
            Ok(())
        })
    }

    /// Gets whole random documents, no document twice. Reads of the device that contains `dir` are
    /// counted.
    pub fn cold(&self, dir: &Path) -> Result<Phase, Failure> {
        let mut order: Vec<usize> = (0..self.ids.len()).collect();
        fastrand::Rng::with_seed(self.settings.seed).shuffle(&mut order);
        order.truncate(usize::try_from(self.settings.cold_gets)?);
        let next = AtomicU64::new(0);
        let device = Device::of(dir);
        let before = device.read();
        let plan = Plan { operations: order.len() as u64, ..self.plan("cold", self.settings.duration) };
        let mut phase = self.run(plan, &|session, worker| {
            while worker.goes_on() {
                let place = next.fetch_add(1, Ordering::Relaxed) as usize;
                let Some(at) = order.get(place) else { break };
                let id = self.ids.get(*at);
                checked(id, worker.timed(|| session.get(id))?)?;
                Counters::add(&worker.counters.get);
            }
            Ok(())
        })?;
        let reads = before.zip(device.read()).map(|(before, after)| after.reads.saturating_sub(before.reads));
        phase.device_reads = reads.map(|reads| reads as f64 / phase.operations.max(1) as f64);
        Ok(phase)
    }

    /// Adds 1 to the score of random documents for a time, then checks the scores of a sample.
    pub fn update(&self) -> Result<Phase, Failure> {
        self.increments("update", 1, &|session, ids| {
            ids.iter().try_fold(true, |all, id| Ok(session.increment(id)? && all))
        })
    }

    /// As [`Phases::update`], [`IN_A_TRANSACTION`] updates in each transaction; `None` if the store has no transactions
    /// here. The updates of a transaction are in the order of the documents, so that no two transactions wait for each
    /// other.
    pub fn transaction(&self) -> Result<Option<Phase>, Failure> {
        if self.store.session()?.increment_all(&[])?.is_none() {
            return Ok(None);
        }
        let all = |session: &mut dyn DocumentSession, ids: &[&str]| {
            session.increment_all(ids)?.ok_or_else(|| "the store has no transactions any more".into())
        };
        self.increments("transaction", IN_A_TRANSACTION, &all).map(Some)
    }

    /// Adds 1 to the score of random documents, `together` at a time, and then checks the scores of a sample.
    fn increments(&self, name: &str, together: usize, increment: &Increment<'_>) -> Result<Phase, Failure> {
        let mut sample: Vec<usize> = (0..self.ids.len()).collect();
        fastrand::Rng::with_seed(self.settings.seed).shuffle(&mut sample);
        sample.truncate(CHECKED);
        let before = self.scores(&sample)?;
        let counts: Vec<AtomicU32> = (0..self.ids.len()).map(|_| AtomicU32::new(0)).collect();
        let started = Usage::now();
        let mut phase = self.run(self.plan(name, self.settings.duration), &|session, worker| {
            let mut random = self.random(worker);
            let (mut places, mut ids) = (Vec::with_capacity(together), Vec::with_capacity(together));
            while worker.goes_on() {
                places.clear();
                places.extend((0..together).map(|_| random.usize(0..self.ids.len())));
                places.sort_unstable();
                ids.clear();
                ids.extend(places.iter().map(|at| self.ids.get(*at)));
                if !worker.timed(|| increment(session, &ids))? {
                    return Err(missing(&ids.join(" or ")));
                }
                for at in &places {
                    counts[*at].fetch_add(1, Ordering::Relaxed);
                    Counters::add(&worker.counters.put);
                }
            }
            Ok(())
        })?;
        settled(|| self.store.settle())?;
        let used = Usage::now().since(&started);
        let each = |all: f64| all / phase.operations.max(1) as f64;
        phase.settled_cpu_us = each(used.cpu_seconds * 1e6);
        phase.written_bytes = each(used.written_bytes as f64);
        self.check(&sample, &before, &counts)?;
        Ok(phase)
    }

    /// Checks that the scores of a sample have risen by the counts of the updates.
    fn check(&self, sample: &[usize], before: &[i64], counts: &[AtomicU32]) -> Result<(), Failure> {
        for ((at, before), after) in sample.iter().zip(before).zip(self.scores(sample)?) {
            let (updates, rose) = (i64::from(counts[*at].load(Ordering::Relaxed)), after - before);
            if rose != updates {
                let id = self.ids.get(*at);
                return Err(format!("{id} was updated {updates} times, and its score rose by {rose}").into());
            }
        }
        Ok(())
    }

    fn scores(&self, sample: &[usize]) -> Result<Vec<i64>, Failure> {
        let mut session = self.store.session()?;
        let mut score = |at: &usize| {
            let id = self.ids.get(*at);
            session.score(id)?.ok_or_else(|| missing(id))
        };
        sample.iter().map(&mut score).collect()
    }

    fn run(
        &self,
        plan: Plan,
        body: &(dyn Fn(&mut dyn DocumentSession, &mut Worker<'_>) -> Result<(), Failure> + Sync),
    ) -> Result<Phase, Failure> {
        let outcome = run(&plan, &Env::os().clock, &|| (0, 0.0), &|worker| {
            let mut session = self.store.session()?;
            body(&mut *session, worker)
        })?;
        Ok(Phase::of(&outcome))
    }

    fn plan(&self, name: &str, duration: Duration) -> Plan {
        Plan { name: name.to_owned(), threads: self.settings.threads, duration, operations: self.settings.operations }
    }

    fn random(&self, worker: &Worker<'_>) -> fastrand::Rng {
        fastrand::Rng::with_seed(self.settings.seed.wrapping_add(worker.index as u64))
    }
}

/// The document that was read, if it is the requested one.
fn checked(id: &str, found: Option<Found>) -> Result<Found, Failure> {
    match found {
        Some(found) if found.id == id => Ok(found),
        Some(found) => Err(format!("a get of {id} found {}", found.id).into()),
        None => Err(missing(id)),
    }
}

fn missing(id: &str) -> Failure {
    format!("{id} was put, and is not found").into()
}
