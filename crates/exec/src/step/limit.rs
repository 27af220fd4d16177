//! Some documents from the front are passed over, and some returned.

use super::Step;
use crate::item::{BATCH_MAX, Demand, Item};
use crate::run::Run;
use crate::source::Source;

pub(super) struct Limit<S: Source> {
    input: Step<S>,
    skip: u64,
    /// How many may still be returned; `u64::MAX` without a limit.
    left: u64,
}

impl<S: Source> Limit<S> {
    pub fn new(input: Step<S>, skip: u64, limit: Option<u64>) -> Self {
        Self { input, skip, left: limit.unwrap_or(u64::MAX) }
    }

    pub fn input(&self) -> &Step<S> {
        &self.input
    }

    pub fn next(&mut self, run: &mut Run<S>, demand: Demand, out: &mut Vec<Item>) -> Result<(), S::Error> {
        let open_ended = demand.open_ended && self.left == u64::MAX;
        while self.left > 0 {
            let wanted = self.skip.saturating_add(self.left.min(demand.most as u64));
            let most = usize::try_from(wanted).unwrap_or(usize::MAX).min(BATCH_MAX);
            let start = out.len();
            let result = self.input.next(run, Demand { most, open_ended }, out);
            let found = out.len() - start;
            let dropped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(found);
            out.drain(start..start + dropped);
            self.skip -= dropped as u64;
            let returned = found - dropped;
            if self.left != u64::MAX {
                self.left -= returned as u64;
            }
            result?;
            if found == 0 {
                self.left = 0;
            }
            if returned > 0 {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
