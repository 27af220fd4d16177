//! The audit log: one line of JSON for each login, refusal and administrative act.

use alluvium::{Map, Value};
use alluvium_env::sync::Mutex;
use alluvium_env::{Env, File, OpenMode};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The audit log; without a file, nothing is written.
pub(crate) struct Audit {
    file: Option<Mutex<Open>>,
    env: Env,
}

struct Open {
    path: PathBuf,
    file: Arc<dyn File>,
    end: u64,
}

/// An event for the audit log.
pub(crate) struct Event<'a> {
    /// The kind: `login`, `refused`, `administration`.
    pub kind: &'static str,
    /// The address of the client.
    pub address: &'a str,
    /// The user, `name@db`; for a login, the user name that was tried.
    pub user: Option<String>,
    /// The command.
    pub command: &'a str,
    /// The database or the collection.
    pub namespace: &'a str,
    /// The message that an application has logged with `logApplicationMessage`.
    pub message: Option<&'a str>,
    /// The code and the name of the error; `None` for a success.
    pub error: Option<(i32, &'a str)>,
}

fn open(env: &Env, path: &Path) -> alluvium_env::Result<Open> {
    let mode = if env.fs.exists(path)? { OpenMode::ReadWrite } else { OpenMode::CreateNew };
    let file = env.fs.open(path, mode)?;
    let end = file.len()?;
    Ok(Open { path: path.to_owned(), file, end })
}

impl Audit {
    /// Opens the log. New lines are appended to existing lines.
    ///
    /// # Errors
    /// Errors of the file.
    pub(crate) fn open(env: &Env, path: Option<&Path>) -> alluvium_env::Result<Self> {
        let file = path.map(|path| open(env, path)).transpose()?.map(Mutex::new);
        Ok(Self { file, env: env.clone() })
    }

    /// Opens the file again, because another program may have renamed it.
    ///
    /// # Errors
    /// Errors of the file; the old file remains in use then.
    pub(crate) fn reopen(&self) -> alluvium_env::Result<()> {
        let Some(log) = &self.file else { return Ok(()) };
        let mut log = log.lock();
        *log = open(&self.env, &log.path)?;
        Ok(())
    }

    /// Appends a line. An error is only logged, because the event has already happened.
    pub(crate) fn write(&self, event: &Event<'_>) {
        let Some(log) = &self.file else { return };
        let time = Value::DateTime(self.env.clock.unix_millis());
        let mut line = Map::from([
            ("time", time),
            ("event", Value::from(event.kind)),
            ("address", Value::from(event.address)),
            ("user", Value::from(event.user.clone())),
            ("command", Value::from(event.command)),
            ("namespace", Value::from(event.namespace)),
        ]);
        if let Some(message) = event.message {
            line.push("message", message);
        }
        match event.error {
            None => line.push("result", "ok"),
            Some((code, name)) => {
                line.push("result", name);
                line.push("code", code);
            }
        }
        let text = format!("{}\n", Value::Map(line));
        let mut log = log.lock();
        match log.file.write_at(text.as_bytes(), log.end) {
            Ok(()) => log.end += text.len() as u64,
            Err(error) => log::error!("a line of the audit log could not be written: {error}"),
        }
    }
}
