//! Writes the library's log to standard error.

use alluvium_env::{Clock, Env};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

/// The level of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Level {
    /// Nothing
    Off,
    /// Only what keeps the database from working: damage, refused writes
    Error,
    /// Also what needs attention: torn tails, failed flushes, expired snapshots
    Warn,
    /// Also rare events: open, recovery, close
    Info,
    /// Also each flush and compaction, and slow operations
    Debug,
}

impl From<Level> for log::LevelFilter {
    fn from(level: Level) -> Self {
        match level {
            Level::Off => Self::Off,
            Level::Error => Self::Error,
            Level::Warn => Self::Warn,
            Level::Info => Self::Info,
            Level::Debug => Self::Debug,
        }
    }
}

/// Writes log records to standard error as lines: seconds since the start, level, text.
struct Lines {
    clock: Arc<dyn Clock>,
    began: Duration,
}

impl log::Log for Lines {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        // Only the library's own records; and not those about a failed open, which are the error of
        // the command.
        metadata.target().starts_with("alluvium") && metadata.target() != "alluvium::open"
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            let seconds = self.clock.now().saturating_sub(self.began).as_secs_f64();
            let level = record.level().as_str().to_ascii_lowercase();
            // If standard error is closed, there is nowhere to report it.
            let _closed = writeln!(
                std::io::stderr(),
                "{seconds:9.3} {level:5} {}",
                crate::text::plain(&record.args().to_string())
            );
        }
    }

    fn flush(&self) {}
}

/// Starts logging events of this level and above.
pub fn start(env: &Env, level: Level) {
    let lines = Lines { clock: env.clock.clone(), began: env.clock.now() };
    if log::set_boxed_logger(Box::new(lines)).is_ok() {
        log::set_max_level(level.into());
    }
}
