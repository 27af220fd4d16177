//! The memory of requests and replies.
//!
//! A message of some size is charged to an account before it is read, expanded and decoded, and the reply that a client
//! does not read while it waits to be sent. A message or reply that does not fit waits for a time, in the order of
//! arrival, and is then refused. Small requests never wait: they are charged even beyond the capacity, because they can
//! exceed it only by a little.
//!
//! One principal gets at most three quarters of the account, unless what it asks for is all that it has. A request that is
//! executed is not held to that: it has memory that comes back when it ends. So that requests which hold some and wait for
//! more do not wait for each other, one of them at a time may exceed the capacity, by a large document. So may the reply to
//! a write that was made, which is never refused.

use crate::principal::Principal;
use alluvium_env::sync::{Condvar, Mutex};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;

/// The least memory of all requests and replies.
const CAPACITY_MIN: usize = 64 << 20;
/// The part of the memory of the database that they have.
const PART: usize = 4;
/// The memory of the messages of connections that have to log in.
const STRANGERS: usize = 16 << 20;
/// The bytes that are charged at once and never wait: for requests and replies, and for clients without a login.
pub(crate) const SMALL: usize = 256 << 10;
const SMALL_OF_STRANGERS: usize = 64 << 10;
/// The memory that an executing request may take beyond the capacity: that of the largest document, decoded.
const OVERDRAFT_MAX: usize = 17 << 20;
/// One thread may wait for memory for each of these parts of the capacity, and two at least: each thread has a permit and a
/// document, which may be as large as the part.
const BYTES_OF_A_THREAD: usize = 16 << 20;
/// The time between two looks whether a request that waits on a thread is to end.
const LOOK: Duration = Duration::from_millis(50);

/// An account of memory.
#[derive(Clone)]
pub(crate) struct Memory(Arc<Account>);

struct Account {
    capacity: usize,
    small: usize,
    state: Mutex<State>,
    /// Something was given back.
    freed: Condvar,
}

#[derive(Default)]
struct State {
    used: usize,
    by_principal: HashMap<Principal, usize>,
    waiting: VecDeque<Waiting>,
    /// How many threads wait.
    threads: usize,
    /// A request that is executed has more than there was.
    is_overdrawn: bool,
}

/// A charge that does not fit yet.
struct Waiting {
    principal: Principal,
    bytes: usize,
    granted: oneshot::Sender<Charge>,
}

/// When the memory of a request that is executed comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// When the request ends, at the latest.
    Ended,
    /// When the client has read the reply.
    Sent,
}

/// Memory that is charged until this is dropped.
pub(crate) struct Charge {
    account: Arc<Account>,
    principal: Principal,
    bytes: usize,
    /// It exceeded the capacity.
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

    /// An account of this capacity, which charges of at most `small` bytes may exceed.
    pub(crate) fn new(capacity: usize, small: usize) -> Self {
        let (state, freed) = (Mutex::new(State::default()), Condvar::new());
        Self(Arc::new(Account { capacity, small, state, freed }))
    }

    /// Charges memory that is used already, or too small to wait for.
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

    /// Charges memory when it is free. `None` if it is not within this time, or will never be.
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
        // Since the look before, something may have been given back.
        self.0.grant();
        match tokio::time::timeout(limit, &mut waiting).await {
            Ok(granted) => granted.ok(),
            Err(_) => {
                waiting.close();
                // Those behind it may fit.
                let late = waiting.try_recv().ok();
                self.0.grant();
                late
            }
        }
    }

    /// As [`Memory::charge`], on a thread that executes a request, which has memory already; `stop` ends the wait.
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
        // Those that wait have no memory yet; this request may have some, so it is the first.
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

    /// Charges the memory of the reply to a write that was made: when it fits, or exceeds the capacity alone. `killOp`
    /// does not end this wait, since there is nothing more to end. `is_over` ends it.
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

    /// True if memory lacks: someone waits for it, or less than an eighth is free.
    pub(crate) fn is_short(&self) -> bool {
        let state = self.0.state.lock();
        !state.waiting.is_empty() || state.threads > 0 || state.used > self.0.capacity / 8 * 7
    }

    /// True if more is used than there is, by more than a quarter.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.0.state.lock().used > self.0.capacity / 4 * 5
    }

    /// The bytes that are used.
    pub(crate) fn used(&self) -> usize {
        self.0.state.lock().used
    }
}

impl State {
    fn fits(&self, capacity: usize, principal: &Principal, bytes: usize) -> bool {
        let own = self.by_principal.get(principal).copied().unwrap_or_default();
        self.used + bytes <= capacity && (own == 0 || own + bytes <= capacity / 4 * 3)
    }

    /// `None` if the charge of an executing request does not fit; true if it fits only by exceeding the capacity.
    fn fits_running(&self, capacity: usize, bytes: usize) -> Option<bool> {
        if self.used + bytes <= capacity {
            return Some(false);
        }
        (!self.is_overdrawn && bytes <= OVERDRAFT_MAX.min(capacity / 2)).then_some(true)
    }

    /// As [`State::fits_running`], of any size: at most one such charge exceeds the capacity at a time.
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
    /// The most threads that wait for memory.
    fn threads_max(&self) -> usize {
        (self.capacity / BYTES_OF_A_THREAD).max(2)
    }

    /// Gives what is free to those that wait: in their order, where only a principal's own share keeps one back.
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

    /// Releases the bytes of the charge that exceed `bytes`.
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
