use super::*;
use alluvium::doc;
use alluvium_query::pipeline::stages::{Collections, Pipelines, StageRow};

/// The needs of a pipeline over the collection `c` of the database `a`.
fn needs(stages: &Value) -> Needs<'_> {
    let mut needs = Vec::new();
    add("a", Some("c"), stages.as_array().unwrap(), &mut needs);
    needs
}

fn one(name: &str, operand: impl Into<Value>) -> Value {
    Value::Array(vec![Value::Map(Map::from([(name, operand.into())]))])
}

/// An option of a stage.
fn option(name: &str, value: impl Into<Value>) -> Map {
    Map::from([(name, value.into())])
}

#[test]
fn every_stage_needs_what_it_uses() {
    for row in stages::all() {
        let (name, rights) = (row.name, rights(row.stage));
        // Only stages that are refused may have these rights, and query settings, which concern all collections.
        let is_refused = row.missing.is_some() && row.of_server.is_none();
        let may_read_all = is_refused || name == "$querySettings";
        assert!(rights != Rights::Everything || may_read_all, "{name} has no rights of its own");
        assert_eq!(row.collections != Collections::None, matches!(rights, Rights::Named(_)), "{name}");
        if let Rights::Named(actions) = rights {
            let writes = actions.iter().any(|action| *action != Action::Find);
            assert_eq!(writes, row.writes, "{name}");
        }
        assert!(row.of_server.is_none() || !matches!(rights, Rights::Input), "{name} shows what a server knows");
        // Each named collection is needed, even in another database.
        let named = Value::Map(doc! {"db": "b", "coll": "d"});
        let (stages, target) = match row.collections {
            Collections::None => continue,
            Collections::Operand => (one(name, named), "b"),
            Collections::Option(at) => (one(name, option(at, named)), "b"),
            Collections::OptionOrOperand(at) => (one(name, option(at, named)), "b"),
            Collections::OptionOrText(at) => (one(name, option(at, named)), "b"),
        };
        let Rights::Named(actions) = rights else { panic!("{name}") };
        let expected: Needs<'_> = actions.iter().map(|action| Need::collection(target, "d", *action)).collect();
        assert_eq!(needs(&stages), expected, "{name}");
    }
}

/// A stage in a nested pipeline has the same needs as alone, in any option and at any depth.
#[test]
fn pipelines_in_stages_need_what_their_stages_need() {
    let hidden = || one("$unionWith", "system.users");
    let within = |row: &StageRow, inner: Value| match row.pipelines {
        Pipelines::Option(at) => one(row.name, option(at, inner)),
        _ => one(row.name, option("x", inner)),
    };
    let users = Need::collection("a", "system.users", Action::Find);
    let mut inner = hidden();
    let walked: Vec<&StageRow> = stages::all().iter().filter(|row| row.pipelines != Pipelines::None).collect();
    for row in &walked {
        let stages = within(row, hidden());
        assert!(needs(&stages).contains(&users), "{}", row.name);
        inner = within(row, inner);
    }
    assert!(needs(&inner).contains(&users));
    let names: Vec<&str> = walked.iter().map(|row| row.name).collect();
    assert_eq!(names, ["$facet", "$lookup", "$merge", "$unionWith"]);
    // If an option occurs twice, the parser uses one of the values.
    let twice =
        [option("pipeline", Vec::<Value>::new()), option("pipeline", hidden())].map(|map| map.entries[0].clone());
    let stages = one("$lookup", Map { entries: twice.to_vec() });
    assert!(needs(&stages).contains(&users));
}

/// A stage that reads figures in a nested pipeline needs actions on the collection of the nested pipeline.
#[test]
fn figures_are_those_of_the_nearest_collection() {
    let figures = || one("$collStats", Map::new());
    let stages = one("$unionWith", doc! {"coll": "d", "pipeline": (figures())});
    assert!(needs(&stages).contains(&Need::collection("a", "d", Action::CollStats)));
    let stages = one("$facet", option("x", figures()));
    assert_eq!(needs(&stages), [Need::collection("a", "c", Action::CollStats)]);
    // If the name of the collection is missing, the whole database is needed.
    let stages = one("$lookup", doc! {"from": {"db": "b", "coll": "d"}, "pipeline": (figures())});
    assert!(needs(&stages).contains(&Need::database("a", Action::CollStats)));
}

/// Needs are computed before the fields are checked. Therefore, any input has to be accepted.
#[test]
fn malformed_pipelines_need_no_less() {
    let unknown = Need::any_database(Action::Find);
    for operand in [Value::Null, Value::from(1), Value::from("x"), Value::Array(Vec::new()), Value::Map(Map::new())] {
        for row in stages::all() {
            needs(&one(row.name, operand.clone()));
        }
        assert_eq!(needs(&one("$surprise", operand.clone())), std::slice::from_ref(&unknown));
    }
    let stages = Value::Array(vec![Value::Null, Value::from(3), Value::Array(Vec::new()), Value::Map(Map::new())]);
    assert!(needs(&stages).is_empty());
    let stages = Value::Array(vec![Value::Map(Map { entries: vec![(Value::from(1), Value::Null)] })]);
    assert_eq!(needs(&stages), [unknown]);
}

#[test]
fn changes_are_those_of_a_collection_a_database_or_everything() {
    let stages = one("$changeStream", Map::new());
    let of = |db, collection| {
        let mut needs = Vec::new();
        add(db, collection, stages.as_array().unwrap(), &mut needs);
        needs
    };
    let both = [Action::ChangeStream, Action::Find];
    assert_eq!(of("a", Some("c")), both.map(|action| Need::collection("a", "c", action)));
    assert_eq!(of("a", None), both.map(|action| Need::database("a", action)));
    assert_eq!(of("admin", None), both.map(Need::any_database));
}
