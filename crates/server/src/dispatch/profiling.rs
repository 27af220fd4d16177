//! Records of finished commands: slow commands in the log, and the entries of `system.profile`.

use crate::call::Call;
use crate::commands::Command;
use crate::error::CommandError;
use crate::fields::Fields;
use crate::listing;
use crate::recent_log::Severity;
use crate::slow::{Level, put_plan};
use alluvium::{Map, Value};
use std::time::Duration;

/// The command that turns the profiler on and off.
const PROFILE: &str = "profile";

/// Logs a slow command, and keeps the entries of a command for `system.profile`.
pub(super) fn note_slow(command: &Command, call: &Call<'_>, namespace: &str, error: Option<&CommandError>) {
    let slow = &call.shared.slow;
    let time = call.shared.env.clock.now().saturating_sub(call.began);
    let is_slow = slow.is_slow(time);
    // The command that turns the profiler on or off is not recorded.
    let level = if command.name == PROFILE { Level::Off } else { slow.level(&call.db) };
    let statements = call.carried_out.take();
    if !is_slow && level == Level::Off && statements.is_empty() {
        return;
    }
    let plan = call.plan.borrow_mut().take();
    if is_slow {
        let shown = plan.as_ref().map_or_else(String::new, |plan| format!(", plan {}", Value::Map(plan.clone())));
        let (milliseconds, command) = (i64::try_from(time.as_millis()).unwrap_or(i64::MAX), command.name);
        let message = format!("slow operation: {milliseconds} ms, {command} of {namespace}{shown}");
        log::info!(
            command, milliseconds, namespace, plan = shown.trim_start_matches(", plan ");
            "{message}"
        );
        call.shared.log.note(&*call.shared.env.clock, Severity::Information, "COMMAND", &message);
    }
    if level == Level::Off && statements.is_empty() {
        return;
    }
    let entry = profiled(command, call, namespace, time, plan, error);
    // As in MongoDB, each statement of a write has an entry of its own, in the profile of its own database.
    if statements.is_empty() {
        keep(call, &call.db, is_slow, entry);
    } else {
        for statement in statements {
            let entry = of_statement(&entry, statement);
            let db = entry.text("ns").and_then(|namespace| namespace.split_once('.')).map(|(db, _)| db.to_owned());
            keep(call, &db.unwrap_or_default(), is_slow, entry);
        }
    }
}

/// Keeps an entry, if the profiler of its database keeps such entries.
fn keep(call: &Call<'_>, db: &str, is_slow: bool, entry: Map) {
    let slow = &call.shared.slow;
    let (level, filter) = (slow.level(db), slow.filter(db));
    let is_kept = match (level, &filter) {
        (Level::Off, _) => false,
        (Level::All, _) | (Level::Slow, Some(_)) => true,
        // The random number is uniform over its range. Its share of the range is therefore a probability.
        (Level::Slow, None) => is_slow && (call.shared.env.rng.next_u64() as f64) < slow.sample_rate() * 2f64.powi(64),
    };
    let matches =
        |filter| listing::filtered(call, vec![entry.clone()], Some(filter)).is_ok_and(|found| !found.is_empty());
    if is_kept && filter.as_ref().filter(|_| level == Level::Slow).is_none_or(matches) {
        slow.keep(db, entry);
    }
}

/// The entry of a statement, made from the entry of its command.
fn of_statement(command: &Map, statement: Map) -> Map {
    let mut entry = command.clone();
    statement.entries.into_iter().for_each(|(name, value)| {
        entry.insert(name.as_str().unwrap_or_default(), value);
    });
    entry
}

/// The `system.profile` entry of a command.
fn profiled(
    command: &Command,
    call: &Call<'_>,
    namespace: &str,
    time: Duration,
    plan: Option<Map>,
    error: Option<&CommandError>,
) -> Map {
    let mut entry = Map::from([("op", Value::from(command.op)), ("ns", Value::from(namespace))]);
    entry.push("command", Map::clone(&command.shown(call.body.shared())));
    entry.push("millis", i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
    entry.push("ts", Value::DateTime(call.shared.env.clock.unix_millis()));
    entry.push("client", call.client.address.as_str());
    put_plan(&mut entry, plan, &call.shared.db.collection(namespace));
    // Counts that the command has noted replace the counts of the plan, which cover more than this command.
    for (name, count) in call.counts.take().entries {
        entry.insert(name.as_str().unwrap_or_default(), count);
    }
    if let Some(error) = error {
        entry.push("errCode", error.code);
        entry.push("errMsg", error.message.as_str());
    }
    entry
}
