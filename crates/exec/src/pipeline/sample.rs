//! `$sample`: documents chosen at random.

use super::host::Host;
use super::run::Run;
use super::stream::Stream;
use alluvium_query::pipeline::{PipelineError, Record};

/// `$sample`, by algorithm R of J. S. Vitter, "Random Sampling with a Reservoir", ACM Transactions on
/// Mathematical Software 11 (1985). The chosen documents come in a random order.
pub(super) struct Sampling<H> {
    input: Box<dyn Stream<H>>,
    most: u64,
    chosen: Option<std::vec::IntoIter<Record>>,
}

impl<H: Host> Sampling<H> {
    pub fn new(input: Box<dyn Stream<H>>, most: u64) -> Self {
        Self { input, most, chosen: None }
    }

    fn choose(&mut self, run: &mut Run<H>) -> Result<Vec<Record>, H::Error> {
        let (mut chosen, mut seen, mut bytes): (Vec<Record>, u64, usize) = (Vec::new(), 0, 0);
        while let Some(record) = self.input.next(run)? {
            run.tick()?;
            seen += 1;
            if (chosen.len() as u64) < self.most {
                bytes += record.bytes();
                chosen.push(record);
            } else {
                let at = below(run, seen);
                if at < self.most {
                    let place = &mut chosen[at as usize];
                    bytes = (bytes + record.bytes()).saturating_sub(place.bytes());
                    *place = record;
                }
            }
            if bytes > run.settings.stage_bytes_max {
                return Err(PipelineError::too_much_memory("$sample", run.settings.stage_bytes_max).into());
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
        Ok(self.chosen.as_mut().and_then(Iterator::next))
    }
}
