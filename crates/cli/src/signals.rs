//! Handles ctrl-C and SIGTERM: the first signal asks the command to stop, the second ends the process at once.

use crate::exit::{Failure, INTERRUPTED, Outcome};
use alluvium_env::sync::Mutex;
use libc::SIGXFSZ;
use signal_hook::consts::{SIGHUP, SIGINT, TERM_SIGNALS};
use signal_hook::{SigId, flag, low_level};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The maximum time until a waiting thread notices a signal.
pub(crate) const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// The flag that the first signal sets, for code that is not given the flag.
static OF_PROCESS: OnceLock<Stop> = OnceLock::new();

/// Returns an error if a signal has requested the command to stop.
pub(crate) fn check() -> Outcome {
    shared().as_ref().or_else(|| OF_PROCESS.get()).map_or(Ok(()), Stop::check)
}

thread_local! {
    /// The flag that all commands on this thread share in a shell.
    static SHARED: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

/// Makes commands on this thread use this flag instead of their own; `None` restores their own.
pub(crate) fn share(stop: Option<Stop>) {
    SHARED.with(|shared| *shared.borrow_mut() = stop);
}

/// The shared flag.
pub(crate) fn shared() -> Option<Stop> {
    SHARED.with(|shared| shared.borrow().clone())
}

/// Makes a write beyond the process's limit on the size of files (`ulimit -f`) an error, for standard output and the
/// other files that this program writes. By default, the system ends the process with the signal SIGXFSZ. The library
/// needs no handler, because it refuses such a write beforehand.
pub fn survive_large_files() {
    // With a handler that does nothing, the write returns an error. If no handler can be installed, the signal still
    // ends the process.
    let _as_before = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// Installs a handler for SIGHUP: each SIGHUP sets the flag, which the caller resets.
pub(crate) fn hang_up() -> Outcome<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    flag::register(SIGHUP, Arc::clone(&flag))
        .map_err(|error| Failure::Other(format!("cannot handle the signal SIGHUP: {error}")))?;
    Ok(flag)
}

/// A flag that the first signal sets.
#[derive(Debug, Clone)]
pub struct Stop {
    flag: Arc<AtomicBool>,
}

impl Stop {
    /// Installs signal handlers: the first signal sets the flag, the second ends the process.
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

    /// Installs signal handlers: the first signal ends the process, with the exit code that all commands use for this.
    /// It is meant for commands that only read, or whose unfinished work is discarded or completed when the database is
    /// next opened. In a shell, which continues, the first signal sets the flag as usual.
    pub fn at_once() -> Outcome<Self> {
        if let Some(stop) = shared() {
            return Ok(stop);
        }
        Self::install(TERM_SIGNALS, &Arc::new(AtomicBool::new(true)))?;
        Ok(Self::never())
    }

    /// Installs a handler for ctrl-C alone: the first one sets the flag, and the next one ends the process, unless
    /// [`Stop::forget`] was called in between.
    pub(crate) fn on_interrupts() -> Outcome<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        Self::install(&[SIGINT], &flag)?;
        Ok(Self { flag })
    }

    /// Clears the flag after the interrupted command has ended.
    pub(crate) fn forget(&self) {
        self.flag.store(false, Ordering::Relaxed);
    }

    /// A flag that is set by something other than signals.
    pub(crate) fn of(flag: Arc<AtomicBool>) -> Self {
        Self { flag }
    }

    /// A flag that signals do not set.
    pub fn never() -> Self {
        Self { flag: Arc::new(AtomicBool::new(false)) }
    }

    fn install(signals: &[i32], flag: &Arc<AtomicBool>) -> Outcome {
        for signal in signals {
            let handlers = Handlers::install(*signal, flag.clone())
                .map_err(|error| Failure::Other(format!("cannot watch for signals: {error}")))?;
            if *signal == SIGINT {
                OF_INTERRUPTS.get_or_init(|| Mutex::new(Vec::new())).lock().push(handlers);
            }
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

    /// Returns an error if the flag is set; to be called between two steps.
    pub fn check(&self) -> Outcome {
        if self.is_set() { Err(Failure::Interrupted(String::new())) } else { Ok(()) }
    }
}

/// The handlers of one signal for one flag.
struct Handlers {
    signal: i32,
    flag: Arc<AtomicBool>,
    /// The handler that ends the process if the flag is set.
    ending: SigId,
    /// The handler that sets the flag.
    setting: SigId,
}

/// The installed handlers of ctrl-C.
static OF_INTERRUPTS: OnceLock<Mutex<Vec<Handlers>>> = OnceLock::new();

impl Handlers {
    fn install(signal: i32, flag: Arc<AtomicBool>) -> std::io::Result<Self> {
        // The order matters: a signal ends the process only if the flag was set before.
        let ending = flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), flag.clone())?;
        let setting = flag::register(signal, flag.clone())?;
        Ok(Self { signal, flag, ending, setting })
    }
}

/// While this value exists, ctrl-C sets the flags, but does not end the process. A pager on the same terminal also
/// receives the signal, and its user decides when the pager ends.
pub(crate) struct Outlived(());

impl Outlived {
    /// Begins the time in which ctrl-C does not end the process.
    pub(crate) fn begin() -> Self {
        if let Some(all) = OF_INTERRUPTS.get() {
            for handlers in all.lock().iter() {
                low_level::unregister(handlers.ending);
            }
        }
        Self(())
    }
}

impl Drop for Outlived {
    fn drop(&mut self) {
        let Some(all) = OF_INTERRUPTS.get() else { return };
        for handlers in all.lock().iter_mut() {
            // Both handlers are installed again, because their order matters.
            low_level::unregister(handlers.setting);
            if let Ok(again) = Handlers::install(handlers.signal, handlers.flag.clone()) {
                *handlers = again;
            }
        }
    }
}
