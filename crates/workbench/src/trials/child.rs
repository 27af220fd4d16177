//! One process: its output, and the resources that it used.

use super::machine::Device;
use crate::record::{DeviceUse, ProcessUse};
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::process;
use alluvium_cli::signals::Stop;
use alluvium_env::Env;
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_env::thread::{JoinHandle, try_spawn};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde_json::Value;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// The interval at which the memory of the process and signals are checked.
const CHECK: Duration = Duration::from_millis(20);
/// If a process fails, this many of the last bytes that it wrote to standard error are kept.
const ERROR_BYTES_MAX: usize = 2000;

/// A program to run, with its arguments.
pub(super) struct Run<'a> {
    pub program: &'a Path,
    pub arguments: &'a [String],
    pub env: &'a Env,
    pub device: &'a Device,
    pub stop: &'a Stop,
}

/// A process that has ended.
pub(super) struct Ended {
    pub seconds: f64,
    pub used: ProcessUse,
    pub device: Option<DeviceUse>,
    /// The JSON that the process printed, or the reason why it printed none.
    pub result: Result<Value, String>,
}

impl Run<'_> {
    /// Runs the program to its end. `tick` is called from time to time.
    ///
    /// # Errors
    /// A signal to stop; the process was killed then. A program that cannot be started is not an error, but is reported
    /// in the result.
    pub fn run(&self, tick: &mut dyn FnMut()) -> Outcome<Ended> {
        let (device, started) = (self.device.read(), self.env.clock.now());
        let before = children()?;
        let mut used = ProcessUse::default();
        let result = match self.start() {
            Err(why) => Err(why),
            Ok(mut child) => {
                let streams = (Stream::of(child.stdout.take())?, Stream::of(child.stderr.take())?);
                let waited = self.wait(&child, &mut used, tick);
                if waited.is_err() {
                    kill(&child);
                }
                let status = child.wait().map_err(|error| lost(&error))?;
                let (out, err) = (streams.0.end(), streams.1.end());
                waited?;
                result_of(status, &out, &err)
            }
        };
        let seconds = self.env.clock.now().saturating_sub(started).as_secs_f64();
        add(&mut used, &before, &children()?);
        let device = device.zip(self.device.read()).map(|(before, after)| difference(&before, &after));
        Ok(Ended { seconds, used, device, result })
    }

    fn start(&self) -> Result<Child, String> {
        let mut command = Command::new(self.program);
        command.args(self.arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // In its own process group, the process does not receive Ctrl-C. This program receives it, and kills the
        // process group.
        command.process_group(0);
        command.spawn().map_err(|error| format!("cannot start {}: {error}", self.program.display()))
    }

    /// Waits for the end of the process. Then reads the counters that the kernel drops once the parent has waited for
    /// the process.
    fn wait(&self, child: &Child, used: &mut ProcessUse, tick: &mut dyn FnMut()) -> Outcome {
        let (waiting, never) = (Mutex::new(()), Condvar::new());
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let of = |name: &str| PathBuf::from(format!("/proc/{}/{name}", child.id()));
        loop {
            let memory = process::text(&of("status")).and_then(|text| field(&text, "VmHWM:"));
            used.peak_memory_bytes = used.peak_memory_bytes.max(memory.unwrap_or(0) * 1024);
            let ended = waitid(WaitId::Pid(Pid::from_child(child)), options).map_err(|error| lost(&error.into()))?;
            if ended.is_some() {
                let io = process::text(&of("io")).unwrap_or_default();
                used.read_bytes = field(&io, "read_bytes:").unwrap_or(0);
                used.written_bytes = field(&io, "write_bytes:").unwrap_or(0);
                return self.stop.check();
            }
            self.stop.check()?;
            tick();
            never.wait_for(&mut waiting.lock(), CHECK);
        }
    }
}

/// Kills the process and the processes that it has started.
fn kill(child: &Child) {
    // An error is ignored: the process may have ended already.
    let _ended = kill_process_group(Pid::from_child(child), Signal::KILL);
}

fn lost(error: &std::io::Error) -> Failure {
    Failure::Other(format!("cannot wait for the process of a trial: {error}"))
}

/// The resources used by all child processes that have ended.
fn children() -> Outcome<Usage> {
    getrusage(UsageWho::RUSAGE_CHILDREN)
        .map_err(|error| Failure::Other(format!("cannot read the resource usage: {error}")))
}

/// Adds the difference between two readings, between which one process has ended.
fn add(used: &mut ProcessUse, before: &Usage, after: &Usage) {
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    used.user_seconds = seconds(after.user_time()) - seconds(before.user_time());
    used.system_seconds = seconds(after.system_time()) - seconds(before.system_time());
    used.cpu_seconds = used.user_seconds + used.system_seconds;
    used.voluntary_switches = count(after.voluntary_context_switches() - before.voluntary_context_switches());
    used.involuntary_switches = count(after.involuntary_context_switches() - before.involuntary_context_switches());
    // The kernel keeps the maximum over all child processes. Only if the maximum has grown, it is the peak of this
    // process.
    if after.max_rss() > before.max_rss() {
        used.peak_memory_bytes = used.peak_memory_bytes.max(count(after.max_rss()) * 1024);
    }
}

fn difference(before: &DeviceUse, after: &DeviceUse) -> DeviceUse {
    DeviceUse {
        read_bytes: after.read_bytes.saturating_sub(before.read_bytes),
        written_bytes: after.written_bytes.saturating_sub(before.written_bytes),
        reads: after.reads.saturating_sub(before.reads),
        writes: after.writes.saturating_sub(before.writes),
    }
}

/// The number that follows a name at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The JSON that a process printed if it succeeded, or else the reason of its failure.
fn result_of(status: ExitStatus, out: &[u8], err: &[u8]) -> Result<Value, String> {
    if !status.success() {
        let said = String::from_utf8_lossy(err);
        let said = said.trim();
        let from = said.char_indices().rev().take(ERROR_BYTES_MAX).last().map_or(0, |(at, _)| at);
        let colon = if said.is_empty() { "" } else { ": " };
        return Err(format!("{status}{colon}{}", &said[from..]));
    }
    serde_json::from_slice(out).map_err(|error| format!("what it printed is not JSON: {error}"))
}

/// A thread that reads the output of a process.
struct Stream(JoinHandle<Vec<u8>>);

impl Stream {
    fn of(source: Option<impl Read + Send + 'static>) -> Outcome<Self> {
        let read = move || {
            let mut bytes = Vec::new();
            if let Some(mut source) = source {
                // The bytes read before an error are kept; the JSON is incomplete then.
                let _read = source.read_to_end(&mut bytes);
            }
            bytes
        };
        let started = try_spawn("output of a trial", read);
        started.map(Self).map_err(|error| Failure::Other(format!("cannot start a thread: {error}")))
    }

    fn end(self) -> Vec<u8> {
        self.0.join().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
