//! ctrl-C and SIGTERM: the first asks the command to stop, the second ends the process at once.

use crate::exit::{Failure, INTERRUPTED, Outcome};
use signal_hook::consts::{SIGINT, TERM_SIGNALS};
use signal_hook::flag;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How long a signal may go unnoticed where a thread waits for something else.
pub(crate) const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// What the first signal sets, for steps that are not given it.
static OF_PROCESS: OnceLock<Stop> = OnceLock::new();

/// Ends a command that a signal has asked to stop.
pub(crate) fn check() -> Outcome {
    OF_PROCESS.get().map_or(Ok(()), Stop::check)
}

thread_local! {
    /// The flag that the commands of this thread share: that of a shell.
    static SHARED: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

/// Makes commands on this thread take this flag, and install none of their own; `None`: again their own.
pub(crate) fn share(stop: Option<Stop>) {
    SHARED.with(|shared| *shared.borrow_mut() = stop);
}

/// The shared flag.
pub(crate) fn shared() -> Option<Stop> {
    SHARED.with(|shared| shared.borrow().clone())
}

/// Set by the first signal.
#[derive(Debug, Clone)]
pub struct Stop {
    flag: Arc<AtomicBool>,
}

impl Stop {
    /// Takes over the signals: the first one sets the flag, the next ends the process.
    pub fn on_signals() -> Outcome<Self> {
        if let Some(stop) = shared() {
            return Ok(stop);
        }
        let flag = Arc::new(AtomicBool::new(false));
        Self::install(TERM_SIGNALS, &flag)?;
        let stop = Self { flag };
        let _the_first_stays = OF_PROCESS.set(stop.clone());
        Ok(stop)
    }

    /// Takes over the signals: the first one ends the process, with the exit code of all others. For
    /// commands that only read, or whose work the next open throws away or finishes. In a shell, which
    /// goes on, the first one sets the flag, as ever.
    pub fn at_once() -> Outcome<Self> {
        if let Some(stop) = shared() {
            return Ok(stop);
        }
        Self::install(TERM_SIGNALS, &Arc::new(AtomicBool::new(true)))?;
        Ok(Self::never())
    }

    /// Takes over ctrl-C alone: the first sets the flag, the next ends the process, until [`Stop::forget`].
    pub(crate) fn on_interrupts() -> Outcome<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        Self::install(&[SIGINT], &flag)?;
        Ok(Self { flag })
    }

    /// Clears the flag, after the command that was to stop has ended.
    pub(crate) fn forget(&self) {
        self.flag.store(false, Ordering::Relaxed);
    }

    /// A flag that no signal sets.
    pub fn never() -> Self {
        Self { flag: Arc::new(AtomicBool::new(false)) }
    }

    fn install(signals: &[i32], flag: &Arc<AtomicBool>) -> Outcome {
        for signal in signals {
            // In this order: a signal that finds the flag set never returns.
            flag::register_conditional_shutdown(*signal, i32::from(INTERRUPTED), flag.clone())
                .and_then(|_| flag::register(*signal, flag.clone()))
                .map_err(|error| Failure::Other(format!("cannot watch for signals: {error}")))?;
        }
        Ok(())
    }

    /// True after the first signal.
    pub(crate) fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// The flag itself, for the library.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.flag.clone()
    }

    /// Ends a command between two steps.
    pub fn check(&self) -> Outcome {
        if self.is_set() { Err(Failure::Interrupted(String::new())) } else { Ok(()) }
    }
}
