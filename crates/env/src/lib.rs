//! The outside world: files, time, randomness, threads and locks. All of it can be replaced, for
//! example in tests.
//!
//! Crates above this one never call the operating system directly. [`Env::os`] is the real machine;
//! [`mem::MemFs`] is a file system in memory, which can be cloned in the state after a power cut;
//! [`fault::FaultFs`] wraps another file system and fails on demand; an [`OverlayFs`] keeps the
//! changes of one directory in memory.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod around;
mod bounded;
mod clock;
mod direct;
mod error;
pub mod fault;
mod forward;
mod fs;
pub mod mark;
pub mod marks;
pub mod mem;
#[cfg(feature = "loom")]
pub mod orders;
mod os;
mod overlay;
mod rng;
#[cfg(feature = "shuttle")]
pub mod schedules;
pub mod simulated;
pub mod slow;
mod stream;
pub mod sync;
pub mod thread;
#[cfg(feature = "shuttle")]
mod timeline;

pub use around::{AroundReader, FILLER, Unreadable};
pub use bounded::BoundedFs;
pub use clock::{Clock, ManualClock};
pub use direct::{DIRECT_BLOCK_BYTES, DirectFs};
pub use error::{Error, Result};
pub use fs::{DirEntry, File, FileLock, Fs, OpenMode, create_dir_durably, parent_of};
pub use overlay::OverlayFs;
pub use rng::{Rng, SeededRng};
pub use stream::{FileReader, WholeFile};

use std::sync::Arc;

/// A handle on the outside world: a file system, a clock and a source of randomness.
///
/// An `Env` is cheap to clone. A database uses the outside world only through its `Env`.
#[derive(Clone)]
pub struct Env {
    /// The file system.
    pub fs: Arc<dyn Fs>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of randomness.
    pub rng: Arc<dyn Rng>,
}

impl Env {
    /// The same environment with the existing directory `dir` held open: see [`Fs::hold_dir`].
    ///
    /// # Errors
    /// If the directory cannot be opened.
    pub fn hold_dir(&self, dir: &std::path::Path) -> Result<Self> {
        Ok(Self { fs: self.fs.hold_dir(dir)?, ..self.clone() })
    }

    /// The real machine.
    pub fn os() -> Self {
        Self { fs: Arc::new(os::OsFs::new()), clock: Arc::new(clock::OsClock::new()), rng: Arc::new(rng::OsRng::new()) }
    }

    /// An environment in memory with a manual clock and a seeded source of randomness.
    pub fn in_memory(seed: u64) -> Self {
        Self {
            fs: Arc::new(mem::MemFs::new()),
            clock: Arc::new(ManualClock::new()),
            rng: Arc::new(SeededRng::new(seed)),
        }
    }
}
