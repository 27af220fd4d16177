use super::*;
use alluvium::doc;

fn plan(filter: Map) -> String {
    of_plan(QueryPlace::Filter("filter"), &doc! {"find": "c", "filter": filter})
}

fn query(filter: Map) -> String {
    of_query("db", "find", QueryPlace::Filter("filter"), &doc! {"find": "c", "filter": filter}).unwrap()
}

fn pipeline(stages: Vec<Map>) -> (String, String) {
    let stages = Value::Array(stages.into_iter().map(Value::Map).collect());
    let body = doc! {"aggregate": "c", "pipeline": stages, "cursor": {}};
    (of_plan(QueryPlace::Pipeline, &body), of_query("db", "aggregate", QueryPlace::Pipeline, &body).unwrap())
}

#[test]
fn values_do_not_count_and_fields_and_operators_do() {
    for (a, b) in [
        (doc! {"a": 1}, doc! {"a": {"$eq": 2.5}}),
        (doc! {"a": 1, "b": "x"}, doc! {"$and": [{"a": 2}, {"b": "y"}]}),
        (doc! {"a": {"$in": [1, 2]}}, doc! {"a": {"$in": [3, 4, 5]}}),
        (doc! {"a": {"$not": {"$gt": 1}}}, doc! {"a": {"$not": {"$gt": 2}}}),
        (doc! {"a": {"$elemMatch": {"b": 1}}}, doc! {"a": {"$elemMatch": {"b": 2}}}),
        (doc! {"a": {"$type": "int"}}, doc! {"a": {"$type": ["int"]}}),
        (doc! {"$expr": {"$gt": ["$a", 1]}}, doc! {"$expr": {"$gt": ["$a", 2]}}),
    ] {
        assert_eq!(plan(a.clone()), plan(b.clone()), "{a} {b}");
        assert_eq!(query(a.clone()), query(b.clone()), "{a} {b}");
    }
    for (a, b) in [
        (doc! {"a": 1}, doc! {"b": 1}),
        (doc! {"a": {"$gt": 1}}, doc! {"a": {"$lt": 1}}),
        (doc! {"a": {"$exists": true}}, doc! {"a": {"$exists": false}}),
        (doc! {"a": {"$all": [1]}}, doc! {"a": {"$all": [1, 2]}}),
        (doc! {"a": {"$all": [1, 2]}}, doc! {"a": {"$in": [1, 2]}}),
        (doc! {"a": {"$elemMatch": {"b": 1}}}, doc! {"a": {"$elemMatch": {"$eq": 1}}}),
        (doc! {"a": {"$regex": "x"}}, doc! {"a": {"$regex": "x", "$options": "i"}}),
        (doc! {"$or": [{"a": 1}, {"b": 1}]}, doc! {"$nor": [{"a": 1}, {"b": 1}]}),
        (doc! {"$jsonSchema": {"required": ["a"]}}, doc! {"$jsonSchema": {"required": ["b"]}}),
    ] {
        assert_ne!(plan(a.clone()), plan(b.clone()), "{a} {b}");
        assert_ne!(query(a.clone()), query(b.clone()), "{a} {b}");
    }
}

#[test]
fn the_shape_of_the_plan_has_no_order_and_that_of_the_query_has() {
    for (a, b) in [
        (doc! {"a": 1, "b": 2}, doc! {"b": 2, "a": 1}),
        (doc! {"a": {"$type": "int"}}, doc! {"a": {"$type": "string"}}),
        (doc! {"$expr": {"$gt": ["$a", "$b"]}}, doc! {"$expr": {"$lt": ["$a", "$b"]}}),
    ] {
        assert_eq!(plan(a.clone()), plan(b.clone()), "{a} {b}");
        assert_ne!(query(a.clone()), query(b.clone()), "{a} {b}");
    }
    // A list of one value is planned like the value.
    assert_eq!(plan(doc! {"a": {"$in": [1]}}), plan(doc! {"a": 1}));
    assert_ne!(plan(doc! {"a": {"$in": [1]}}), plan(doc! {"a": {"$in": [1, 2]}}));
    let projected =
        |projection: Map| of_plan(QueryPlace::Filter("filter"), &doc! {"find": "c", "projection": projection});
    assert_eq!(projected(doc! {"a": 1, "b": 1}), projected(doc! {"b": true, "a": 1}));
    assert_ne!(projected(doc! {"a": 1}), projected(doc! {"a": 0}));
}

#[test]
fn stages_that_read_fields_alone_change_the_plan() {
    let filter = doc! {"$match": {"a": {"$gt": 0}}};
    let (plan, query) = pipeline(vec![filter.clone()]);
    for stage in [doc! {"$group": {"_id": "$b"}}, doc! {"$count": "n"}, doc! {"$project": {"a": 1}}] {
        let (other_plan, other_query) = pipeline(vec![filter.clone(), stage.clone()]);
        assert_ne!(plan, other_plan, "{stage}");
        assert_ne!(query, other_query, "{stage}");
    }
    for stage in [doc! {"$unwind": "$b"}, doc! {"$limit": 3}, doc! {"$unset": "a"}, doc! {"$out": "d"}] {
        let (other_plan, other_query) = pipeline(vec![filter.clone(), stage.clone()]);
        assert_eq!(plan, other_plan, "{stage}");
        assert_ne!(query, other_query, "{stage}");
    }
}

#[test]
fn hashes_have_the_form_of_mongodb() {
    let body = doc! {"find": "c", "filter": {"a": 1}};
    assert_eq!(of_plan(QueryPlace::Filter("filter"), &body).len(), 8);
    let indexes = [doc! {"name": "_id_"}];
    assert_ne!(
        of_plan_and_indexes(QueryPlace::Filter("filter"), &body, &indexes),
        of_plan_and_indexes(QueryPlace::Filter("filter"), &body, &[])
    );
    assert_eq!(of_query("db", "find", QueryPlace::Filter("filter"), &body).unwrap().len(), 64);
    assert_eq!(of_query("db", "insert", QueryPlace::Nowhere, &body), None);
}
