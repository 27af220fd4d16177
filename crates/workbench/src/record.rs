//! Records of trials: the command of a trial, the machine, and the results.

use crate::plan::{Parameters, Size};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The record of one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`crate::plan::FORMAT`].
    pub format: u32,
    /// The plan file that defines the experiment, without the extension.
    pub plan: String,
    /// The experiment.
    pub experiment: String,
    /// The size of the run.
    pub size: Size,
    /// The values that the commands used.
    pub parameters: Parameters,
    /// The number of the trial among the trials with the same parameters, from 0.
    pub repeat: u32,
    /// The seed of the command.
    pub seed: u64,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The time at which the trial began, as RFC 3339 in UTC.
    pub began: String,
    /// Wall clock time of the process.
    pub seconds: f64,
    /// The machine on which the trial ran.
    pub machine: Machine,
    /// The programs that ran.
    pub versions: Versions,
    /// The resources that the process used.
    pub process: ProcessUse,
    /// The work of the store's device for all processes; `None` if the kernel does not count it.
    pub device: Option<DeviceUse>,
    /// The output of the command that created the store.
    pub prepared: Option<Value>,
    /// The output of the command.
    pub outcome: Option<Value>,
    /// The reason if the trial has no figures.
    pub failure: Option<String>,
}

impl Record {
    /// The figure at a path of this record, such as `outcome.latency.p99`; see [`figure`].
    pub fn figure(&self, path: &str) -> Option<f64> {
        figure(&serde_json::to_value(self).ok()?, path)
    }
}

/// The value at a path. A path consists of names of fields and indexes of lists, separated by dots. An index is a
/// number from 0, or `last`.
pub fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, name| match value {
        Value::Array(list) if name == "last" => list.last(),
        Value::Array(list) => list.get(name.parse::<usize>().ok()?),
        _ => value.get(name),
    })
}

/// The number at a path; see [`at`].
pub fn figure(value: &Value, path: &str) -> Option<f64> {
    at(value, path)?.as_f64()
}

/// The machine of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The model of the processor.
    pub processor: String,
    /// The number of hardware threads that the process may use.
    pub cores: u64,
    /// The memory of the machine, in bytes.
    pub memory_bytes: u64,
    /// The kernel's name and release.
    pub kernel: String,
    /// The type of the store's file system.
    pub file_system: String,
    /// The store's device.
    pub device: String,
}

/// The versions of the programs that ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Versions {
    /// The version of Alluvium.
    pub alluvium: String,
    /// The commit of the sources, with `-dirty` if the sources differ from the commit; `None` if unknown.
    pub commit: Option<String>,
    /// The program and its version.
    pub program: String,
}

/// The resources that the process of a trial and its child processes used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessUse {
    /// Processor time of all threads.
    pub cpu_seconds: f64,
    /// The part of `cpu_seconds` spent in the program.
    pub user_seconds: f64,
    /// The part of `cpu_seconds` spent in the kernel.
    pub system_seconds: f64,
    /// The number of times that a thread waited.
    pub voluntary_switches: u64,
    /// The number of times that a thread was preempted.
    pub involuntary_switches: u64,
    /// Bytes read from storage.
    pub read_bytes: u64,
    /// Bytes written to storage, now or later.
    pub written_bytes: u64,
    /// The peak resident memory, in bytes.
    pub peak_memory_bytes: u64,
}

/// The work of a device during a trial, for all processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceUse {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
}

#[cfg(test)]
mod tests;
