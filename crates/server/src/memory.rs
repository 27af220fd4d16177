//! The memory of requests and replies.
//!
//! A message above a certain size is charged to an account before it is read, decompressed and decoded. A reply is
//! charged while it waits for the client to read it. A message or reply that does not fit waits for a time, in the
//! order of arrival, and is then refused. Small requests never wait: they are charged even beyond the capacity, because
//! they can exceed it only by a little.
//!
//! One principal gets at most three quarters of the account, unless the principal has no other charge. This limit does
//! not apply to a running request, whose memory is released when the request ends. Running requests that hold memory
//! and wait for more must not block each other: therefore, one of them at a time may exceed the capacity by a large
//! document. The reply to a finished write may exceed the capacity, too, and is never refused.

use crate::principal::Principal;
use alluvium_env::sync::{Condvar, Mutex};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;

/// The least memory of all requests and replies.
const CAPACITY_MIN: usize = 64 << 20;
/// The part of the database's memory for requests and replies.
const PART: usize = 4;
/// The memory for messages of connections that have to log in.
const STRANGERS: usize = 16 << 20;
/// Charges of at most this number of bytes never wait: for requests and replies, and for clients without a login.
pub(crate) const SMALL: usize = 256 << 10;
const SMALL_OF_STRANGERS: usize = 64 << 10;
/// The memory that a running request may take beyond the capacity: the memory of the largest document, decoded.
const OVERDRAFT_MAX: usize = 17 << 20;
/// The capacity divided by this number is the number of threads that may wait for memory; at least two may wait. Each
/// of these threads holds a permit and a document, which may have this size.
const BYTES_OF_A_THREAD: usize = 16 << 20;
/// The time between two checks whether a request that waits on a thread has to end.
const LOOK: Duration = Duration::from_millis(50);

/// A memory account.
#[derive(Clone)]
pub(crate) struct Memory(Arc<Account>);

struct Account {
    capacity: usize,
    small: usize,
    state: Mutex<State>,
    /// Notified when memory is released.
    freed: Condvar,
}

#[derive(Default)]
struct State {
    used: usize,
    by_principal: HashMap<Principal, usize>,
    waiting: VecDeque<Waiting>,
    /// The number of waiting threads.
    threads: usize,
    /// True if a running request has exceeded the capacity.
    is_overdrawn: bool,
}

/// A charge that waits for memory.
struct Waiting {
    principal: Principal,
    bytes: usize,
    granted: oneshot::Sender<Charge>,
}

/// The time at which the memory of a running request is released.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// At the end of the request, or earlier.
    Ended,
    /// After the client has read the reply.
    Sent,
}

/// Memory that is charged until this value is dropped.
pub(crate) struct Charge {
    account: Arc<Account>,
    principal: Principal,
    bytes: usize,
    /// True if the charge has exceeded the capacity.
    is_overdraft: bool,
}

impl Memory {
    /// The account of a server whose database has this memory.
    pub(crate) fn of_database(bytes: usize) -> Self {
        Self::new((bytes / PART).max(CAPACITY_MIN), SMALL)
    }

    /// The account of connections that have to log in.
    pub(crate) fn of_strangers() -> Self {
        Self::new(STRANGERS, SMALL_OF_STRANGERS)
    }

    /// An account with this capacity. Charges of at most `small` bytes may exceed the capacity.
    pub(crate) fn new(capacity: usize, small: usize) -> Self {
        let (state, freed) = (Mutex::new(State::default()), Condvar::new());
        Self(Arc::new(Account { capacity, small, state, freed }))
    }

    /// Charges memory that is in use already, or that is too small to wait for.
    pub(crate) fn note(&self, principal: &Principal, bytes: usize) -> Charge {
        self.0.state.lock().add(principal, bytes);
        self.granted(principal, bytes)
    }

    /// Charges memory if it is free.
    pub(crate) fn try_charge(&self, principal: &Principal, bytes: usize) -> Option<Charge> {
        let mut state = self.0.state.lock();
        let is_next = state.waiting.is_empty() && state.fits(self.0.capacity, principal, bytes);
        is_next.then(|| {
            state.add(principal, bytes);
            drop(state);
            self.granted(principal, bytes)
        })
    }

