//! The log of `mongod`: one JSON document per line.

use crate::exit::Outcome;
use crate::output::Output;
use alluvium::{Map, Value};
use alluvium_env::sync::Mutex;
use alluvium_env::{Env, OpenMode};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The part of the server that a line is about.
#[derive(Debug, Clone, Copy)]
pub(super) enum Component {
    Control,
    Network,
    Replication,
}

impl Component {
    fn name(self) -> &'static str {
        match self {
            Self::Control => "CONTROL",
            Self::Network => "NETWORK",
            Self::Replication => "REPL",
        }
    }
}

/// Standard output, or a file.
pub(super) struct Log {
    env: Env,
    file: Option<Mutex<File>>,
}

struct File {
    file: Arc<dyn alluvium_env::File>,
    end: u64,
}

impl Log {
    /// Opens the log. An existing file is continued or renamed.
    pub(super) fn open(env: &Env, path: Option<&Path>, append: bool) -> Outcome<Self> {
        let Some(path) = path else { return Ok(Self { env: env.clone(), file: None }) };
        let exists = env.fs.exists(path)?;
        if exists && !append {
            env.fs.rename(path, &older(path, env.clock.unix_millis()))?;
        }
        let mode = if exists && append { OpenMode::ReadWrite } else { OpenMode::CreateNew };
        let file = env.fs.open(path, mode)?;
        let end = file.len()?;
        Ok(Self { env: env.clone(), file: Some(Mutex::new(File { file, end })) })
    }

    /// Writes a line; `id` is MongoDB's number of the message.
    pub(super) fn line(&self, component: Component, id: i32, context: &str, message: &str, attr: Map) -> Outcome {
        self.write("I", component, id, context, message, attr)
    }

    /// Writes the line of an error that ends the server, which is also reported on standard error.
    pub(super) fn error(&self, id: i32, message: &str, error: &str) {
        let error = Map::from([("error", Value::from(error))]);
        let _reported_elsewhere = self.write("E", Component::Control, id, "initandlisten", message, error);
    }

    fn write(&self, severity: &str, component: Component, id: i32, context: &str, message: &str, attr: Map) -> Outcome {
        let mut fields = Map::from([
            ("t", Value::DateTime(self.env.clock.unix_millis())),
            ("s", Value::from(severity)),
            ("c", Value::from(component.name())),
            ("id", Value::Int32(id)),
            ("ctx", Value::from(context)),
            ("msg", Value::from(message)),
        ]);
        if !attr.is_empty() {
            fields.push("attr", Value::Map(attr));
        }
        let line = format!("{fields}\n");
        match &self.file {
            Some(file) => {
                let mut file = file.lock();
                file.file.write_at(line.as_bytes(), file.end)?;
                file.end += line.len() as u64;
                Ok(())
            }
            None => {
                let mut out = Output::new();
                out.text(&line)?;
                out.finish()
            }
        }
    }
}

/// The new name of a log file that is replaced by another one.
fn older(path: &Path, unix_millis: i64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{unix_millis}"));
    PathBuf::from(name)
}
