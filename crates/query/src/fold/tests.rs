use super::*;
use crate::update::Context;
use alluvium_document::{Document, Map, Value};

fn delta(operator: &str, field: &str, operand: impl Into<Value>) -> Vec<u8> {
    let update = Map::from([(operator, Map::from([(field, operand.into())]))]);
    Update::parse(&update).unwrap().to_delta(&Context::default()).unwrap()
}

fn draft(map: &Map) -> Draft {
    Draft::new(Document::from_map(map).unwrap()).unwrap()
}

#[test]
fn deltas_apply_in_their_order_and_those_that_cannot_are_counted() {
    let map = Map::from([("_id", Value::from(1)), ("a", Value::from(1)), ("s", Value::from("x"))]);
    let deltas = [delta("$inc", "a", 1), delta("$inc", "s", 1), delta("$mul", "a", 10), delta("$push", "a", 1)];
    let Folded { draft, refused } = fold(Some(draft(&map)), deltas.iter().map(|delta| &delta[..])).unwrap();
    let expected = Map::from([("_id", Value::from(1)), ("a", Value::from(20)), ("s", Value::from("x"))]);
    assert_eq!((draft.unwrap().into_map().unwrap(), refused), (expected, 2));
}

#[test]
fn damage_is_an_error_where_there_is_a_document() {
    let map = Map::from([("_id", 1)]);
    for (bytes, newer) in [(&[1, 99][..], false), (&[1, 3, 0x17][..], false), (&[2][..], true)] {
        let error = fold(Some(draft(&map)), [&delta("$inc", "a", 1)[..], bytes]).unwrap_err();
        match error {
            FoldError::Delta(DeltaError::Version(2)) => assert!(newer),
            FoldError::Delta(DeltaError::Damaged(_)) => assert!(!newer),
            other => panic!("{other}"),
        }
        assert_eq!(fold(None, [bytes]).unwrap().refused, 0);
    }
}
