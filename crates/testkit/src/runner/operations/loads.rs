//! Loads of each format, by several threads, with each treatment of duplicate `_id`s.

use crate::model::{Id, Phase, map_of};
use crate::runner::expectations::expect_refused;
use crate::runner::session::Session;
use alluvium::load::{Csv, FieldType, Format, Input, OnDuplicate};
use alluvium::{Error, ErrorKind, Map, Value};
use alluvium_document::json;

/// The fields of rows, sorted by name. Each row has all of them.
const COLUMNS: [(&str, FieldType); 4] =
    [("_id", FieldType::Int), ("k", FieldType::Json), ("n", FieldType::Long), ("text", FieldType::String)];

/// A format, and the name under which its loads are counted.
type Kind = (Format, &'static str);

/// The bytes of an input, and the documents that are expected, in the same order.
struct Text {
    bytes: Vec<u8>,
    documents: Vec<(Id, Map)>,
}

pub(crate) fn load(session: &mut Session) {
    let name = session.any_name();
    let (format, kind) = any_format(session);
    let on_duplicate = [OnDuplicate::Replace, OnDuplicate::Skip, OnDuplicate::Error][session.rng.usize(0..3)];
    let Text { bytes, documents } = text(session, &name, &format);
    let mut steps = session.created(&[&name]);
    // The state after each loaded document.
    let mut states = vec![session.after(&steps)];
    let (mut ids, mut taken) = (Vec::new(), false);
    for (id, map) in documents {
        let state = &states[ids.len()];
        let there = state.get(&name, &id).is_some();
        let mut with = state.clone();
        with.put(&name, id.clone(), map.clone());
        if with.unindexable(&name, std::slice::from_ref(&id)) {
            // Loads of such documents are covered by other tests.
            return;
        }
        // With `OnDuplicate::Error`, the documents before the duplicate are loaded.
        taken |= there && on_duplicate == OnDuplicate::Error;
        // A document that is skipped because its `_id` exists is not checked by the indexes.
        if !taken && (on_duplicate != OnDuplicate::Skip || !there) {
            ids.push(id);
            states.push(with);
        }
    }
    // The load is one batch, in which all documents before the first refused one are written.
    let left = (0..=ids.len()).rev().find(|&left| !states[left].refuses(&name, &ids[..left])).unwrap_or(0);
    let refused = left < ids.len();
    steps.push(states.swap_remove(left));
    let (readers, writers) = (session.rng.usize(1..4), session.rng.usize(1..3));
    session.note(format!("{kind} {name} {on_duplicate:?} {} bytes by {readers} and {writers}", bytes.len()));
    session.effect(kind, !refused && !ids.is_empty());
    session.effect("load refused", refused || taken);
    let result = session.write(Phase::Load, &steps, true, |db| {
        let input = Input::stream("input", std::io::Cursor::new(bytes));
        let load = db.collection(&name).load(input).format(format).on_duplicate(on_duplicate);
        // The documents also have values that BSON cannot represent.
        load.readers(readers).writers(writers).alluvium_types(true).run()
    });
    match &result {
        Err(error) if refused => assert!(matches!(error, Error::LoadOf { .. }), "{error}"),
        Err(error) => assert!(matches!(error, Error::LoadDuplicate { .. }), "{error}"),
        Ok(_) => {}
    }
    let why = if refused || taken { vec![ErrorKind::DuplicateKey] } else { Vec::new() };
    if !expect_refused(result.clone(), &why) {
        assert_eq!(result.expect("load").documents, ids.len() as u64, "documents loaded");
    }
}

fn any_format(session: &mut Session) -> Kind {
    match session.rng.u8(0..10) {
        0 => (Format::JsonArray, "load array"),
        1 => (Format::JsonObjects, "load objects"),
        2 => (Format::JsonFields, "load fields"),
        3 => (Format::ExactLines, "load exact lines"),
        4 => {
            let types = COLUMNS.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
            (Format::Csv(Csv { types, ..Csv::default() }), "load csv")
        }
        5 => (Format::Bson, "load bson"),
        _ => (Format::JsonLines, "load lines"),
    }
}

/// Random documents in a format, and the documents that are expected after they are loaded.
fn text(session: &mut Session, name: &str, format: &Format) -> Text {
    let mut text = Text { bytes: Vec::new(), documents: Vec::new() };
    let count = session.rng.usize(0..12);
    begin(&mut text.bytes, format);
    for at in 0..count {
        let id = match format {
            Format::JsonFields => Id::Text(format!("field {}", session.rng.u8(0..6))),
            Format::Csv(_) => Id::whole(i64::from(session.rng.i32(-3..12))),
            _ => session.any_id(name),
        };
        if matches!(format, Format::JsonArray | Format::JsonFields) && at > 0 {
            text.bytes.extend_from_slice(b",\n");
        }
        let map = document_in(session, format, &id, &mut text.bytes);
        text.documents.push((id, map));
    }
    match format {
        Format::JsonArray => text.bytes.push(b']'),
        Format::JsonFields => text.bytes.push(b'}'),
        _ => {}
    }
    text
}

/// Writes a document in a format, and returns the document that is expected when it is read.
pub(crate) fn document_in(session: &mut Session, format: &Format, id: &Id, out: &mut Vec<u8>) -> Map {
    if let Format::Csv(_) = format {
        return row(session, id, out);
    }
    let mut map = session.documents.for_json(id, &mut session.rng);
    match format {
        Format::Bson => {
            alluvium_document::bson::encode_document(&map, out).expect("it can be written");
            return map;
        }
        Format::ExactLines => {
            json::print_exact(&map, out).expect("it can be printed");
            out.push(b'\n');
            return map;
        }
        Format::JsonFields => {
            let Id::Text(name) = id else { unreachable!("names of fields are text") };
            json::write_string(name, out);
            out.push(b':');
            map.remove("_id");
        }
        _ => {}
    }
    let start = out.len();
    let style = if session.rng.bool() { json::Format::CANONICAL } else { json::Format::RELAXED };
    let pretty = !matches!(format, Format::JsonLines) && session.rng.bool();
    json::print_map(&map, json::Format { pretty, ..style }, out).expect("it can be printed");
    // The values after parsing: a small 64-bit integer becomes a 32-bit integer.
    let mut read = map_of(std::str::from_utf8(&out[start..]).expect("text"));
    match format {
        Format::JsonLines => out.push(b'\n'),
        Format::JsonFields => {
            read.entries.insert(0, (Value::from("_id"), id.value(&mut session.rng)));
        }
        _ => {}
    }
    read
}

/// A row of a table.
fn row(session: &mut Session, id: &Id, out: &mut Vec<u8>) -> Map {
    const TEXTS: [&str; 4] = ["plain", "with, a comma", "with \"quotes\"", "over\ntwo lines"];
    let number = id.to_whole().expect("a whole number");
    let (k, n, text) = (session.rng.i32(0..3), session.rng.i64(0..1000), TEXTS[session.rng.usize(0..TEXTS.len())]);
    let quoted = text.replace('"', "\"\"");
    out.extend_from_slice(format!("{number},\"[{k}]\",{n},\"{quoted}\"\n").as_bytes());
    Map::from([
        ("_id", Value::Int32(number as i32)),
        ("k", Value::Array(vec![Value::Int32(k)])),
        ("n", Value::Int64(n)),
        ("text", Value::from(text)),
    ])
}

/// The text before the first document.
fn begin(out: &mut Vec<u8>, format: &Format) {
    match format {
        Format::JsonArray => out.push(b'['),
        Format::JsonFields => out.push(b'{'),
        Format::Csv(_) => {
            let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
            out.extend_from_slice(names.join(",").as_bytes());
            out.push(b'\n');
        }
        _ => {}
    }
}
