//! An update has the same effect in all ways of applying it: to a draft or a map, directly or as a delta.

use crate::common::arbitrary::{document, parse, update};
use crate::common::{draft_of, plain};
use alluvium_document::compare::compare;
use alluvium_document::path::FieldPath;
use alluvium_document::{Draft, Map, Value};
use alluvium_query::fold::{Folded, fold};
use alluvium_query::update::{Context, Update, UpdateError};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const CONTEXT: Context = Context { time_ms: 1_234_567_890_123, inserting: false };

/// The update in the form in which a delta stores it: the current time is a value, and operators for inserts are left
/// out.
fn resolved(written: &Map) -> Map {
    let mut update = Map::new();
    let mut set = Map::new();
    for (operator, fields) in written.entries.iter().map(|(name, fields)| (name.as_str().unwrap(), fields)) {
        let Value::Map(fields) = fields else { panic!("{written:?}") };
        match operator {
            "$setOnInsert" => {}
            "$set" => set.entries.extend(fields.entries.iter().cloned()),
            "$currentDate" => set.entries.extend(fields.entries.iter().map(|(path, operand)| {
                let now = Value::DateTime(CONTEXT.time_ms);
                assert!(matches!(operand, Value::Bool(_) | Value::Map(_)));
                (path.clone(), now)
            })),
            operator => update.push(operator, fields.clone()),
        }
    }
    update.push("$set", set);
    update
}

/// The document after an update, or the error.
fn checked(update: &Update, map: &Map) -> Result<(Map, bool), UpdateError> {
    let mut map = map.clone();
    let applied = update.apply_to_map(&mut map, &CONTEXT)?;
    Ok((map, applied.changed))
}

fn in_draft(update: &Update, mut draft: Draft) -> Result<(Map, bool), UpdateError> {
    let applied = update.apply(&mut draft, &CONTEXT)?;
    Ok((draft.into_map().unwrap(), applied.changed))
}

fn touches_id(update: &Update) -> bool {
    update.paths().any(|path| path.first() == "_id")
}

/// The expected result of folding, computed with checked updates.
fn expected(map: &Map, updates: &[Update]) -> (Map, u64) {
    updates.iter().fold((map.clone(), 0), |(map, refused), update| match checked(update, &map) {
        Ok((map, _)) => (map, refused),
        Err(_) => (map, refused + 1),
    })
}

fn fold_all(draft: Draft, deltas: &[Vec<u8>]) -> (Map, u64) {
    let Folded { draft, refused } = fold(Some(draft), deltas.iter().map(|delta| &delta[..])).unwrap();
    (draft.unwrap().into_map().unwrap(), refused)
}

/// The paths of the elements that a path with names in brackets represents; `None` if there is no array.
fn elements_of(value: Option<&Value>, path: &[&str], taken: &str) -> Option<Vec<String>> {
    let Some((name, rest)) = path.split_first() else { return Some(vec![taken[1..].to_owned()]) };
    if !name.starts_with("$[") {
        let inner: Option<&Value> = value.and_then(|value| name.parse::<FieldPath>().unwrap().get(value));
        return elements_of(inner, rest, &format!("{taken}.{name}"));
    }
    let mut all = Vec::new();
    for (at, element) in value?.as_array()?.iter().enumerate() {
        let matches = match *name {
            "$[x]" => {
                let elements = element.as_array().unwrap_or(std::slice::from_ref(element));
                let is_in_range = |value: &Value| value.is_number() && compare(value, &Value::from(0)).is_ge();
                elements.iter().any(is_in_range)
            }
            "$[y]" => {
                let elements = element.as_array().unwrap_or(std::slice::from_ref(element));
                elements.iter().any(|element| element.as_map().is_some_and(|map| map.contains("a")))
            }
            _ => true,
        };
        if matches {
            all.extend(elements_of(Some(element), rest, &format!("{taken}.{at}"))?);
        }
    }
    Some(all)
}

