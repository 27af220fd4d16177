//! Loads in separate processes, which can be measured and killed.

use super::Demo;
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::process;
use alluvium_env::OpenMode;
use alluvium_env::sync::{Condvar, Mutex};
use serde_json::Value;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// The results of a load in a separate process.
pub(super) struct Loaded {
    /// The JSON that the process printed.
    pub summary: Value,
    /// The processor time of the process, measured by its parent; `None` if the kernel does not
    /// report it.
    pub cpu: Option<Duration>,
}

impl Loaded {
    /// A figure of the summary.
    pub(super) fn figure(&self, name: &str) -> Option<f64> {
        self.summary.get(name).and_then(Value::as_f64)
    }
}

impl Demo {
    /// The command that runs this program to load the comments into a collection.
    fn loading(&self, collection: &str) -> Outcome<Command> {
        let program =
            std::env::current_exe().map_err(|error| Failure::Other(format!("cannot find this program: {error}")))?;
        let mut command = Command::new(program);
        command.arg("load").arg(&self.database).arg(collection).arg("--file").arg(&self.comments);
        command.args(["--memory", &self.memory_bytes.to_string(), "--json"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        Ok(command)
    }

    /// Loads all documents and settles.
    pub(super) fn load(&self, collection: &str) -> Outcome<Loaded> {
        let before = process::children_cpu_time();
        let child = spawn(self.loading(collection)?.arg("--settle"))?;
        let output =
            child.wait_with_output().map_err(|error| Failure::Other(format!("cannot wait for the load: {error}")))?;
        let cpu = before.zip(process::children_cpu_time()).map(|(before, after)| after.saturating_sub(before));
        if !output.status.success() {
            return Err(Failure::Other(format!("the load ended with {}", output.status)));
        }
        let summary = serde_json::from_slice(&output.stdout)
            .map_err(|error| Failure::Other(format!("the load's summary is not JSON: {error}")))?;
        Ok(Loaded { summary, cpu })
    }

    /// Starts a load, and kills the process with SIGKILL as soon as it has acknowledged a third of
    /// the documents. Returns the number of acknowledged documents.
    pub(super) fn load_and_kill(&self, collection: &str) -> Outcome<u64> {
        let mut command = self.loading(collection)?;
        command.arg("--progress-json").arg(&self.progress).args(["--progress-ms", "2"]);
        let mut child = spawn(&mut command)?;
        let (waiting, never) = (Mutex::new(()), Condvar::new());
        while self.acknowledged()? < self.docs / 3 {
            if let Some(status) = child.try_wait().map_err(|error| Failure::Other(format!("lost the load: {error}")))? {
                return Err(ended_before(status));
            }
            never.wait_for(&mut waiting.lock(), Duration::from_millis(2));
        }
        let killed = child.kill().and_then(|()| child.wait());
        let status = killed.map_err(|error| Failure::Other(format!("cannot kill the load: {error}")))?;
        if status.code().is_some() {
            return Err(ended_before(status));
        }
        self.acknowledged()
    }

    /// The number of documents in the last complete line of the progress file that the killed load
    /// wrote.
    fn acknowledged(&self) -> Outcome<u64> {
        if !self.env.fs.exists(&self.progress)? {
            return Ok(0);
        }
        let file = self.env.fs.open(&self.progress, OpenMode::Read)?;
        let mut text = vec![0; file.len()? as usize];
        let len = file.read_at(&mut text, 0)?;
        let whole = text[..len].rsplit(|byte| *byte == b'\n').nth(1).unwrap_or(b"");
        let line: Option<Value> = serde_json::from_slice(whole).ok();
        Ok(line.and_then(|line| line["documents"].as_u64()).unwrap_or(0))
    }
}

fn ended_before(status: ExitStatus) -> Failure {
    let what = match status.success() {
        true => "the load was over before it was killed: ask for more documents by --docs".to_owned(),
        false => format!("the load ended with {status} before it was killed"),
    };
    Failure::Other(what)
}

fn spawn(command: &mut Command) -> Outcome<Child> {
    command.spawn().map_err(|error| Failure::Other(format!("cannot start a load: {error}")))
}
