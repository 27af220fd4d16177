//! The last lines that the server has logged about itself and its clients. `getLog` shows them.

use alluvium::{Map, Value};
use alluvium_env::Clock;
use alluvium_env::sync::Mutex;
use std::collections::VecDeque;

/// The number of lines that are kept, as in MongoDB.
const LINES_MAX: usize = 1024;
/// The most characters of a message; longer messages are cut.
const MESSAGE_CHARS_MAX: usize = 1024;

/// The last lines.
#[derive(Default)]
pub(crate) struct RecentLog {
    lines: Mutex<Lines>,
}

/// A copy of the lines.
#[derive(Debug, Default, Clone)]
pub(crate) struct Lines {
    /// The last lines, the oldest first.
    pub lines: VecDeque<String>,
    /// The number of all lines since the start.
    pub written: u64,
    /// The warnings of the start, for the administrator.
    pub warnings: Vec<String>,
}

/// The severity of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    /// Information.
    Information,
    /// A warning at the start.
    Warning,
}

impl RecentLog {
    /// Adds a line of a component, in the format of MongoDB's log.
    pub(crate) fn note(&self, clock: &dyn Clock, severity: Severity, component: &str, message: &str) {
        let message: String = message.chars().take(MESSAGE_CHARS_MAX).collect();
        let sign = if severity == Severity::Warning { "W" } else { "I" };
        let line = Map::from([
            ("t", Value::DateTime(clock.unix_millis())),
            ("s", Value::from(sign)),
            ("c", Value::from(component)),
            ("ctx", Value::from("alluvium")),
            ("msg", Value::from(message)),
        ]);
        let line = Value::Map(line).to_string();
        let mut lines = self.lines.lock();
        if severity == Severity::Warning {
            lines.warnings.push(line.clone());
        }
        if lines.lines.len() >= LINES_MAX {
            lines.lines.pop_front();
        }
        lines.lines.push_back(line);
        lines.written += 1;
    }

    /// A copy of the current lines.
    pub(crate) fn get(&self) -> Lines {
        self.lines.lock().clone()
    }
}
