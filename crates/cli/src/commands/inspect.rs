//! `alluvium inspect`: the content of one file of a database.

use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::signals::Stop;
use crate::text;
use alluvium::inspect::{self, Fact, FactValue, Item};
use alluvium_env::Env;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Arguments of `inspect`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium inspect my.db/p000/00000012.sst
  alluvium inspect my.db/wal/wal-00000000000000000003.log --entries
  alluvium inspect my.db/p000/MANIFEST-4 --json
  alluvium inspect backups/monday/CHECKPOINT
  alluvium inspect words.ro/READONLY

Reads a sorted file (blocks, index, filter, dictionary, properties), a segment of the log (records, and where it ends and \
why), a manifest (edits and files), a superblock, the listing of a checkpoint, or the superblock or an index file of a read-only store. It takes no lock and changes nothing; \
if the database is in use, the last bytes of log and manifests may be incomplete. Keys are printed as the _id, \
or as the values and the _id of an index entry; documents in a sorted file as JSON, and other values as escaped text. With --json each line is an object: one \
with \"row\" describes a block, record, edit, file or entry, one with \"damage\" describes damage, and the last one describes the file.")]
pub(crate) struct Args {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// List every entry of a sorted file, or every operation of a log segment
    #[arg(long)]
    entries: bool,
    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

/// The number of bytes of a value that are printed as text.
const SHOWN_BYTES: usize = 120;

impl Args {
    /// Prints the content of the file.
    pub(crate) fn run(&self) -> Outcome {
        let stop = Stop::at_once()?;
        let env = Env::os();
        if env.fs.list(&self.file).is_ok() {
            let what =
                format!("{} is a directory: name a file in it (`verify` checks them all)", text::path(&self.file));
            return Err(Failure::Usage(what));
        }
        if !env.fs.exists(&self.file)? {
            return Err(Failure::NotFound(format!("there is no file {}", text::path(&self.file))));
        }
        let mut out = Output::new();
        let (mut failed, mut damaged, mut whole) = (None, 0, Map::new());
        inspect::file(&self.file).entries(self.entries).run(|item| {
            // If the pipe is closed or the disk is full, the rest is still read, but no longer printed.
            failed = failed.take().or_else(|| stop.check().err());
            if failed.is_none() {
                damaged += u64::from(matches!(item, Item::Damage(..)));
                let printed = if self.json { as_json(&mut out, &mut whole, item) } else { as_text(&mut out, item) };
                failed = printed.err();
            }
        })?;
        if let Some(failure) = failed {
            return Err(failure);
        }
        if self.json {
            out.json(&Value::Object(whole))?;
        }
        out.finish()?;
        match damaged {
            0 => Ok(()),
            n => Err(Failure::Damaged(format!("found damage in {}", text::counted(n, "place")))),
        }
    }
}

fn as_text(out: &mut Output, item: Item) -> Outcome {
    match item {
        Item::Fact((name, value)) => out.text(&format!("{}: {}\n", name.replace('_', " "), show(&value))),
        Item::Row(list, facts) => {
            let facts: Vec<String> = facts.iter().map(|(name, value)| format!("{name} {}", show(value))).collect();
            out.text(&format!("  {list}: {}\n", facts.join(", ")))
        }
        Item::Definitions(..) => Ok(()),
        Item::Damage(offset, what) => out.text(&format!("damage at offset {offset}: {}\n", crate::text::plain(&what))),
    }
}

fn as_json(out: &mut Output, whole: &mut Map<String, Value>, item: Item) -> Outcome {
    let field = |(name, value): Fact| (name.to_owned(), to_json(value));
    match item {
        Item::Fact(fact) => {
            whole.extend([field(fact)]);
            Ok(())
        }
        Item::Row(list, facts) => {
            let mut row = Map::from_iter([("row".to_owned(), json!(list))]);
            row.extend(facts.into_iter().map(field));
            out.json(&Value::Object(row))
        }
        Item::Definitions(..) => Ok(()),
        Item::Damage(offset, what) => out.json(&json!({ "damage": what, "offset": offset })),
    }
}

fn show(value: &FactValue) -> String {
    match value {
        FactValue::Number(n) => n.to_string(),
        FactValue::Id(id) => format!("{id:016x}"),
        FactValue::Text(text) | FactValue::Json(text) => crate::text::plain(text),
        FactValue::Key(key) => id_of(key).or_else(|| entry_of(key)).unwrap_or_else(|| escaped(key)),
        FactValue::Bytes(bytes) => escaped(bytes),
        FactValue::Numbers(numbers) => {
            let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            format!("[{}]", numbers.join(" "))
        }
    }
}

fn to_json(value: FactValue) -> Value {
    match value {
        FactValue::Number(n) => json!(n),
        FactValue::Id(id) => json!(format!("{id:016x}")),
        FactValue::Text(text) => json!(text),
        FactValue::Json(document) => serde_json::from_str(&document).unwrap_or(Value::String(document)),
        FactValue::Key(key) => {
            let id = id_of(&key);
            let entry = if id.is_none() { entry_of(&key) } else { None };
            json!({ "id": id, "index_entry": entry, "hex": hex(&key) })
        }
        FactValue::Bytes(bytes) => json!(hex(&bytes)),
        FactValue::Numbers(numbers) => json!(numbers),
    }
}

/// The `_id` that a key encodes, or `None` if it encodes none.
fn id_of(key: &[u8]) -> Option<String> {
    let mut rest = key;
    let id = alluvium_document::key::decode(&mut rest).ok()?;
    let again = alluvium_document::key::id_key(&id).ok()?;
    (rest.is_empty() && again == key).then(|| crate::settings::ids::show(&id))
}

/// The values of the parts and the `_id` of an index entry, if the key can be decoded as an index entry. Descending
/// parts are recognized by their first byte, because the first byte of an ascending part is at most
/// 127. Hashed parts cannot be recognized; their entries are printed as bytes.
fn entry_of(key: &[u8]) -> Option<String> {
    let (mut rest, mut parts) = (key, Vec::new());
    while let Some(first) = rest.first() {
        let inverted: Vec<u8>;
        let mut input = rest;
        if *first > 127 {
            inverted = rest.iter().map(|byte| !byte).collect();
            input = &inverted;
        }
        let before = input.len();
        parts.push(alluvium_document::key::decode(&mut input).ok()?);
        rest = &rest[before - input.len()..];
    }
    let id = parts.pop().filter(|_| !parts.is_empty())?;
    let parts: Vec<String> = parts.iter().map(crate::settings::ids::show).collect();
    Some(format!("[{}] of _id {}", parts.join(", "), crate::settings::ids::show(&id)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn escaped(bytes: &[u8]) -> String {
    let more = bytes.len().saturating_sub(SHOWN_BYTES);
    let shown = bytes[..bytes.len() - more].escape_ascii();
    if more == 0 { format!("\"{shown}\"") } else { format!("\"{shown}\" and {more} bytes more") }
}
