//! How long recorded changes are kept.

use crate::error::Result;
use alluvium_store::Error;
use std::time::Duration;

/// How long recorded changes are kept. Whichever limit is exceeded first ends their history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeRetention {
    /// The age at which a change is removed, and the time after which the recording ends that a change stream has begun
    /// and no change stream reads. Default: 24 hours.
    pub time: Duration,
    /// The oldest changes beyond this number of bytes are removed. The bytes are estimated: those in sorted files are
    /// compressed, and those in memory are not. Default: 4 GiB.
    pub bytes: u64,
}

impl Default for ChangeRetention {
    fn default() -> Self {
        Self { time: Duration::from_secs(24 * 3600), bytes: 4 << 30 }
    }
}

impl ChangeRetention {
    /// All changes are kept, unless the disk is short of space.
    pub const UNLIMITED: Self = Self { time: Duration::MAX, bytes: u64::MAX };

    /// Refuses a retention that keeps nothing.
    pub(crate) fn check(&self) -> Result<()> {
        let bad = |name| Err(Error::InvalidOption { name, must_be: "more than 0" }.into());
        match (self.time_ms(), self.bytes) {
            (0, _) => bad("the time for which recorded changes are kept"),
            (_, 0) => bad("the size of the recorded changes that are kept"),
            _ => Ok(()),
        }
    }

    /// The time in milliseconds.
    pub(crate) fn time_ms(&self) -> i64 {
        i64::try_from(self.time.as_millis()).unwrap_or(i64::MAX)
    }
}
