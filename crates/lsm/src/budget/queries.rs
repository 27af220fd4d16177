//! The memory of queries: one share of the budget for all queries together.
//!
//! Each query has one account ([`QueryMemory`]). All memory that the query holds is charged to this
//! account ([`QueryCharge`]): its stages, accumulators, sorts and results. Therefore no number of
//! stages or queries takes more than the share.
//!
//! - The first bytes of a query are free, so that a query that holds next to nothing touches no
//!   counter that others use.
//! - A quarter of the share is left to queries that hold little. A query that holds more may take
//!   at most four times the bytes that are free in the rest. Therefore a few large queries get most
//!   of the memory, and many large queries get about the same amount each.
//! - A charge that is refused changes nothing: the query continues in files, or ends.

use super::{Budget, Owner};
use alluvium_env::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The least share of all queries.
const SHARE_MIN: usize = 64 << 20;

/// The bytes of a query that are not counted.
const FREE: usize = 32 << 10;

/// Memory is drawn from the share in units of this many bytes.
const UNIT: usize = 32 << 10;

/// A query that holds at most this many bytes may use all of the share.
const SMALL: usize = 256 << 10;

/// A larger query may hold at most this many times the free bytes.
const TIMES_FREE: usize = 4;

/// A charge that grows takes at most this many bytes in advance.
const AHEAD_MAX: usize = 256 << 10;

/// The account of one query.
#[derive(Debug, Clone)]
pub struct QueryMemory(Arc<Query>);

#[derive(Debug)]
struct Query {
    budget: Arc<Budget>,
    /// The bytes of all charges.
    held: Mutex<usize>,
}

/// Memory that a query holds; released on drop.
#[derive(Debug)]
pub struct QueryCharge {
    query: QueryMemory,
    bytes: usize,
}

/// The bytes that a query draws from the share if it holds this many.
fn drawn(held: usize) -> usize {
    held.saturating_sub(FREE).next_multiple_of(UNIT)
}

impl Budget {
    /// The bytes that all queries may hold together: half of the budget, and at least 64 MiB.
    pub fn query_share(&self) -> usize {
        (self.total / 2).max(SHARE_MIN)
    }

    /// Draws bytes for a query that then holds `held`. Returns false if there are too few bytes
    /// left.
    fn draw(&self, bytes: usize, held: usize) -> bool {
        let share = self.query_share();
        let used = &self.used[Owner::Queries as usize];
        let fits = |before: usize| {
            let after = before.checked_add(bytes)?;
            let is_allowed = if held <= SMALL {
                after <= share
            } else {
                let free = (share - share / 4).saturating_sub(after);
                held <= free.saturating_mul(TIMES_FREE)
            };
            is_allowed.then_some(after)
        };
        let is_drawn = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok();
        if is_drawn {
            self.announce();
        }
        is_drawn
    }

    fn give_back(&self, bytes: usize) {
        self.used[Owner::Queries as usize].fetch_sub(bytes, Ordering::Relaxed);
        self.announce();
    }
}

impl QueryMemory {
    /// The account of a query that holds nothing.
    pub fn new(budget: &Arc<Budget>) -> Self {
        Self(Arc::new(Query { budget: budget.clone(), held: Mutex::new(0) }))
    }

    /// The account of another query of the same database, which holds nothing.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::new(&self.0.budget)
    }

    /// A charge of zero bytes.
    pub fn charge(&self) -> QueryCharge {
        QueryCharge { query: self.clone(), bytes: 0 }
    }

    /// The bytes of all charges.
    pub fn held(&self) -> usize {
        *self.0.held.lock()
    }

    /// Charges further bytes. Returns false if the queries of the database have no more bytes left.
    fn grow(&self, bytes: usize) -> bool {
        let mut held = self.0.held.lock();
        let Some(after) = held.checked_add(bytes) else { return false };
        let needed = drawn(after) - drawn(*held);
        if needed > 0 && !self.0.budget.draw(needed, after) {
            return false;
        }
        *held = after;
        true
    }

    fn shrink(&self, bytes: usize) {
        let mut held = self.0.held.lock();
        let after = held.saturating_sub(bytes);
        let released = drawn(*held) - drawn(after);
        *held = after;
        if released > 0 {
            self.0.budget.give_back(released);
        }
    }
}

impl QueryCharge {
    /// The bytes charged.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Charges at least this many bytes, and some more in advance if available. Returns false, and
    /// changes nothing, if the queries of the database have too few bytes left.
    #[must_use]
    pub fn grow(&mut self, bytes: usize) -> bool {
        if bytes <= self.bytes {
            return true;
        }
        let ahead = bytes.saturating_add((bytes / 2).min(AHEAD_MAX));
        for to in [ahead, bytes] {
            if self.query.grow(to - self.bytes) {
                self.bytes = to;
                return true;
            }
        }
        false
    }

    /// Charges at most this many bytes.
    pub fn shrink(&mut self, bytes: usize) {
        if bytes < self.bytes {
            self.query.shrink(self.bytes - bytes);
            self.bytes = bytes;
        }
    }
}

impl Drop for QueryCharge {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

#[cfg(test)]
mod tests;
