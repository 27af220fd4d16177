//! Fail points: failures that a client requests for tests. They exist only with `--enable-test-commands`.
//!
//! The connection's task looks up fail points for whole commands before the command is executed
//! ([`FailPoints::on_command`]). A command that a fail point delays therefore occupies no thread and no permit.

mod errors;
mod failure;

pub(crate) use failure::{Candidate, Failure};

use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use alluvium::{Map, Value};
use alluvium_env::Rng;
use alluvium_env::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Fails whole commands, selected by name.
const COMMAND: &str = "failCommand";
/// Fails a `getMore` after it has taken its cursor.
const GET_MORE: &str = "failGetMoreAfterCursorCheckout";
/// Fails retryable writes, by default after they were carried out.
const WRITE: &str = "onPrimaryTransactionalWrite";
/// Makes commands with a time limit exceed the limit.
const TIME_OUT: &str = "maxTimeAlwaysTimeOut";

const NAMES: [&str; 4] = [COMMAND, GET_MORE, WRITE, TIME_OUT];

/// The fail points of a server.
pub(crate) struct FailPoints {
    rng: Arc<dyn Rng>,
    /// False if all fail points are off. This case costs one atomic load.
    any: AtomicBool,
    points: Mutex<BTreeMap<&'static str, Point>>,
}

/// When a fail point takes effect.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Off,
    Always,
    /// This number of further times.
    Times(i64),
    /// Every time after skipping this number of times.
    Skip(i64),
    /// With this probability.
    Sometimes(f64),
}

/// A fail point that was configured.
struct Point {
    mode: Mode,
    data: Map,
    /// The number of times that the fail point took effect.
    entered: i64,
}

impl Point {
    /// True if the fail point takes effect now; counts the effect.
    fn enter(&mut self, rng: &dyn Rng) -> bool {
        let enters = match self.mode {
            Mode::Off => false,
            Mode::Always => true,
            Mode::Times(left) => {
                self.mode = if left > 1 { Mode::Times(left - 1) } else { Mode::Off };
                left > 0
            }
            Mode::Skip(left) if left > 0 => {
                self.mode = Mode::Skip(left - 1);
                false
            }
            Mode::Skip(_) => true,
            // The random number is uniform over its range. Its share of the range is therefore a probability.
            Mode::Sometimes(probability) => (rng.next_u64() as f64) < probability * 2f64.powi(64),
        };
        self.entered += i64::from(enters);
        enters
    }
}

/// The effect of a fail point on a retryable write.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FailedWrite {
    /// If set, the write is not carried out and fails with this error; otherwise the write is carried out.
    pub error: Option<CommandError>,
    /// True if the connection is closed instead of a reply.
    pub closes: bool,
}

impl FailPoints {
    /// Creates the fail points, all of them off.
    pub(crate) fn new(rng: Arc<dyn Rng>) -> Self {
        Self { rng, any: AtomicBool::new(false), points: Mutex::default() }
    }

    /// Sets a fail point. Returns how often the fail point took effect since it was last set.
    ///
    /// # Errors
    /// Error 40 for an unknown name, 2 for an invalid mode, 9 for data that differs from the documented form, 115 for
    /// data that only MongoDB supports.
    pub(crate) fn configure(&self, name: &str, mode: &Value, data: Map) -> CommandResult<i64> {
        let Some(known) = NAMES.into_iter().find(|known| *known == name) else {
            let message =
                format!("the fail point {name} is not supported: those of this server are {}", NAMES.join(", "));
            return Err(CommandError::new(40, "FailPointSetFailed", message));
        };
        let mode = parse_mode(mode)?;
        if known == COMMAND && mode != Mode::Off {
            failure::check(&data)?;
        }
        let mut points = self.points.lock();
        let before = points.insert(known, Point { mode, data, entered: 0 });
        self.any.store(points.values().any(|point| point.mode != Mode::Off), Ordering::Relaxed);
        Ok(before.map_or(0, |point| point.entered))
    }

    /// False if all fail points are off.
    pub(crate) fn are_on(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Returns the data of a fail point if it takes effect now. `applies` checks whether the data selects the caller.
    fn enter(&self, name: &str, applies: impl FnOnce(&Map) -> bool) -> Option<Map> {
        if !self.are_on() {
            return None;
        }
        let mut points = self.points.lock();
        let point = points.get_mut(name)?;
        (point.mode != Mode::Off && applies(&point.data) && point.enter(&*self.rng)).then(|| point.data.clone())
    }

    /// The failures for a command.
    pub(crate) fn on_command(&self, candidate: &Candidate<'_>) -> Option<Failure> {
        let data = self.enter(COMMAND, |data| failure::applies(data, candidate))?;
        Some(Failure::of(&data, COMMAND))
    }

    /// The error for a `getMore` that has taken its cursor.
    pub(crate) fn on_get_more(&self) -> Option<CommandError> {
        let data = self.enter(GET_MORE, |_| true)?;
        Some(
            errors::error(&data, "errorCode", GET_MORE)
                .unwrap_or_else(|| CommandError::internal(errors::message(GET_MORE))),
        )
    }

    /// The failure for a statement of a retryable write.
    pub(crate) fn on_write(&self) -> Option<FailedWrite> {
        let data = self.enter(WRITE, |_| true)?;
        let closes = !data.contains("closeConnection") || data.flag("closeConnection");
        Some(FailedWrite { error: errors::error(&data, "failBeforeCommitExceptionCode", WRITE), closes })
    }

    /// True if a command with a time limit has to exceed it.
    pub(crate) fn on_time_limit(&self) -> bool {
        self.enter(TIME_OUT, |_| true).is_some()
    }
}

/// The first field that the document has, in the order `times`, `skip`, `activationProbability`, determines the mode,
/// as in MongoDB. Drivers send all fields, with zero for unused ones.
fn parse_mode(mode: &Value) -> CommandResult<Mode> {
    let wrong = || {
        let message = "the mode of a fail point is \"off\", \"alwaysOn\", {times: N}, {skip: N} or \
                       {activationProbability: P}";
        CommandError::bad_value(message)
    };
    match mode {
        Value::String(text) => match &**text {
            "off" => Ok(Mode::Off),
            "alwaysOn" => Ok(Mode::Always),
            _ => Err(wrong()),
        },
        Value::Map(map) => {
            let count = |name: &str| map.integer(name).filter(|count| *count >= 0).ok_or_else(wrong);
            if map.contains("times") {
                let times = count("times")?;
                return Ok(if times == 0 { Mode::Off } else { Mode::Times(times) });
            }
            if map.contains("skip") {
                return Ok(Mode::Skip(count("skip")?));
            }
            match map.get("activationProbability").and_then(Value::as_f64) {
                Some(probability) if (0.0..=1.0).contains(&probability) => Ok(Mode::Sometimes(probability)),
                Some(_) => Err(CommandError::bad_value("activationProbability must be between 0.0 and 1.0")),
                None => Err(wrong()),
            }
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests;
