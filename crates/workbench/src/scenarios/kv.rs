//! Key/value mixes: random keys, values of one length, puts, gets and deletes in fixed shares. A
//! share of the gets use keys that were put before.

use super::run::{Counters, Outcome, Plan, Worker, run};
use crate::keys::Generator;
use crate::peer::ours::Pairs;
use crate::peer::{KeyValueSession, KeyValues};
use alluvium_store::Options;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// The shares of puts, deletes and gets, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Mix {
    /// 33 / 33 / 34.
    Balanced,
    /// 45 / 45 / 10.
    DeleteHeavy,
    /// 10 / 5 / 85.
    GetHeavy,
    /// 90 / 5 / 5.
    PutHeavy,
}

impl Mix {
    /// The percentages of puts and of deletes; the rest are gets.
    fn shares(self) -> (u32, u32) {
        match self {
            Self::Balanced => (33, 33),
            Self::DeleteHeavy => (45, 45),
            Self::GetHeavy => (10, 5),
            Self::PutHeavy => (90, 5),
        }
    }
}

/// The parameters.
#[derive(Debug, Clone, Serialize)]
pub struct Settings {
    /// The mix.
    pub mix: Mix,
    /// The share of gets and deletes that use a key that was put before, 0 to 1.
    pub find_rate: f64,
    /// Distinct keys.
    pub key_space: u64,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Threads.
    pub threads: usize,
    /// How long the threads run.
    pub duration: Duration,
    /// The seed of the random keys.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mix: Mix::Balanced,
            find_rate: 0.5,
            key_space: 100_000_000,
            value_bytes: 1024,
            threads: 4,
            duration: Duration::from_secs(60),
            seed: 1,
        }
    }
}

/// The number of keys that a thread remembers after putting them.
const KNOWN: usize = 1 << 17;

/// Runs the mix on a store of Alluvium at `path`, which is created if it does not exist.
///
/// # Errors
/// Errors of the store.
pub fn kv(path: &Path, options: Options, settings: &Settings) -> alluvium_store::Result<Outcome> {
    let pairs = Box::new(Pairs::open(path, options)?);
    let outcome = mix::<alluvium_store::Error>(&*pairs, &|| pairs.state(), settings)?;
    KeyValues::<alluvium_store::Error>::close(pairs)?;
    Ok(outcome)
}

/// Runs the mix on any store; `state` returns the bytes of its files and its compaction debt, for
/// the samples.
///
/// # Errors
/// Errors of the store.
pub fn mix<E: Send>(
    store: &dyn KeyValues<E>,
    state: &(dyn Fn() -> (u64, f64) + Sync),
    settings: &Settings,
) -> Result<Outcome, E> {
    let plan = Plan {
        name: format!("kv {:?}", settings.mix),
        threads: settings.threads,
        duration: settings.duration,
        operations: 0,
    };
    run(&plan, &alluvium_env::Env::os().clock, state, &|worker| {
        Thread::new(store.session()?, settings, worker.index).run(worker)
    })
}

struct Thread<'a, E> {
    session: Box<dyn KeyValueSession<E> + 'a>,
    settings: &'a Settings,
    keys: Generator,
    random: fastrand::Rng,
    known: Vec<[u8; 16]>,
    value: Vec<u8>,
}

impl<'a, E> Thread<'a, E> {
    fn new(session: Box<dyn KeyValueSession<E> + 'a>, settings: &'a Settings, index: usize) -> Self {
        let seed = settings.seed.wrapping_mul(1000).wrapping_add(index as u64);
        Self {
            session,
            settings,
            keys: Generator::new(seed, settings.key_space, settings.value_bytes),
            random: fastrand::Rng::with_seed(seed),
            known: Vec::with_capacity(KNOWN),
            value: Vec::new(),
        }
    }

    fn run(&mut self, worker: &mut Worker<'_>) -> Result<(), E> {
        let (puts, deletes) = self.settings.mix.shares();
        while worker.goes_on() {
            let dice = self.random.u32(0..100);
            if dice < puts {
                let key = self.keys.next_pair(&mut self.value);
                worker.timed(|| self.session.put(&key, &self.value))?;
                self.remember(key);
                Counters::add(&worker.counters.put);
            } else if dice < puts + deletes {
                let key = self.pick();
                if worker.timed(|| self.session.delete(&key))? {
                    Counters::add(&worker.counters.delete_found);
                }
                Counters::add(&worker.counters.delete);
            } else {
                let key = self.pick();
                if worker.timed(|| self.session.get(&key, &mut self.value))? {
                    Counters::add(&worker.counters.get_found);
                }
                Counters::add(&worker.counters.get);
            }
        }
        Ok(())
    }

    fn remember(&mut self, key: [u8; 16]) {
        if self.known.len() < KNOWN {
            self.known.push(key);
        } else {
            let at = self.random.usize(0..KNOWN);
            self.known[at] = key;
        }
    }

    fn pick(&mut self) -> [u8; 16] {
        if !self.known.is_empty() && self.random.f64() < self.settings.find_rate {
            return self.known[self.random.usize(0..self.known.len())];
        }
        self.random.u128(..).to_le_bytes()
    }
}

#[cfg(test)]
mod tests;
