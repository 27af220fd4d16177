//! The configuration file: TOML, one setting per line.

use super::{Found, Origin, SETTINGS, Setting};
use crate::exit::{Failure, Outcome};
use crate::text;
use alluvium_env::{Env, OpenMode};
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// The maximum size of a configuration file.
const MOST_BYTES: u64 = 1 << 20;

/// Reads a file.
pub(super) fn read(env: &Env, path: &Path) -> Outcome<Vec<Found>> {
    let file = env.fs.open(path, OpenMode::Read)?;
    let len = file.len()?;
    if len > MOST_BYTES {
        return Err(Failure::Usage(format!("{} is too large for a configuration file", text::path(path))));
    }
    let mut bytes = vec![0; len as usize];
    file.read_exact_at(&mut bytes, 0)?;
    let text =
        String::from_utf8(bytes).map_err(|_| Failure::Usage(format!("{} is not UTF-8 text", text::path(path))))?;
    settings(path, &text)
}

/// The settings in the text of a file.
pub(super) fn settings(path: &Path, text: &str) -> Outcome<Vec<Found>> {
    let line_of = |offset: usize| text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1;
    let wrong = |line: usize, what: String| Failure::Usage(format!("{}:{line}: {what}", text::path(path)));
    let table = DeTable::parse(text)
        .map_err(|error| wrong(line_of(error.span().map_or(0, |span| span.start)), error.message().to_owned()))?;
    let mut found = Vec::new();
    for (key, value) in table.get_ref() {
        let name = key.get_ref().as_ref();
        let line = line_of(key.span().start);
        let setting = SETTINGS.iter().find(|setting| setting.name == name);
        let setting = setting.ok_or_else(|| wrong(line, unknown(name)))?;
        let value = text_of(value.get_ref(), setting).map_err(|why| wrong(line, format!("{name}: {why}")))?;
        found.push(Found { name: setting.name, value, origin: Origin::File(path.to_owned(), line) });
    }
    Ok(found)
}

/// Converts a value to the notation of the option.
fn text_of(value: &DeValue<'_>, setting: &Setting) -> Result<String, String> {
    let text = match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', ""),
        _ => return Err("write a string in quotes, or a number".to_owned()),
    };
    (setting.check)(&text).map(|()| text.clone()).map_err(|why| format!("{text:?} is not valid: {why}"))
}

/// The error about an unknown name, with the most similar setting.
fn unknown(name: &str) -> String {
    let like = |setting: &&Setting| strsim::damerau_levenshtein(&name.replace('_', "-"), setting.name);
    let nearest = SETTINGS.iter().min_by_key(like).filter(|setting| like(setting) <= 3);
    let names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
    match nearest {
        Some(setting) => format!("there is no setting {name}: did you mean {}?", setting.name),
        None => format!("there is no setting {name}: there are {}", names.join(", ")),
    }
}