    /// Charges memory when it is free. Returns `None` if the memory does not become free within `limit`, or exceeds the
    /// capacity.
    pub(crate) async fn charge(&self, principal: &Principal, bytes: usize, limit: Duration) -> Option<Charge> {
        if bytes <= self.0.small {
            return Some(self.note(principal, bytes));
        }
        if let Some(charge) = self.try_charge(principal, bytes) {
            return Some(charge);
        }
        if bytes > self.0.capacity {
            return None;
        }
        let (granted, mut waiting) = oneshot::channel();
        self.0.state.lock().waiting.push_back(Waiting { principal: principal.clone(), bytes, granted });
        // Memory may have been released since the check above.
        self.0.grant();
        match tokio::time::timeout(limit, &mut waiting).await {
            Ok(granted) => granted.ok(),
            Err(_) => {
                waiting.close();
                // The charges behind this one may fit.
                let late = waiting.try_recv().ok();
                self.0.grant();
                late
            }
        }
    }

    /// As [`Memory::charge`], for a thread that executes a request, and therefore holds memory already. `stop` ends the
    /// wait.
    pub(crate) fn charge_on_thread(
        &self,
        principal: &Principal,
        bytes: usize,
        until: Until,
        limit: Duration,
        stop: &AtomicBool,
    ) -> Option<Charge> {
        if bytes <= self.0.small {
            return Some(self.note(principal, bytes));
        }
        let mut looks = limit.as_millis() / LOOK.as_millis();
        let mut state = self.0.state.lock();
        // Waiting requests hold no memory yet. This request may hold some, and therefore precedes them.
        let fits_now = |state: &State| match until {
            Until::Ended => state.fits_running(self.0.capacity, bytes),
            Until::Sent => state.fits(self.0.capacity, principal, bytes).then_some(false),
        };
        let mut fits = fits_now(&state);
        if fits.is_none() && state.threads >= self.0.threads_max() {
            return None;
        }
        state.threads += 1;
        while fits.is_none() && bytes <= self.0.capacity && looks > 0 && !stop.load(Ordering::Relaxed) {
            self.0.freed.wait_for(&mut state, LOOK);
            looks -= 1;
            fits = fits_now(&state);
        }
        state.threads -= 1;
        Some(self.charge_running(&mut state, principal, bytes, fits?))
    }

    /// Charges the memory of the reply to a finished write, when the memory is free or no other charge exceeds the
    /// capacity. `is_over` ends the wait. `killOp` does not end it, because the write is done already.
    pub(crate) fn charge_made(&self, principal: &Principal, bytes: usize, is_over: impl Fn() -> bool) -> Charge {
        if bytes <= self.0.small {
            return self.note(principal, bytes);
        }
        let mut state = self.0.state.lock();
        let mut fits = state.fits_made(self.0.capacity, bytes);
        state.threads += 1;
        while fits.is_none() && !is_over() {
            self.0.freed.wait_for(&mut state, LOOK);
            fits = state.fits_made(self.0.capacity, bytes);
        }
        state.threads -= 1;
        self.charge_running(&mut state, principal, bytes, fits.unwrap_or(true))
    }

    fn charge_running(&self, state: &mut State, principal: &Principal, bytes: usize, is_overdraft: bool) -> Charge {
        state.is_overdrawn |= is_overdraft;
        state.add(principal, bytes);
        let mut charge = self.granted(principal, bytes);
        charge.is_overdraft = is_overdraft;
        charge
    }

    fn granted(&self, principal: &Principal, bytes: usize) -> Charge {
        Charge { account: Arc::clone(&self.0), principal: principal.clone(), bytes, is_overdraft: false }
    }

    /// The most that a request can be charged.
    pub(crate) fn capacity(&self) -> usize {
        self.0.capacity
    }

    /// True if memory is short: a request waits for memory, or less than an eighth is free.
    pub(crate) fn is_short(&self) -> bool {
        let state = self.0.state.lock();
        !state.waiting.is_empty() || state.threads > 0 || state.used > self.0.capacity / 8 * 7
    }

