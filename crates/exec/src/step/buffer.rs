//! Returns documents one by one from a step that returns batches.

use super::Step;
use crate::item::{Demand, Item};
use crate::run::Run;
use crate::source::Source;

/// A batch whose items are removed one by one.
pub(crate) struct Buffer<E> {
    items: Vec<Item>,
    next: usize,
    /// The error that follows the items.
    failed: Option<E>,
}

impl<E> Buffer<E> {
    pub fn new() -> Self {
        Self { items: Vec::new(), next: 0, failed: None }
    }

    /// True if the next item has to be pulled from the step.
    pub fn is_empty(&self) -> bool {
        self.next == self.items.len()
    }

    /// The bytes of the rows that were read ahead.
    pub fn bytes(&self) -> usize {
        let ahead = self.items.iter().skip(self.next);
        ahead.map(Item::row_len).sum()
    }

    /// The next item. Pulls a batch of `demand` items if the buffer is empty.
    #[inline]
    pub fn pop<S: Source<Error = E>>(
        &mut self,
        step: &mut Step<S>,
        run: &mut Run<S>,
        demand: Demand,
    ) -> Result<Option<Item>, E> {
        if self.is_empty() {
            self.fill(step, run, demand)?;
        }
        let Some(item) = self.items.get_mut(self.next) else { return Ok(None) };
        self.next += 1;
        Ok(Some(std::mem::take(item)))
    }

    fn fill<S: Source<Error = E>>(&mut self, step: &mut Step<S>, run: &mut Run<S>, demand: Demand) -> Result<(), E> {
        self.items.clear();
        self.next = 0;
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.items.capacity() == 0 {
            self.items.reserve_exact(demand.most);
        }
        match step.next(run, demand, &mut self.items) {
            Err(error) if self.items.is_empty() => Err(error),
            Err(error) => {
                self.failed = Some(error);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}