fn each_of(written: &Map, map: &Map) -> Option<Map> {
    let mut update = Map::new();
    let value = Value::Map(map.clone());
    for (operator, fields) in &written.entries {
        let mut each = Map::new();
        for (path, operand) in &fields.as_map().unwrap().entries {
            let path = path.as_str().unwrap();
            if operator.as_str() == Some("$setOnInsert") && path.contains('[') {
                continue;
            }
            let names: Vec<&str> = path.split('.').collect();
            let paths = if path.contains('[') { elements_of(Some(&value), &names, "")? } else { vec![path.to_owned()] };
            paths.into_iter().for_each(|path| each.push(path, operand.clone()));
        }
        update.entries.push((operator.clone(), each.into()));
    }
    Some(update)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_draft_changes_as_a_map_does(map in document(), written in update(4)) {
        let Ok(update) = parse(&written) else { return Ok(()) };
        let expected = checked(&update, &map);
        prop_assert_eq!(&in_draft(&update, draft_of(&map)), &expected);
        prop_assert_eq!(&in_draft(&update, plain(&map)), &expected);
        if let Ok((after, changed)) = expected {
            prop_assert_eq!(changed, after != map);
            // Unless an update increments or moves values, applying it a second time changes nothing.
            let same = ["$set", "$unset", "$min", "$max", "$addToSet", "$pull", "$pullAll", "$setOnInsert", "$currentDate"];
            if written.iter().all(|(operator, _)| same.contains(&operator.as_str().unwrap())) {
                let again = checked(&update, &after);
                // There is an exception: a position that did not exist for one operator may later
                // be filled with null, because another operator sets a higher position.
                let filled = again.is_err() && format!("{after:?}").matches("Null").count() > format!("{map:?}").matches("Null").count();
                prop_assert!(filled || again == Ok((after, false)));
            }
        }
    }

    /// Replaces each name in brackets by the positions of its elements.
    #[test]
    fn several_elements_change_as_each_of_them_does(map in document(), written in update(3)) {
        let Ok(update) = parse(&written) else { return Ok(()) };
        let outcome = checked(&update, &map);
        let Some(each) = each_of(&written, &map) else {
            prop_assert!(outcome.is_err());
            return Ok(());
        };
        match (outcome, Update::parse(&each).and_then(|update| checked(&update, &map))) {
            (Ok(several), Ok(each)) => prop_assert_eq!(several, each),
            (Err(_), Err(_)) => {}
            (several, each) => prop_assert!(false, "{:?} {:?}", several, each),
        }
    }

    #[test]
    fn a_delta_is_the_update(written in update(4)) {
        let Ok(update) = parse(&written) else { return Ok(()) };
        match update.to_delta(&CONTEXT) {
            Ok(delta) => {
                let kept = Update::from_delta(&delta).unwrap();
                prop_assert_eq!(&kept, &parse(&resolved(&written)).unwrap());
                prop_assert_eq!(kept.to_delta(&Context::default()).unwrap(), delta);
            }
            Err(error) => prop_assert!(touches_id(&update) && error.code().number() == 66, "{}", error),
        }
    }

    #[test]
    fn a_fold_does_what_checked_updates_do_and_skips_what_they_refuse(
        map in document(),
        written in vec(update(3), 0..6),
    ) {
        let updates: Vec<Update> = written.iter().filter_map(|written| parse(written).ok()).collect();
        let updates: Vec<Update> = updates.into_iter().filter(|update| !touches_id(update)).collect();
        let deltas: Vec<Vec<u8>> = updates.iter().map(|update| update.to_delta(&CONTEXT).unwrap()).collect();
        let expected = expected(&map, &updates);
        prop_assert_eq!(&fold_all(draft_of(&map), &deltas), &expected);
        prop_assert_eq!(&fold_all(plain(&map), &deltas), &expected);
        let nothing = fold(None, deltas.iter().map(|delta| &delta[..])).unwrap();
        prop_assert!(nothing.draft.is_none() && nothing.refused == 0);
    }

    #[test]
    fn bytes_that_are_no_delta_are_refused_without_panic(
        written in update(3),
        map in document(),
        noise in vec(any::<u8>(), 0..40),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        drop(Update::from_delta(&noise));
        drop(Update::from_delta(&[&[1], &noise[..]].concat()));
        let Ok(mut delta) = parse(&written).and_then(|update| update.to_delta(&CONTEXT)) else { return Ok(()) };
        for cut in 2..delta.len() {
            if let Ok(shorter) = Update::from_delta(&delta[..cut]) {
                // The delta was cut at the end of a change.
                prop_assert_eq!(shorter.to_delta(&CONTEXT).unwrap(), &delta[..cut]);
            }
        }
        let at = at.index(delta.len());
        delta[at] = byte;
        if let Ok(other) = Update::from_delta(&delta) {
            prop_assert_eq!(Update::from_delta(&other.to_delta(&CONTEXT).unwrap()).unwrap(), other);
            let (_, refused) = fold_all(draft_of(&map), &[delta]);
            prop_assert!(refused <= 1);
        }
    }
}

/// The tests would prove little if the generated updates never applied, or always did.
#[test]
fn the_updates_of_these_tests_apply_and_fail_often() {
    let mut runner = TestRunner::deterministic();
    let (mut unchanged, mut changed, mut failed) = (0, 0, 0);
    for _ in 0..3000 {
        let map = document().new_tree(&mut runner).unwrap().current();
        let written = update(1).new_tree(&mut runner).unwrap().current();
        match parse(&written).map(|update| checked(&update, &map)) {
            Ok(Ok((_, true))) => changed += 1,
            Ok(Ok((_, false))) => unchanged += 1,
            Ok(Err(_)) => failed += 1,
            Err(_) => {}
        }
    }
    assert!(unchanged > 300 && changed > 300 && failed > 300, "{unchanged} {changed} {failed}");
}
