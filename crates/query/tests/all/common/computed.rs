//! Filters with `$expr`: comparisons of fields with constants, single or combined.

use alluvium_document::{Map, Value};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

fn map(name: &'static str, value: impl Into<Value>) -> Value {
    Value::Map(Map::from([(name, value.into())]))
}

fn comparison(constant: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let operator = select(vec!["$eq", "$gt", "$gt", "$gte", "$lt", "$lt", "$lte", "$ne"]);
    let path = select(vec!["$a", "$a", "$a.b", "$b", "$a.c", "$_id", "$a.0"]);
    (operator, path, constant, any::<bool>())
        .prop_map(|(operator, path, constant, reversed)| {
            let (path, constant) = (Value::from(path), map("$literal", constant));
            map(operator, if reversed { vec![constant, path] } else { vec![path, constant] })
        })
        .boxed()
}

/// A filter with an `$expr`. The strategy generates its constants.
pub fn filter(constant: BoxedStrategy<Value>) -> impl Strategy<Value = Map> {
    let ends = select(vec![
        Value::MinKey,
        Value::MaxKey,
        Value::Null,
        Value::Array(Vec::new()),
        Value::Map(Map::new()),
        Value::Bool(false),
        Value::DateTime(0),
        Value::from(f64::NAN),
        Value::from(""),
    ]);
    let constant = prop_oneof![4 => constant, 1 => ends].boxed();
    let one = comparison(constant.clone());
    let both = vec(comparison(constant.clone()), 2..4).prop_map(|all| map("$and", all));
    let either = vec(comparison(constant.clone()), 2..3).prop_map(|all| map("$or", all));
    let expression =
        prop_oneof![4 => one.clone(), 3 => both, 1 => either, 1 => one.prop_map(|one| map("$not", vec![one]))];
    let beside = (select(vec!["a", "b", "a.b"]), select(vec!["$gt", "$lte", "$ne"]), constant)
        .prop_map(|(path, operator, value)| (path, map(operator, value)));
    (expression, prop::option::weighted(0.3, beside), 0..8).prop_map(|(expression, beside, form)| {
        let mut own = Map::from([("$expr", expression)]);
        if let Some((path, condition)) = beside {
            own.push(path, condition);
        }
        match form {
            0 => Map::from([("$nor", Value::Array(vec![Value::Map(own)]))]),
            1 => Map::from([("$or", Value::Array(vec![Value::Map(own), map("_id", 1)]))]),
            2 => Map::from([("$and", Value::Array(vec![Value::Map(own), map("a", map("$exists", true))]))]),
            _ => own,
        }
    })
}
