//! Settings from the environment and a file. The command line overrides the environment, which overrides the file,
//! which overrides the default. A setting has the same name everywhere: `--disk-reserve`, `ALLUVIUM_DISK_RESERVE`,
//! `disk-reserve = …`.
//!
//! A setting becomes the default of every option with its name. The option's own parser parses it, so that the help
//! text and the meaning always agree.

mod file;

use crate::exit::{Failure, Outcome};
use crate::mode::Mode;
use crate::output::terminal::Color;
use crate::settings::database::{Acknowledge, LEAST_MEMORY};
use crate::settings::size;
use crate::text;
use crate::variables::{self, Variables};
use alluvium_env::Env;
use clap::ValueEnum;
use std::path::{Path, PathBuf};

/// A setting.
pub(crate) struct Setting {
    /// The name of the option, without dashes.
    pub name: &'static str,
    /// The value if it is not set.
    pub default: &'static str,
    /// Checks a text, and returns the reason if it is not a valid value.
    pub check: fn(&str) -> Result<(), String>,
}

/// All settings, by name.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        name: "color",
        default: "auto",
        check: |text| Color::from_str(text, true).map(drop).map_err(|_| "write auto, always or never".to_owned()),
    },
    Setting {
        name: "disk-reserve",
        default: "two fifths of the memory budget and 64M",
        check: |text| size::parse(text).map(drop),
    },
    Setting { name: "log", default: "warn", check: |text| crate::logging::Level::from_str(text, true).map(drop) },
    Setting {
        name: "log-format",
        default: "text",
        check: |text| {
            crate::logging::Format::from_str(text, true).map(drop).map_err(|_| "write text or json".to_owned())
        },
    },
    Setting { name: "memory", default: "256M", check: |text| size::parse(text).and_then(enough).map(drop) },
    Setting {
        name: "mode",
        default: "auto: lists of documents are tables on a terminal",
        check: |text| {
            let names = "write auto, pretty, json, jsonl, table, csv, tsv or markdown";
            Mode::from_str(text, true).map(drop).map_err(|_| names.to_owned())
        },
    },
    Setting { name: "readers", default: "one for each core", check: count },
    Setting {
        name: "sync",
        default: "that of the command",
        check: |text| {
            Acknowledge::from_str(text, true).map(drop).map_err(|_| "write sync, periodic or bulk".to_owned())
        },
    },
    Setting { name: "writers", default: "1", check: count },
];

fn enough(bytes: u64) -> Result<(), String> {
    if bytes < LEAST_MEMORY { Err("a database needs at least 8M".to_owned()) } else { Ok(()) }
}

fn count(text: &str) -> Result<(), String> {
    match text.parse::<usize>() {
        Ok(n) if n > 0 => Ok(()),
        _ => Err("write a number, at least 1".to_owned()),
    }
}

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// An environment variable.
    Environment(String),
    /// A line of a file.
    File(PathBuf, usize),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Environment(name) => f.write_str(name),
            Self::File(path, line) => write!(f, "{}:{line}", text::path(path)),
        }
    }
}

/// A setting's value and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub name: &'static str,
    pub value: String,
    pub origin: Origin,
}

/// The settings from the environment and the file.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// The file that was read.
    pub file: Option<PathBuf>,
    /// The values; at most one for each setting.
    pub found: Vec<Found>,
}

/// The environment variable of a setting.
pub(crate) fn variable_of(setting: &str) -> String {
    format!("ALLUVIUM_{}", setting.replace('-', "_").to_ascii_uppercase())
}

impl Config {
    /// Reads the settings. The file is `explicit` if it is given, otherwise the file in `ALLUVIUM_CONFIG`, otherwise
    /// the user's own file if it exists.
    ///
    /// # Errors
    /// A usage error for an unknown setting or an invalid value, with the name of the variable or the file and line;
    /// not found for a named file that does not exist.
    pub(crate) fn read(env: &Env, variables: Variables<'_>, explicit: Option<&Path>) -> Outcome<Self> {
        let mut config = Self::default();
        let named = explicit.map(Path::to_owned).or_else(|| variables("ALLUVIUM_CONFIG").map(PathBuf::from));
        let path = match named {
            Some(path) => Some(path),
            None => match own_file(variables) {
                // A file that cannot be looked up is treated as missing.
                Some(path) if env.fs.exists(&path).unwrap_or(false) => Some(path),
                _ => None,
            },
        };
        for setting in SETTINGS {
            let name = variable_of(setting.name);
            let Some(value) = variables(&name) else { continue };
            (setting.check)(&value).map_err(|why| Failure::Usage(format!("{name}: {value:?} is not valid: {why}")))?;
            config.found.push(Found { name: setting.name, value, origin: Origin::Environment(name) });
        }
        if let Some(path) = path {
            for found in file::read(env, &path)? {
                if !config.found.iter().any(|before| before.name == found.name) {
                    config.found.push(found);
                }
            }
            config.file = Some(path);
        }
        Ok(config)
    }

    /// The value of a setting, if it is set.
    pub(crate) fn get(&self, name: &str) -> Option<&Found> {
        self.found.iter().find(|found| found.name == name)
    }

    /// Makes the values the defaults of the options with the same names, in every subcommand.
    pub(crate) fn defaults_of(&self, command: clap::Command) -> clap::Command {
        let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
        let mut command = self.onto(command);
        for name in &names {
            command = command.mut_subcommand(name, |sub| self.defaults_of(sub));
        }
        command
    }

    fn onto(&self, mut command: clap::Command) -> clap::Command {
        let ids: Vec<(clap::Id, String)> = command
            .get_arguments()
            .filter_map(|arg| Some((arg.get_id().clone(), arg.get_long()?.to_owned())))
            .collect();
        for (id, long) in ids {
            if let Some(found) = self.get(&long) {
                command = command.mut_arg(id, |arg| arg.default_value(found.value.clone()));
            }
        }
        command
    }
}

/// The path of the user's own file.
fn own_file(variables: Variables<'_>) -> Option<PathBuf> {
    variables::folder(variables, "XDG_CONFIG_HOME", ".config").map(|folder| folder.join("config.toml"))
}

#[cfg(test)]
mod tests;
