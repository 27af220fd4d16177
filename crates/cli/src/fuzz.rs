//! Fuzz targets: the steps before a command runs, for a command line, a line of the shell and a configuration file. (`crates/testkit/src/fuzz` has the other targets.)

use crate::app;
use crate::commands::shell::Reader;
use crate::config::Config;
use crate::context::Context;
use alluvium::Database;
use alluvium_env::{Env, OpenMode};
use std::cell::RefCell;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// Parses the first line as arguments that are separated by zero bytes, and the rest as a configuration file. Every
/// error must have a message.
///
/// # Panics
/// Panics if an error has no message.
pub fn arguments(data: &[u8]) {
    let cut = data.iter().position(|byte| *byte == b'\n');
    let (arguments, settings) = cut.map_or((data, &[][..]), |at| (&data[..at], &data[at + 1..]));
    let arguments = arguments.split(|byte| *byte == 0).map(|argument| OsString::from_vec(argument.to_vec()));
    let arguments: Vec<OsString> = std::iter::once("alluvium".into()).chain(arguments).collect();
    let env = Env::in_memory(1);
    let path = Path::new("config.toml");
    let written = env.fs.open(path, OpenMode::CreateNew).and_then(|file| file.write_at(settings, 0));
    assert!(written.is_ok(), "{written:?}");
    match app::resolve(&env, &|name| (name == "ALLUVIUM_CONFIG").then(|| "config.toml".to_owned()), arguments) {
        Ok(Ok(_)) => {}
        Ok(Err(failure)) => assert!(!failure.to_string().is_empty()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Splits and parses a line of the shell, and completes it at every position.
///
/// # Panics
/// Panics if a completion does not fit the line.
pub fn shell(data: &[u8]) {
    thread_local! {
        static READER: RefCell<Option<Reader>> = const { RefCell::new(None) };
    }
    let Ok(line) = std::str::from_utf8(data) else { return };
    READER.with_borrow_mut(|reader| reader.get_or_insert_with(reader_of_pets).read(line));
}

/// A reader of lines for a database with a collection, an index, and names that must be quoted.
#[allow(clippy::panic, reason = "a fuzz target fails by a panic")]
fn reader_of_pets() -> Reader {
    let fill = |db: &Database| {
        db.collection("pets").put("rex", r#"{"größe":3,"a b":{"c":1}}"#)?;
        db.collection("pets").create_index(r#"{"größe":1}"#).run()?;
        db.collection("logs.fü' r").put(1, "{}")
    };
    let options = alluvium_store::Options { background: false, ..alluvium_store::Options::default() };
    let db = Database::builder().env(Env::in_memory(1)).options(options).open("pets.db");
    let db = db.and_then(|db| fill(&db).map(|()| db));
    Reader::new(
        Context { definition: app::definition, config: &Config::default(), run_for_visitor: |_| 0 },
        db.unwrap_or_else(|error| panic!("{error}")),
        Some("pets".to_owned()),
    )
}