    /// True if the used memory exceeds the capacity by more than a quarter.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.0.state.lock().used > self.0.capacity / 4 * 5
    }

    /// The number of bytes in use.
    pub(crate) fn used(&self) -> usize {
        self.0.state.lock().used
    }
}

impl State {
    fn fits(&self, capacity: usize, principal: &Principal, bytes: usize) -> bool {
        let own = self.by_principal.get(principal).copied().unwrap_or_default();
        self.used + bytes <= capacity && (own == 0 || own + bytes <= capacity / 4 * 3)
    }

    /// Checks whether the charge of a running request fits. Returns `None` if it does not, and true if it fits only by
    /// exceeding the capacity.
    fn fits_running(&self, capacity: usize, bytes: usize) -> Option<bool> {
        if self.used + bytes <= capacity {
            return Some(false);
        }
        (!self.is_overdrawn && bytes <= OVERDRAFT_MAX.min(capacity / 2)).then_some(true)
    }

    /// As [`State::fits_running`], for charges of any size. At most one such charge exceeds the capacity at a time.
    fn fits_made(&self, capacity: usize, bytes: usize) -> Option<bool> {
        let fits = self.used + bytes <= capacity;
        (fits || !self.is_overdrawn).then_some(!fits)
    }

    fn add(&mut self, principal: &Principal, bytes: usize) {
        self.used += bytes;
        *self.by_principal.entry(principal.clone()).or_default() += bytes;
    }

    fn subtract(&mut self, principal: &Principal, bytes: usize) {
        self.used -= bytes;
        if let Some(own) = self.by_principal.get_mut(principal) {
            *own -= bytes;
            if *own == 0 {
                self.by_principal.remove(principal);
            }
        }
    }
}

impl Account {
    /// The most threads that may wait for memory.
    fn threads_max(&self) -> usize {
        (self.capacity / BYTES_OF_A_THREAD).max(2)
    }

    /// Grants free memory to waiting charges, in their order. A charge that only the limit of its principal holds back
    /// is skipped.
    fn grant(self: &Arc<Self>) {
        // Charges whose requests no longer wait are dropped after the lock is released.
        let mut refused = Vec::new();
        let mut state = self.state.lock();
        let mut at = 0;
        while let Some(next) = state.waiting.get(at) {
            if next.granted.is_closed() {
                state.waiting.remove(at);
                continue;
            }
            if !state.fits(self.capacity, &next.principal, next.bytes) {
                if state.used + next.bytes > self.capacity {
                    break;
                }
                at += 1;
                continue;
            }
            let Some(next) = state.waiting.remove(at) else { break };
            state.add(&next.principal, next.bytes);
            let charge =
                Charge { account: Arc::clone(self), principal: next.principal, bytes: next.bytes, is_overdraft: false };
            refused.extend(next.granted.send(charge).err());
        }
        drop(state);
        drop(refused);
    }
}

impl Charge {
    /// The number of bytes charged.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Releases the bytes of the charge above `bytes`.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        if let Some(free) = self.bytes.checked_sub(bytes).filter(|free| *free > 0) {
            self.bytes = bytes;
            self.account.give_back(&self.principal, free, false);
        }
    }

    /// Adds another charge of the same account and principal.
    pub(crate) fn add(&mut self, mut other: Self) {
        self.bytes += std::mem::take(&mut other.bytes);
        self.is_overdraft |= std::mem::take(&mut other.is_overdraft);
    }
}

impl Account {
    fn give_back(self: &Arc<Self>, principal: &Principal, bytes: usize, ends_overdraft: bool) {
        let mut state = self.state.lock();
        state.subtract(principal, bytes);
        state.is_overdrawn &= !ends_overdraft;
        let is_awaited = !state.waiting.is_empty();
        drop(state);
        self.freed.notify_all();
        if is_awaited {
            self.grant();
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.bytes > 0 || self.is_overdraft {
            self.account.give_back(&self.principal, self.bytes, self.is_overdraft);
        }
    }
}

#[cfg(test)]
mod tests;
