//! `$sample`: documents chosen at random.

use super::gather::Held;
use super::host::Host;
use super::run::Run;
use super::stream::Stream;
use alluvium_query::pipeline::Record;

/// `$sample`, by algorithm R of J. S. Vitter, "Random Sampling with a Reservoir", ACM Transactions on
/// Mathematical Software 11 (1985). The chosen documents come in a random order.
pub(super) struct Sampling<H: Host> {
    input: Box<dyn Stream<H>>,
    most: u64,
    chosen: Option<std::vec::IntoIter<Record>>,
    held: Option<Held<H>>,
}

impl<H: Host> Sampling<H> {
    pub fn new(input: Box<dyn Stream<H>>, most: u64) -> Self {
        Self { input, most, chosen: None, held: None }
    }

    fn choose(&mut self, run: &mut Run<H>) -> Result<Vec<Record>, H::Error> {
        let (mut chosen, mut seen): (Vec<Record>, u64) = (Vec::new(), 0);
        let held = self.held.insert(Held::new(run, "$sample"));
        while let Some(record) = self.input.next(run)? {
            run.tick()?;
            seen += 1;
            if (chosen.len() as u64) < self.most {
                held.add(record.bytes())?;
                chosen.push(record);
            } else {
                let at = below(run, seen);
                if at < self.most {
                    let place = &mut chosen[at as usize];
                    held.subtract(place.bytes());
                    held.add(record.bytes())?;
                    *place = record;
                }
            }
        }
        for at in (1..chosen.len()).rev() {
            let other = below(run, at as u64 + 1) as usize;
            chosen.swap(at, other);
        }
        Ok(chosen)
    }
}

/// A random number below `limit`.
fn below<H: Host>(run: &Run<H>, limit: u64) -> u64 {
    ((u128::from(run.host.env().rng.next_u64()) * u128::from(limit)) >> 64) as u64
}

impl<H: Host> Stream<H> for Sampling<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        if self.chosen.is_none() {
            self.chosen = Some(self.choose(run)?.into_iter());
        }
        let next = self.chosen.as_mut().and_then(Iterator::next);
        if next.is_none() {
            self.held = None;
        }
        Ok(next)
    }
}
