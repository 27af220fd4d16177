//! An update of existing fields keeps the rest of the row unchanged: the draft builds the new row
//! from the old one.

use crate::common::{map_of, stored};
use alluvium_document::row::decode_row;
use alluvium_query::fold::fold;
use alluvium_query::update::{Context, Update};

const DOCUMENT: &str = r#"{"_id":1,"n":1,"s":"x","m":{"k":1},"a":[1,{"b":2}]}"#;

/// True if the row of the updated document is patched, false if it is encoded again.
fn is_patched(update: &str) -> bool {
    let document = map_of(DOCUMENT);
    let update = Update::parse(&map_of(update)).unwrap();
    let mut expected = document.clone();
    let context = Context::default();
    update.apply_to_map(&mut expected, &context).unwrap();
    let (mut draft, table) = stored(&document);
    let folded = fold(Some(draft.clone()), [&update.to_delta(&context).unwrap()[..]]).unwrap();
    update.apply(&mut draft, &context).unwrap();
    let [checked, blind] = [draft, folded.draft.unwrap()].map(|draft| {
        let (mut row, mut shapes) = (Vec::new(), Vec::new());
        let patched = draft.encode_row(&table, &mut row, &mut shapes).unwrap();
        if patched {
            assert_eq!(decode_row(&row, &table, &1.into()).unwrap(), expected);
        }
        patched
    });
    assert_eq!(checked, blind);
    checked
}

#[test]
fn values_of_fields_that_are_there_are_patched() {
    for update in [
        r#"{"$set":{"n":2}}"#,
        r#"{"$inc":{"n":1},"$max":{"s":"y"}}"#,
        r#"{"$inc":{"m.k":1}}"#,
        r#"{"$set":{"m.new.deep":1}}"#,
        r#"{"$unset":{"m.k":1}}"#,
        r#"{"$push":{"a":3}}"#,
        r#"{"$set":{"a.1.b":3,"a.4":5}}"#,
        r#"{"$pull":{"a":1}}"#,
        r#"{"$rename":{"m.k":"m.l"}}"#,
        r#"{"$unset":{"none":1}}"#,
        r#"{"$pop":{"none":1},"$pull":{"nothing":1},"$rename":{"no":"way"}}"#,
        r#"{"$setOnInsert":{"n":1,"none":2}}"#,
    ] {
        assert!(is_patched(update), "{update}");
    }
}

#[test]
fn fields_that_come_or_go_are_not() {
    for update in [r#"{"$set":{"new":2}}"#, r#"{"$unset":{"n":2}}"#, r#"{"$rename":{"n":"k"}}"#] {
        assert!(!is_patched(update), "{update}");
    }
}
