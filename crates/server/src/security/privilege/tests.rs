use super::*;

fn covers(pattern: (&str, &str), db: &str, collection: &str) -> bool {
    Pattern::collection(pattern.0, pattern.1).covers(&Target::Collection(db.into(), collection.into()))
}

#[test]
fn patterns_cover_collections() {
    for (pattern, expected) in [
        (("a", "c"), [true, false, false, false]),
        (("a", ""), [true, true, false, false]),
        (("", "c"), [true, false, true, false]),
        (("", ""), [true, true, true, false]),
        (("a", "system.users"), [false, false, false, true]),
    ] {
        let found =
            [("a", "c"), ("a", "d"), ("b", "c"), ("a", "system.users")].map(|(db, name)| covers(pattern, db, name));
        assert_eq!(found, expected, "{pattern:?}");
    }
    assert!(
        !covers(("", ""), "config", "c") && !covers(("", "c"), "local", "c") && covers(("config", ""), "config", "c")
    );
    assert!(Pattern::Any.covers(&Target::Collection("a".into(), "system.users".into())));
    assert!(Pattern::Any.covers(&Target::Server) && Pattern::Any.covers(&Target::AnyDatabase));
    assert!(Pattern::Server.covers(&Target::Server) && !Pattern::Server.covers(&Target::AnyDatabase));
    assert!(Pattern::database("a").covers(&Target::Database("a".into())));
    assert!(!Pattern::collection("a", "c").covers(&Target::Database("a".into())));
    assert!(!Pattern::database("a").covers(&Target::AnyDatabase) && Pattern::database("").covers(&Target::AnyDatabase));
    assert!(!Pattern::database("").covers(&Target::Server));
}

#[test]
fn privileges_are_parsed_joined_and_reduced() {
    let parse = |resource: Map, actions: &[&str]| {
        let actions = actions.iter().map(|action| Value::from(*action)).collect();
        Privilege::parse(&Value::Map(Map::from([
            ("resource", Value::Map(resource)),
            ("actions", Value::Array(actions)),
        ])))
    };
    let c = || alluvium::doc! {"db": "a", "collection": "c"};
    let mut privileges: Privileges =
        [parse(c(), &["find"]).unwrap(), parse(c(), &["insert", "update"]).unwrap()].into_iter().collect();
    assert_eq!(privileges.list().len(), 1);
    assert!(privileges.allow(&Need::collection("a", "c", Action::Insert)));
    assert!(privileges.allow(&Need::collection("a", "c", Action::Remove).or(Action::Find)));
    assert!(privileges.reach("a") && !privileges.reach("b"));
    privileges.remove(&[parse(c(), &["insert"]).unwrap()]);
    assert!(!privileges.allow(&Need::collection("a", "c", Action::Insert)));
    privileges.remove(&[parse(c(), &["find", "update"]).unwrap()]);
    assert!(privileges.list().is_empty());
    let any: Privileges = [parse(alluvium::doc! {"anyResource": true}, &["anyAction"]).unwrap()].into_iter().collect();
    assert!(any.allow(&Need::server(Action::Shutdown)));
    for resource in [alluvium::doc! {}, alluvium::doc! {"db": "a"}, alluvium::doc! {"cluster": false}] {
        assert!(parse(resource, &["find"]).is_err());
    }
    assert!(parse(c(), &[]).is_err() && parse(c(), &["fly"]).is_err());
}
