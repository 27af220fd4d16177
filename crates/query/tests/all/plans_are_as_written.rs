//! Plans as text, in `plans/`. There is one file for each kind of plan.
//!
//! A file describes a collection (`documents`, `partitions`, `index` with its keys, options and statistics) and has
//! queries (`find` with a filter, `sort`, `needs`, `skip`, `limit`, `hint`); the plan follows each query. `UPDATE=1`
//! rewrites the plans; review them before you keep them.

use std::fmt::Write;
use std::path::PathBuf;

use crate::common::map_of;
use alluvium_document::path::FieldPath;
use alluvium_document::{Map, Value};
use alluvium_query::filter::Filter;
use alluvium_query::index::Definition;
use alluvium_query::plan::{Collection, Hint, Index, Needs, Query, plan};
use alluvium_query::sort::{Direction, SortPart};

struct Known {
    definition: Definition,
    multikey: u32,
    entries: u64,
    /// The size of an entry in bytes.
    each: u64,
    distinct: Vec<u64>,
}

impl Known {
    fn index(&self) -> Index<'_> {
        let Self { definition, multikey, entries, each, distinct } = self;
        Index { definition, multikey: *multikey, cut: 0, entries: *entries, distinct, bytes: entries * each }
    }
}

#[derive(Default)]
struct Scene {
    documents: u64,
    partitions: u32,
    indexes: Vec<Known>,
}

fn number(map: &Map, name: &str) -> Option<u64> {
    map.get(name).map(|value| value.as_i64().unwrap() as u64)
}

impl Scene {
    fn set(&mut self, line: &str) {
        let (what, rest) = line.split_once(' ').unwrap_or_else(|| panic!("{line}"));
        match what {
            "documents" => self.documents = rest.parse().unwrap(),
            "partitions" => self.partitions = rest.parse().unwrap(),
            "index" => {
                let map = map_of(rest);
                let part = |name: &str| map.get(name).and_then(Value::as_map).cloned().unwrap_or_default();
                let definition = Definition::parse(&part("key"), &part("options")).unwrap();
                let multikey = number(&map, "multikey").unwrap_or(0) as u32;
                let distinct = map.get("distinct").and_then(Value::as_array).unwrap_or_default();
                let distinct = distinct.iter().map(|value| value.as_i64().unwrap() as u64).collect();
                let entries = number(&map, "entries").unwrap_or(self.documents);
                let each = number(&map, "entryBytes").unwrap_or(20);
                self.indexes.push(Known { definition, multikey, entries, each, distinct });
            }
            other => panic!("{other}"),
        }
    }

    fn ask(&self, question: &Map) -> String {
        let filter = question.get("filter").and_then(Value::as_map).cloned().unwrap_or_default();
        let filter = Filter::parse(&filter).unwrap();
        let sort = question.get("sort").and_then(Value::as_map).cloned().unwrap_or_default();
        let sort_part = |(path, order): &(Value, Value)| SortPart {
            path: path.as_str().unwrap().parse().unwrap(),
            collation: None,
            direction: if *order == Value::from(-1) { Direction::Descending } else { Direction::Ascending },
        };
        let sort: Vec<SortPart> = sort.entries.iter().map(sort_part).collect();
        let paths = question.get("needs").and_then(Value::as_array);
        let paths: Option<Vec<FieldPath>> =
            paths.map(|paths| paths.iter().map(|path| path.as_str().unwrap().parse().unwrap()).collect());
        let indexes: Vec<Index<'_>> = self.indexes.iter().map(Known::index).collect();
        let hint = question.get("hint").map(|hint| match hint {
            Value::String(name) => Hint::Name(name.as_str()),
            Value::Map(keys) => Hint::Keys(keys),
            other => Hint::Natural { backward: *other == Value::from(-1) },
        });
        let query = Query {
            filter: &filter,
            sort: &sort,
            needs: paths.as_deref().map_or(Needs::Documents, Needs::Paths),
            skip: number(question, "skip").unwrap_or(0),
            limit: number(question, "limit"),
            hint,
        };
        let collection = Collection {
            documents: self.documents,
            bytes: self.documents * 400,
            partitions: self.partitions.max(1),
            natural_ids: true,
            indexes: &indexes,
            estimator: None,
        };
        match plan(&query, &collection) {
            Ok(plan) if question.contains("value") => format!("{}\n", Value::Map(plan.to_map()).to_json()),
            Ok(plan) => plan.to_string(),
            Err(error) => format!("{} {}: {error}\n", error.code().number(), error.code().name()),
        }
    }
}

trait ToJson {
    fn to_json(&self) -> String;
}

impl ToJson for Value {
    fn to_json(&self) -> String {
        alluvium_document::json::to_string(self, alluvium_document::json::Format::RELAXED).unwrap()
    }
}

fn check(file: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/plans").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let (mut scene, mut given) = (Scene::default(), String::new());
    for line in text.lines().filter(|line| !line.starts_with("  ")) {
        writeln!(given, "{line}").unwrap();
        match line.strip_prefix("find ") {
            Some(question) => {
                scene.ask(&map_of(question)).lines().for_each(|line| writeln!(given, "  {line}").unwrap());
            }
            None if line.is_empty() || line.starts_with('#') => {}
            None => scene.set(line),
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, given).unwrap();
        return;
    }
    for (given, expected) in given.lines().zip(text.lines()) {
        assert_eq!(given, expected, "{file}");
    }
    assert_eq!(given, text, "{file}");
}

macro_rules! kinds {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(concat!(stringify!($name), ".txt"));
        })*

        #[test]
        fn no_file_is_left_out() {
            let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/plans");
            let files = std::fs::read_dir(folder).unwrap().count();
            assert_eq!(files, [$(stringify!($name)),*].len());
        }
    };
}

kinds!(bounds compound jumps multikey partial ids sorts sizes covered unions hints hashed unique);
