//! Documents, updates and results, in `cases/`: `document | update => result`. The result is a document, `same`, or a
//! code and its name. Most cases come from the pages of MongoDB's manual.
//!
//! Each case is executed in every possible way: through a draft of a document stored under a shape, through a draft of
//! a self-describing document, through a decoded map, and as a delta.

use crate::common::{draft_of, map_of, plain};
use alluvium_document::{Draft, Map, Value};
use alluvium_query::fold::fold;
use alluvium_query::update::{Applied, Context, Update, UpdateError};

const CONTEXT: Context = Context { time_ms: 1_234_567_890_123, inserting: false };

#[derive(Debug)]
enum Expected {
    Same,
    Document(Map),
    Error(i32, &'static str),
}

struct Case {
    place: String,
    before: Value,
    update: Map,
    expected: Expected,
}

fn cases(file: &'static str, text: &'static str) -> Vec<Case> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let case = |(index, line): (usize, &'static str)| {
        let place = format!("{file}:{}: {line}", index + 1);
        let (before, rest) = line.split_once(" | ").unwrap_or_else(|| panic!("{place}"));
        let (update, result) = rest.split_once(" => ").unwrap_or_else(|| panic!("{place}"));
        let expected = match result.split_once(' ') {
            None if result == "same" => Expected::Same,
            Some((code, name)) if code.parse::<i32>().is_ok() => Expected::Error(code.parse().unwrap(), name),
            _ => Expected::Document(map_of(result)),
        };
        let before = alluvium_document::json::parse(before.as_bytes()).unwrap_or_else(|e| panic!("{place}: {e}"));
        Case { place, before, update: map_of(update), expected }
    };
    let cases: Vec<Case> = lines.map(case).collect();
    assert!(!cases.is_empty());
    cases
}

impl Case {
    fn document(&self) -> &Map {
        self.before.as_map().unwrap_or_else(|| panic!("{}", self.place))
    }

    fn check_error(&self, error: &UpdateError) {
        let place = &self.place;
        match self.expected {
            Expected::Error(code, name) => {
                assert_eq!((error.code().number(), error.code().name()), (code, name), "{place}: {error}");
                assert!(!error.to_string().is_empty());
            }
            _ => panic!("{place}: {error}"),
        }
    }

    fn check(&self, way: &str, result: Result<Applied, UpdateError>, after: Map) {
        let place = &self.place;
        let applied = match result {
            Err(error) => return self.check_error(&error),
            Ok(applied) => applied,
        };
        let expected = match &self.expected {
            Expected::Same => self.document(),
            Expected::Document(map) => map,
            Expected::Error(..) => panic!("{place}: {way} gives {after:?}"),
        };
        assert_eq!(&after, expected, "{place}: {way}");
        assert_eq!(applied.changed, matches!(self.expected, Expected::Document(_)), "{place}: {way}");
    }

    fn check_draft(&self, way: &str, update: &Update, mut draft: Draft) {
        let result = update.apply(&mut draft, &CONTEXT);
        let size = draft.bson_size().unwrap();
        let after = draft.into_map().unwrap();
        assert_eq!(size, alluvium_document::bson::document_size(&after));
        self.check(way, result, after);
    }

    fn check_delta(&self, update: &Update) {
        let place = &self.place;
        let delta = match update.to_delta(&CONTEXT) {
            Ok(delta) => delta,
            Err(error) => {
                let refused = |path: &alluvium_document::path::FieldPath| match error.code().number() {
                    66 => path.first() == "_id",
                    52 => path.first().starts_with('$'),
                    _ => false,
                };
                assert!(update.paths().any(refused), "{place}: {error}");
                return;
            }
        };
        let folded = fold(Some(draft_of(self.document())), [&delta[..]]).unwrap();
        let after = folded.draft.unwrap().into_map().unwrap();
        let (expected, refused) = match &self.expected {
            Expected::Same => (self.document(), 0),
            Expected::Document(map) => (map, 0),
            Expected::Error(..) => (self.document(), 1),
        };
        assert_eq!((&after, folded.refused), (expected, refused), "{place}: as a delta");
    }
}

fn check_all(file: &'static str, text: &'static str) {
    for case in cases(file, text) {
        let update = match Update::parse(&case.update) {
            Ok(update) => update,
            Err(error) => {
                case.check_error(&error);
                continue;
            }
        };
        let mut map = case.document().clone();
        let result = update.apply_to_map(&mut map, &CONTEXT);
        case.check("a map", result, map);
        case.check_draft("a shaped draft", &update, draft_of(case.document()));
        case.check_draft("a plain draft", &update, plain(case.document()));
        case.check_delta(&update);
    }
}

#[test]
fn fields() {
    check_all("fields.txt", include_str!("../cases/fields.txt"));
}

#[test]
fn numbers() {
    check_all("numbers.txt", include_str!("../cases/numbers.txt"));
}

#[test]
fn arrays() {
    check_all("arrays.txt", include_str!("../cases/arrays.txt"));
}

#[test]
fn upserts() {
    for case in cases("upserts.txt", include_str!("../cases/upserts.txt")) {
        let place = &case.place;
        let made = Update::parse(&case.update).and_then(|u| u.for_upsert(case.before.clone(), CONTEXT.time_ms));
        match (made, &case.expected) {
            (Ok(map), Expected::Document(expected)) => assert_eq!(&map, expected, "{place}"),
            (Err(error), _) => case.check_error(&error),
            (Ok(map), expected) => panic!("{place}: {map:?}, not {expected:?}"),
        }
    }
}

/// Maps inside the library may have keys that are not strings; updates never have such keys.
#[test]
fn names_that_are_no_strings_are_refused() {
    let number = |value: Value| Map { entries: vec![(Value::from(1), value)] };
    let inside = |operator: &str, value: Value| {
        let fields: Map = Map::from([("a", value)]);
        Map::from([(operator, fields)])
    };
    let each = |name: Value, value: Value| {
        Value::Map(Map { entries: vec![(Value::from("$each"), Value::Array(Vec::new())), (name, value)] })
    };
    let updates = [
        number(map_of("{}").into()),
        Map::from([("$set", number(Value::Null))]),
        Map { entries: vec![(Value::from("$set"), map_of("{}").into()), (Value::from(1), map_of("{}").into())] },
        inside("$push", each(Value::from(1), Value::Null)),
        inside("$push", each(Value::from("$sort"), number(Value::from(1)).into())),
        inside("$push", each(Value::from("$each"), Value::Array(Vec::new()))),
        inside("$pull", number(Value::Null).into()),
        inside("$currentDate", number(Value::Null).into()),
    ];
    for update in updates {
        let error = Update::parse(&update).unwrap_err();
        assert!([2, 9].contains(&error.code().number()), "{update:?}: {error}");
    }
}
