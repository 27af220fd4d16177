//! Updates of several elements, by conditions, of bits, as upserts by filter, and replacements. The cases are in
//! `cases/`.
//!
//! Each case is executed in every possible way: through a draft of a document stored under a shape,
//! through a draft of a self-describing document, through a decoded map, and as a delta if the
//! update can be one.

use crate::common::{draft_of, golden, map_of, plain};
use alluvium_document::json::{self, Format};
use alluvium_document::{Document, Draft, Map, Value};
use alluvium_query::filter::Filter;
use alluvium_query::fold::fold;
use alluvium_query::update::{Applied, Context, Modification, Update, UpdateError};

const CONTEXT: Context = Context { time_ms: 1_234_567_890_123, inserting: false };

type Outcome = Result<(Map, bool), UpdateError>;

fn text(map: &Map) -> String {
    json::to_string(&Value::Map(map.clone()), Format::RELAXED).unwrap()
}

fn said(outcome: Result<String, UpdateError>) -> String {
    outcome.unwrap_or_else(|error| format!("{} {}: {error}", error.code().number(), error.code().name()))
}

/// The result of an update, which must be the same in every way that the crate has.
fn outcome(update: &Update, map: &Map) -> Outcome {
    let mut changed = map.clone();
    let outcome = update.apply_to_map(&mut changed, &CONTEXT).map(|Applied { changed: is }| (changed, is));
    for draft in [draft_of(map), plain(map)] {
        assert_eq!(in_draft(update, draft.clone()), outcome, "{map:?}");
        let Ok(delta) = update.to_delta(&CONTEXT) else { continue };
        let kept = Update::from_delta(&delta).unwrap();
        assert_eq!(kept.to_delta(&CONTEXT).unwrap(), delta);
        let folded = fold(Some(draft), [&delta[..]]).unwrap();
        assert_eq!(folded.refused, u64::from(outcome.is_err()));
        let expected = outcome.as_ref().map_or(map, |(map, _)| map);
        assert_eq!(&folded.draft.unwrap().into_map().unwrap(), expected, "as a delta");
    }
    outcome
}

fn in_draft(update: &Update, mut draft: Draft) -> Outcome {
    let applied = update.apply(&mut draft, &CONTEXT)?;
    Ok((draft.into_map().unwrap(), applied.changed))
}

fn told(outcome: Outcome, before: &Map) -> String {
    said(outcome.map(|(map, changed)| {
        assert_eq!(changed, map != *before);
        if changed { text(&map) } else { "same".to_owned() }
    }))
}

fn check_updates(file: &str) {
    golden::check(file, |inputs| {
        let map = map_of(inputs[0]);
        told(Update::parse(&map_of(inputs[1])).and_then(|update| outcome(&update, &map)), &map)
    });
}

#[test]
fn bits() {
    check_updates("bit.txt");
}

#[test]
fn every_type_in_every_place() {
    check_updates("types.txt");
}

#[test]
fn pulls() {
    check_updates("pull.txt");
}

#[test]
fn elements_by_name_and_by_the_filter() {
    golden::check("positional.txt", |inputs| {
        let map = map_of(inputs[0]);
        let Value::Array(filters) = json::parse(inputs[2].as_bytes()).unwrap() else { panic!("{}", inputs[2]) };
        let update = Update::parse_with(&map_of(inputs[1]), &filters).and_then(|update| match inputs.get(3) {
            None => Ok(update),
            Some(filter) => {
                let filter = Filter::parse(&map_of(filter)).unwrap();
                assert!(filter.matches_map(&map).unwrap(), "{inputs:?}");
                let resolved = update.resolved(&filter, &Document::from_map(&map).unwrap())?;
                assert!(update.needs_position() && !resolved.needs_position());
                Ok(resolved)
            }
        });
        told(update.and_then(|update| outcome(&update, &map)), &map)
    });
}

#[test]
fn upserts_by_filter() {
    golden::check("upserts_by_filter.txt", |inputs| {
        let filter = Filter::parse(&map_of(inputs[0])).unwrap();
        let made = Modification::parse(&map_of(inputs[1]), &[]).and_then(|modification| match modification {
            Modification::Update(update) => update.for_upsert_by(&filter, CONTEXT.time_ms),
            Modification::Replacement(replacement) => replacement.for_upsert_by(&filter),
            Modification::Piped(piped) => piped.for_upsert_by(&filter, CONTEXT.time_ms),
        });
        said(made.map(|map| {
            assert!(map.entries.iter().skip(1).all(|(name, _)| name.as_str() != Some("_id")), "{map:?}");
            text(&map)
        }))
    });
}

#[test]
fn replacements() {
    golden::check("replacements.txt", |inputs| {
        let map = map_of(inputs[0]);
        let replaced = |mut draft: Draft| match Modification::parse(&map_of(inputs[1]), &[])? {
            Modification::Replacement(replacement) => {
                let applied = replacement.apply(&mut draft)?;
                Ok((draft.into_map().unwrap(), applied.changed))
            }
            other => panic!("{other:?}"),
        };
        let outcome = replaced(draft_of(&map));
        assert_eq!(replaced(plain(&map)), outcome);
        told(outcome, &map)
    });
}

#[test]
fn array_filters_go_with_operators_alone() {
    let error = Modification::parse(&map_of(r#"{"a":1}"#), &[Value::Map(map_of(r#"{"x":1}"#))]).unwrap_err();
    assert_eq!((error.code().number(), error.code().name()), (9, "FailedToParse"));
}
