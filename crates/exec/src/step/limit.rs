//! Skips documents at the front, and limits the number of documents.

use super::Step;
use crate::item::{BATCH_MAX, Demand, Item};
use crate::run::Run;
use crate::source::Source;

pub(super) struct Limit<S: Source> {
    input: Step<S>,
    skip: u64,
    /// The number of documents that may still be returned; `u64::MAX` without a limit.
    remaining: u64,
}

impl<S: Source> Limit<S> {
    pub fn new(input: Step<S>, skip: u64, limit: Option<u64>) -> Self {
        Self { input, skip, remaining: limit.unwrap_or(u64::MAX) }
    }

    pub fn input(&self) -> &Step<S> {
        &self.input
    }

    pub fn input_mut(&mut self) -> &mut Step<S> {
        &mut self.input
    }

    pub fn next(&mut self, run: &mut Run<S>, demand: Demand, out: &mut Vec<Item>) -> Result<(), S::Error> {
        let open_ended = demand.open_ended && self.remaining == u64::MAX;
        while self.remaining > 0 {
            let wanted = self.skip.saturating_add(self.remaining.min(demand.most as u64));
            let most = usize::try_from(wanted).unwrap_or(usize::MAX).min(BATCH_MAX);
            let start = out.len();
            let result = self.input.next(run, Demand { most, open_ended }, out);
            let found = out.len() - start;
            let dropped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(found);
            out.drain(start..start + dropped);
            self.skip -= dropped as u64;
            let returned = found - dropped;
            if self.remaining != u64::MAX {
                self.remaining -= returned as u64;
            }
            result?;
            if found == 0 {
                self.remaining = 0;
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
