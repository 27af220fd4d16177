//! Measures reads and changes of random documents.

use super::Demo;
use super::expected::{Changes, raise_score_of};
use alluvium::{Collection, Map, Value};
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::process;
use alluvium_document::json;
use alluvium_env::{Rng, SeededRng};
use std::time::Duration;

/// The time of a number of operations.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    operations: u64,
    cpu: Duration,
    wall: Duration,
}

impl Cost {
    /// Processor time per operation in microseconds, including background work.
    pub(super) fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.operations.max(1) as f64
    }

    /// Operations per second.
    pub(super) fn per_second(&self) -> f64 {
        self.operations as f64 / self.wall.as_secs_f64().max(1e-9)
    }
}

/// The costs of all operations.
#[derive(Debug, Default)]
pub(super) struct Costs {
    pub get_first: Cost,
    pub get_again: Cost,
    pub update: Cost,
    pub delete: Cost,
}

impl Demo {
    fn measure(&self, mut step: impl FnMut() -> Outcome<u64>) -> Outcome<Cost> {
        let (cpu, wall) = (process::cpu_time(), self.env.clock.now());
        let operations = step()?;
        let cpu = process::cpu_time().saturating_sub(cpu);
        Ok(Cost { operations, cpu, wall: self.env.clock.now().saturating_sub(wall) })
    }

    /// Some ids of the generated comments, in random order.
    pub(super) fn sample_ids(&self) -> Outcome<Vec<String>> {
        let mut comments = crate::comments::Generator::new(self.seed);
        let every = (self.docs / 100_000).max(1);
        let (mut ids, mut line) = (Vec::new(), Vec::new());
        for at in 0..self.docs {
            line.clear();
            comments.write_line(&mut line);
            if at % every == 0 {
                let id = match json::parse(&line) {
                    Ok(Value::Map(map)) => map.get("id").and_then(Value::as_str).map(str::to_owned),
                    _ => None,
                };
                ids.push(id.ok_or_else(|| Failure::Other("a generated line has no id".to_owned()))?);
            }
        }
        let random = SeededRng::new(self.seed);
        for at in (1..ids.len()).rev() {
            ids.swap(at, (random.next_u64() % (at as u64 + 1)) as usize);
        }
        Ok(ids)
    }

    /// Gets all ids twice, updates a fifth of them and deletes a hundredth.
    pub(super) fn operate(&self, collection: &Collection, ids: &[String]) -> Outcome<(Costs, Changes)> {
        let get = || {
            for id in ids {
                if collection.get(id.as_str())?.is_none() {
                    return Err(Failure::Damaged(format!("document {id} is missing")));
                }
            }
            Ok(ids.len() as u64)
        };
        let (get_first, get_again) = (self.measure(get)?, self.measure(get)?);
        let (some, rest) = ids.split_at(ids.len() / 5);
        let update = self.measure(|| {
            for id in some {
                let found = collection.modify(id.as_str(), |draft| {
                    raise_score_of(draft)?;
                    Ok(true)
                })?;
                if !found {
                    return Err(Failure::Damaged(format!("document {id} is missing")));
                }
            }
            Ok(some.len() as u64)
        })?;
        let few = &rest[..ids.len() / 100];
        let delete = self.measure(|| {
            for id in few {
                if collection.delete_one(Map::from([("_id", Value::from(id.as_str()))])).run()?.deleted_count == 0 {
                    return Err(Failure::Damaged(format!("document {id} is missing")));
                }
            }
            Ok(few.len() as u64)
        })?;
        let changes = Changes { updated: some.iter().cloned().collect(), deleted: few.iter().cloned().collect() };
        Ok((Costs { get_first, get_again, update, delete }, changes))
    }

    /// Scans all documents.
    pub(super) fn scan(&self, collection: &Collection) -> Outcome<Cost> {
        self.measure(|| {
            let mut documents = 0;
            for document in collection.scan().run()? {
                document?;
                documents += 1;
            }
            Ok(documents)
        })
    }
}
