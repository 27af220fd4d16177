//! Writes the library's log to standard error.

use alluvium::{Map, Value};
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

/// The form of the lines of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Seconds since the start, level, text
    Text,
    /// A JSON object with time, level, module, message and what the event is about
    Json,
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

/// Writes log records to standard error as lines.
struct Lines {
    clock: Arc<dyn Clock>,
    began: Duration,
    format: Format,
}

impl Lines {
    fn line(&self, record: &log::Record<'_>) -> String {
        let level = record.level().as_str().to_ascii_lowercase();
        match self.format {
            Format::Text => {
                let seconds = self.clock.now().saturating_sub(self.began).as_secs_f64();
                format!("{seconds:9.3} {level:5} {}", crate::text::plain(&record.args().to_string()))
            }
            Format::Json => {
                let mut fields = Fields(Map::from([
                    ("time", Value::DateTime(self.clock.unix_millis())),
                    ("level", Value::from(level)),
                    ("module", Value::from(record.target())),
                    ("message", Value::from(record.args().to_string())),
                ]));
                let _never = record.key_values().visit(&mut fields);
                fields.0.to_string()
            }
        }
    }
}

/// Collects the fields of an event.
struct Fields(Map);

impl<'k> log::kv::VisitSource<'k> for Fields {
    fn visit_pair(&mut self, key: log::kv::Key<'k>, value: log::kv::Value<'k>) -> Result<(), log::kv::Error> {
        let value = value.to_i64().map_or_else(|| Value::from(value.to_string()), Value::from);
        self.0.push(key.as_str(), value);
        Ok(())
    }
}

impl log::Log for Lines {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        // Accepts only the library's own records, except those about a failed open, which the command reports as its
        // error.
        metadata.target().starts_with("alluvium") && metadata.target() != "alluvium::open"
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            // If standard error is closed, there is nowhere to report it.
            let _closed = writeln!(std::io::stderr(), "{}", self.line(record));
        }
    }

    fn flush(&self) {}
}

/// Starts logging events of this level and above.
pub fn start(env: &Env, level: Level, format: Format) {
    let lines = Lines { clock: env.clock.clone(), began: env.clock.now(), format };
    if log::set_boxed_logger(Box::new(lines)).is_ok() {
        log::set_max_level(level.into());
    }
}
