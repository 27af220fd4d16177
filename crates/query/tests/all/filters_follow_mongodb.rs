//! Filters and the documents that match them, in `filters/`. There is one file for each operator, written from
//! MongoDB's description of it.
//!
//! A file has one filter per line, with its result on the next line. The result is the names of the matching documents,
//! or the code and message of the error. The documents are those of `values.txt`, and those that the file adds in lines
//! with a `+`. If the canonical form of the filter is a different text, that form is written between the two lines.
//! `UPDATE=1` rewrites the results; review them before you keep them.
//!
//! For a filter that is only on the field `a`, the same value is also tested at other places, by MongoDB's rules of
//! paths. A value at `a.b`, in a map, in a map in an array, or as `_id`, must match exactly if it matches at `a`. A
//! value in an array usually gives the same result. If it matches at `a` but not in an array, its name is listed after
//! `-`; if it matches only in an array, after `+`. There are three reasons for such differences. An array in an array
//! is not entered, so matches of its elements are lost (`$eq`, ranges, `$in`, `$type`, …). Operators that test for
//! arrays (`$size`, `$elemMatch`, `$type: "array"`, ranges of arrays) test the outer array and its elements. A missing
//! value cannot be in an array.
//!
//! Each filter is tested with a document stored under a shape, with a self-describing document, and with a decoded map.

use std::fmt::Write;
use std::path::PathBuf;

use crate::common::{map_of, stored_document};
use alluvium_document::{Document, Map, Value};
use alluvium_query::filter::Filter;

/// A document in three forms, with its name.
struct Candidate {
    name: String,
    map: Map,
    plain: Document,
    shaped: Document,
}

impl Candidate {
    /// Parses a line of the form `name {...}`, and adds an `_id`.
    fn of(line: &str) -> Self {
        let (name, text) = line.split_once(' ').unwrap_or_else(|| panic!("{line}"));
        let mut map = map_of(text);
        map.push("_id", 1);
        let plain = Document::from_map(&map).unwrap();
        Self { name: name.to_owned(), plain, shaped: stored_document(&map), map }
    }

    fn matches(&self, filter: &Filter) -> bool {
        let matches = filter.matches_map(&self.map).unwrap();
        assert_eq!(filter.matches(&self.plain).unwrap(), matches, "{}: {filter}", self.name);
        assert_eq!(filter.matches(&self.shaped).unwrap(), matches, "{}: {filter}", self.name);
        matches
    }

    /// The value at `a`, if the document has no other fields.
    fn value(&self) -> Option<&Value> {
        self.map.get("a").filter(|_| self.map.len() == 2)
    }

    /// A candidate with the same name and another document.
    fn with(&self, mut map: Map) -> Self {
        if !map.contains("_id") {
            map.push("_id", 1);
        }
        let plain = Document::from_map(&map).unwrap();
        Self { name: self.name.clone(), plain, shaped: stored_document(&map), map }
    }
}

/// The names for which the result differs if the values are in arrays. At other places the result must not differ.
fn elsewhere(operand: &Value, candidates: &[Candidate]) -> String {
    let at = |path: &str| Filter::parse(&Map::from([(path, operand.clone())])).unwrap();
    let [field, within, id] = ["a", "a.b", "_id"].map(at);
    let (mut more, mut less) = (String::new(), String::new());
    for candidate in candidates {
        let Some(value) = candidate.value() else { continue };
        let matches = candidate.matches(&field);
        let map = || Value::Map(Map::from([("b", value.clone())]));
        let in_map = candidate.with(Map::from([("a", map())]));
        assert_eq!(in_map.matches(&within), matches, "{}: {within}", candidate.name);
        let in_array_of_maps = candidate.with(Map::from([("a", Value::Array(vec![map()]))]));
        assert_eq!(in_array_of_maps.matches(&within), matches, "{} in an array: {within}", candidate.name);
        if !matches!(value, Value::Array(_) | Value::Regex(_) | Value::Undefined) {
            let as_id = candidate.with(Map::from([("_id", value.clone())]));
            assert_eq!(as_id.matches(&id), matches, "{}: {id}", candidate.name);
        }
        let in_array = candidate.with(Map::from([("a", Value::Array(vec![value.clone()]))]));
        match (matches, in_array.matches(&field)) {
            (false, true) => write!(more, " {}", candidate.name).unwrap(),
            (true, false) => write!(less, " {}", candidate.name).unwrap(),
            _ => {}
        }
    }
    let line = |sign: &str, names: String| if names.is_empty() { names } else { format!("  {sign}{names}\n") };
    line("-", less) + &line("+", more)
}

fn answer(line: &str, candidates: &[Candidate]) -> String {
    let filter = match Filter::parse(&map_of(line)) {
        Ok(filter) => filter,
        Err(error) => return format!("  ! {} {}: {error}\n", error.code().number(), error.code().name()),
    };
    let mut answer = String::new();
    assert_eq!(Filter::parse(&filter.to_map()).as_ref(), Ok(&filter), "{line}");
    if filter.to_string() != line {
        writeln!(answer, "  ~ {filter}").unwrap();
    }
    let names: Vec<&str> = candidates.iter().filter(|c| c.matches(&filter)).map(|c| &*c.name).collect();
    writeln!(answer, "  = {}", names.join(" ")).unwrap();
    if let [(name, operand)] = &map_of(line).entries[..]
        && name.as_str() == Some("a")
    {
        answer += &elsewhere(operand, candidates);
    }
    answer.replace("= \n", "=\n")
}

fn check(file: &str) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/filters");
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let text = read(file);
    let values = read("values.txt");
    let added = text.lines().filter_map(|line| line.strip_prefix("+ "));
    let candidates: Vec<Candidate> = values.lines().chain(added).map(Candidate::of).collect();
    let mut given = String::new();
    for line in text.lines().filter(|line| !line.starts_with("  ")) {
        writeln!(given, "{line}").unwrap();
        if line.starts_with('{') {
            given.push_str(&answer(line, &candidates));
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(folder.join(file), given).unwrap();
        return;
    }
    for (given, expected) in given.lines().zip(text.lines()) {
        assert_eq!(given, expected, "{file}");
    }
    assert_eq!(given, text, "{file}");
}

macro_rules! operators {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(concat!(stringify!($name), ".txt"));
        })*

        #[test]
        fn no_file_is_left_out() {
            let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/filters");
            let files = std::fs::read_dir(folder).unwrap().count();
            assert_eq!(files, 1 + [$(stringify!($name)),*].len());
        }
    };
}

operators!(implicit eq ne gt gte lt lte in_ nin exists type_ mod_ size all elem_match regex bits logic paths);

/// Maps inside the library may have keys that are not strings; filters never have such keys.
#[test]
fn names_that_are_no_strings_are_refused() {
    let number = || Map { entries: vec![(Value::from(1), Value::from(1))] };
    let operators = Map { entries: vec![("$gt".into(), 1.into()), (Value::from(1), 1.into())] };
    for filter in [number(), Map::from([("$or", Value::Array(vec![number().into()]))]), Map::from([("a", operators)])] {
        assert_eq!(Filter::parse(&filter).unwrap_err().code().number(), 2, "{filter:?}");
    }
}
