//! The last lines that the server has logged about itself and its clients, which `getLog` shows.

use alluvium::{Map, Value};
use alluvium_env::Clock;
use alluvium_env::sync::Mutex;
use std::collections::VecDeque;

/// The lines that are kept, as many as in MongoDB.
const LINES_MAX: usize = 1024;
/// The longest message in characters.
const MESSAGE_CHARS_MAX: usize = 1024;

/// The last lines.
#[derive(Default)]
pub(crate) struct RecentLog {
    lines: Mutex<Lines>,
}

/// The lines at one time.
#[derive(Debug, Default, Clone)]
pub(crate) struct Lines {
    /// The last ones, the oldest first.
    pub lines: VecDeque<String>,
    /// The number of lines since the start.
    pub written: u64,
    /// The messages of the start that an administrator should read.
    pub warnings: Vec<String>,
}

/// How important a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    /// For information.
    Information,
    /// A warning of the start.
    Warning,
}

impl RecentLog {
    /// Notes a line of a component, in the form of MongoDB's log.
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

    /// The lines.
    pub(crate) fn get(&self) -> Lines {
        self.lines.lock().clone()
    }
}
