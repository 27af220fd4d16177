//! Updates, filters, projections, sorts and definitions of indexes, applied to a few documents of
//! every kind.

use alluvium_document::json;
use alluvium_document::{Document, Draft, Map, Value};
use alluvium_query::filter::{Filter, MatchError};
use alluvium_query::fold::fold;
use alluvium_query::index::Definition;
use alluvium_query::projection::Projection;
use alluvium_query::sort::Sort;
use alluvium_query::update::{Context, Update};

const CONTEXT: Context = Context { time_ms: 1_700_000_000_000, inserting: false };

/// Documents of every kind.
const DOCUMENTS: [&str; 7] = [
    r#"{"_id":1,"a":1,"b":"text","c":[1,2,3],"d":{"e":1.5}}"#,
    r#"{"_id":2,"a":[{"b":1},{"b":[2,5]}],"c":[],"d":null}"#,
    r#"{"_id":"x","a":{"b":{"c":[[1],[2,[3]]]}},"c":"abc","t":{"$date":"2020-01-01T00:00:00Z"}}"#,
    r#"{"_id":4,"a":{"$numberDecimal":"1.10"},"b":{"$numberLong":"5"},"c":[{"d":1,"e":2},{"d":2}]}"#,
    r#"{"_id":5,"a":-0.0,"b":true,"c":[null,[],{}],"d":{"$binary":{"base64":"AQI=","subType":"00"}}}"#,
    r#"{"_id":6,"a":{"$oid":"0123456789abcdef01234567"},"b":{"$regularExpression":{"pattern":"a","options":"i"}}}"#,
    r#"{"_id":7,"a":9223372036854775807,"b":2147483647,"c":[9,"nine",9.5,null]}"#,
];

pub(super) fn documents() -> Vec<Map> {
    let map = |text: &&str| match json::parse(text.as_bytes()) {
        Ok(Value::Map(map)) => map,
        other => panic!("{text}: {other:?}"),
    };
    DOCUMENTS.iter().map(map).collect()
}

fn document(map: &Map) -> Document {
    Document::from_map(map).unwrap_or_else(|e| panic!("{e}: {map:?}"))
}

fn map_in(data: &[u8]) -> Option<Map> {
    match json::parse(data) {
        Ok(Value::Map(map)) => Some(map),
        _ => None,
    }
}

/// An update must have the same result on a map, on a draft, and as a delta.
pub fn updates(data: &[u8]) {
    let Some(Ok(update)) = map_in(data).map(|map| Update::parse(&map)) else { return };
    let delta = update.to_delta(&CONTEXT);
    for map in documents() {
        let mut by_map = map.clone();
        let done = update.apply_to_map(&mut by_map, &CONTEXT);
        let mut draft = Draft::new(document(&map)).unwrap_or_else(|e| panic!("{e}: {map:?}"));
        let drafted = update.apply(&mut draft, &CONTEXT);
        assert_eq!(done.is_ok(), drafted.is_ok(), "{update:?} of {map:?}: {done:?} and {drafted:?}");
        if done.is_err() {
            // A failed update does not change the document.
            by_map = map.clone();
        } else {
            let by_draft = draft.into_map().unwrap_or_else(|e| panic!("{e}: {map:?}"));
            assert!(by_map == by_draft, "{update:?} of {map:?}: {by_map:?} and {by_draft:?}");
        }
        let Ok(delta) = &delta else { continue };
        let below = Draft::new(document(&map)).unwrap_or_else(|e| panic!("{e}: {map:?}"));
        let folded = fold(Some(below), [delta.as_slice()]).unwrap_or_else(|e| panic!("{e}: {update:?}"));
        assert_eq!(folded.refused > 0, done.is_err(), "{update:?} of {map:?}: {done:?}");
        let folded = folded.draft.map(Draft::into_map).transpose().unwrap_or_else(|e| panic!("{e}: {update:?}"));
        assert!(folded.as_ref() == Some(&by_map), "{update:?} of {map:?} as a delta: {folded:?}, not {by_map:?}");
    }
}

/// A delta is decoded from the bytes.
pub fn deltas(data: &[u8]) {
    let Ok(update) = Update::from_delta(data) else { return };
    let again = update.to_delta(&CONTEXT).unwrap_or_else(|e| panic!("{e}: {update:?}"));
    let decoded = Update::from_delta(&again).unwrap_or_else(|e| panic!("{e}: {update:?}"));
    for map in documents() {
        let fold_of = |delta: &[u8]| {
            let draft = Draft::new(document(&map)).unwrap_or_else(|e| panic!("{e}: {map:?}"));
            let folded = fold(Some(draft), [delta]).unwrap_or_else(|e| panic!("{e}: {update:?}"));
            let map = folded.draft.map(Draft::into_map).transpose().unwrap_or_else(|e| panic!("{e}: {update:?}"));
            (map, folded.refused)
        };
        assert!(fold_of(data) == fold_of(&again), "{update:?} and {decoded:?}");
    }
}

/// A filter, evaluated on values and on rows. A projection and a sort are parsed from the same text.
pub fn filters(data: &[u8]) {
    let Some(map) = map_in(data) else { return };
    if let Ok(filter) = Filter::parse(&map) {
        let again = Filter::parse(&filter.to_map()).unwrap_or_else(|e| panic!("{e}: {:?}", filter.to_map()));
        for map in documents() {
            // The pattern of a filter may take too many steps, in either evaluation.
            let by_map = filter.matches_map(&map);
            let by_row = filter.matches(&document(&map));
            assert_eq!(by_map.clone().map_err(MatchError::from), by_row, "{filter:?} of {map:?}");
            assert_eq!(by_map, again.matches_map(&map), "{filter:?} and {again:?} of {map:?}");
        }
    }
    if let Ok(projection) = Projection::parse(&map) {
        let all = Filter::parse(&Map::new()).unwrap_or_else(|e| panic!("{e}"));
        documents().iter().for_each(|map| drop(projection.apply(&document(map), &all)));
    }
    if let Ok(sort) = Sort::parse(&map) {
        let documents: Vec<Document> = documents().iter().map(document).collect();
        for a in &documents {
            for b in &documents {
                let (Ok(order), Ok(x), Ok(y)) = (sort.compare(a, b), sort.key(a), sort.key(b)) else { continue };
                assert_eq!(order, x.cmp(&y), "{sort:?} of {a} and {b}");
            }
        }
    }
}

/// A definition of an index, as two texts separated by a newline: the keys and the options.
pub fn indexes(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == b'\n');
    let (Some(keys), options) = (parts.next().and_then(map_in), parts.next().and_then(map_in).unwrap_or_default())
    else {
        return;
    };
    let Ok(definition) = Definition::parse(&keys, &options) else { return };
    let again = Definition::from_map(&definition.to_map()).unwrap_or_else(|e| panic!("{e}: {definition:?}"));
    assert!(again.to_map() == definition.to_map(), "{definition:?}");
    for map in documents() {
        let (by_map, by_row) = (definition.keys(&map), definition.keys_of(&document(&map)));
        assert_eq!(by_map.is_ok(), by_row.is_ok(), "{definition:?} of {map:?}: {by_map:?} and {by_row:?}");
        let (Ok(by_map), Ok(by_row)) = (by_map, by_row) else { continue };
        assert_eq!(format!("{by_map:?}"), format!("{by_row:?}"), "{definition:?} of {map:?}");
    }
}
