use super::*;
use alluvium::doc;

fn of(query: Map) -> QueryShape {
    QueryShape { query, ..QueryShape::default() }
}

#[test]
fn values_are_no_part_of_a_shape() {
    let alike = |a: Map, b: Map| of(a).is_like(&of(b));
    assert!(alike(doc! {"a": 1, "b": "x"}, doc! {"b": "y", "a": 2}));
    assert!(alike(doc! {"a": {"$gt": 1}}, doc! {"a": {"$gt": 5}}));
    assert!(alike(doc! {"$or": [{"a": 1}, {"b": 1}]}, doc! {"$or": [{"a": 2}, {"b": 3}]}));
    assert!(!alike(doc! {"a": {"$gt": 1}}, doc! {"a": {"$lt": 1}}));
    assert!(!alike(doc! {"a": 1}, doc! {"a": 1, "b": 1}));
    assert!(!of(doc! {"a": 1}).is_like(&QueryShape { sort: doc! {"a": 1}, ..of(doc! {"a": 1}) }));
}

#[test]
fn filters_are_replaced_and_forgotten() {
    let mut filters = PlanFilters::default();
    let filter = |query: Map, index: &str| PlanFilter { query: of(query), indexes: vec![Value::from(index)] };
    filters.set("zoo.pets", filter(doc! {"a": 1}, "a_1"));
    filters.set("zoo.pets", filter(doc! {"a": 2}, "a_2"));
    filters.set("zoo.pets", filter(doc! {"b": 1}, "b_1"));
    assert_eq!(filters.list("zoo.pets").len(), 2);
    assert_eq!(filters.indexes("zoo.pets", &of(doc! {"a": 9})), Some(&[Value::from("a_2")][..]));
    assert_eq!(filters.indexes("zoo.others", &of(doc! {"a": 9})), None);
    filters.clear("zoo.pets", Some(&of(doc! {"a": 7})));
    assert_eq!(filters.list("zoo.pets").len(), 1);
    filters.clear("zoo.pets", None);
    assert!(filters.list("zoo.pets").is_empty());
}
