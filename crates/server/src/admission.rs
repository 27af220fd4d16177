//! Limits the number of requests that are executed at a time.
//!
//! A request needs two permits: first a permit from the share of its principal, then a permit that all principals
//! share. The share of a principal has `--threads` permits, and the common permits are an eighth more. Therefore, no
//! principal holds all permits, and a waiting request is preceded by at most `--threads` requests of each other
//! principal. Control requests (`Lane::Control`) end or watch other requests, or keep a connection open. They are
//! short, and have permits of their own.

use crate::principal::Principal;
use alluvium_env::sync::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// The requests that a request waits for before it is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Waits for all other requests, when the server executes the most that it may.
    Ordinary,
    /// Waits for other control requests only. A control request is short: it ends or watches requests, or keeps the
    /// connection open.
    Control,
}

/// The permits of control requests, and how many of them one principal may hold.
pub(crate) const CONTROL: usize = 8;
const CONTROL_OF_EACH: usize = 6;
/// All principals together have the permits of one share, and one more for every eight permits of a share.
const OTHERS: usize = 8;

/// The permits of a server.
pub(crate) struct Admission {
    ordinary: Arc<Semaphore>,
    control: Arc<Semaphore>,
    of_each: usize,
    shares: Mutex<HashMap<Principal, Weak<Share>>>,
}

/// The permits of one principal.
struct Share {
    ordinary: Arc<Semaphore>,
    control: Arc<Semaphore>,
}

/// The share of a connection. The connection looks it up again when its principal changes.
#[derive(Default)]
pub(crate) struct Own(Option<(Principal, Arc<Share>)>);

/// The permits that a running request holds.
pub(crate) struct Permit {
    _of_all: OwnedSemaphorePermit,
    _of_share: OwnedSemaphorePermit,
}

/// The number of ordinary requests that all principals together may run, if each principal may run `of_each`.
pub(crate) fn of_all(of_each: usize) -> usize {
    of_each + (of_each / OTHERS).max(1)
}

impl Admission {
    /// Creates permits for this number of ordinary requests of each principal.
    pub(crate) fn new(of_each: usize) -> Self {
        Self {
            ordinary: Arc::new(Semaphore::new(of_all(of_each))),
            control: Arc::new(Semaphore::new(CONTROL)),
            of_each,
            shares: Mutex::default(),
        }
    }

    /// Waits until a request may be executed.
    ///
    /// # Errors
    /// None, since the permits are never closed.
    pub(crate) async fn admit(&self, own: &mut Own, principal: &Principal, lane: Lane) -> Result<Permit, AcquireError> {
        let share = self.share(own, principal);
        let (of_all, of_share) = match lane {
            Lane::Ordinary => (&self.ordinary, &share.ordinary),
            Lane::Control => (&self.control, &share.control),
        };
        let _of_share = Arc::clone(of_share).acquire_owned().await?;
        Ok(Permit { _of_all: Arc::clone(of_all).acquire_owned().await?, _of_share })
    }

    fn share(&self, own: &mut Own, principal: &Principal) -> Arc<Share> {
        if let Some((known, share)) = &own.0
            && known.is(principal)
        {
            return Arc::clone(share);
        }
        let mut shares = self.shares.lock();
        let share = match shares.get(principal).and_then(Weak::upgrade) {
            Some(share) => share,
            None => {
                // Sometimes, the shares of principals without connections are removed.
                if shares.len().is_power_of_two() {
                    shares.retain(|_, share| share.strong_count() > 0);
                }
                let (ordinary, control) = (Semaphore::new(self.of_each), Semaphore::new(CONTROL_OF_EACH));
                let share = Arc::new(Share { ordinary: Arc::new(ordinary), control: Arc::new(control) });
                shares.insert(principal.clone(), Arc::downgrade(&share));
                share
            }
        };
        own.0 = Some((principal.clone(), Arc::clone(&share)));
        share
    }
}

#[cfg(test)]
mod tests;
