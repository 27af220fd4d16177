//! `--collation` in all commands with a filter, in `aggregate` and in `index create`.

use crate::common::Place;

const EN: &str = r#"{"locale": "en", "strength": 2}"#;

fn pets() -> Place {
    let place = Place::new();
    let names = ["Rex", "REX", "rex", "réx", "tom", "Tom"];
    let lines = names.iter().enumerate().map(|(id, name)| format!("{{\"_id\":{id},\"name\":\"{name}\"}}\n"));
    place.write("pets.jsonl", lines.collect::<String>());
    place.good(&["load", "db", "pets", "pets.jsonl"]);
    place
}

#[test]
fn collations_compare_on_the_command_line() {
    let place = pets();
    let rex = r#"{"name": "rex"}"#;
    let check = || {
        assert_eq!(place.good(&["count", "db", "pets", rex]), "1\n");
        assert_eq!(place.good(&["count", "db", "pets", rex, "--collation", EN]), "3\n");
        let sorted =
            ["find", "db", "pets", "--sort", "{name: -1, _id: 1}", "--collation", "{locale: 'en', strength: 1}"];
        let ids: Vec<String> = place.good(&sorted).lines().map(|line| line[7..8].to_owned()).collect();
        assert_eq!(ids.concat(), "450123");
        assert_eq!(place.good(&["distinct", "db", "pets", "name", "--collation", EN]).lines().count(), 3);
        let by = place.good(&["count", "db", "pets", "--by", "name", "--collation", EN, "--json"]);
        assert_eq!(by.matches("name").count(), 3, "{by}");
        let groups = place.good(&["aggregate", "db", "pets", "{$sortByCount: '$name'}", "--collation", EN]);
        assert!(groups.contains(r#""count":3}"#), "{groups}");
    };
    check();
    place.good(&["index", "create", "db", "pets", "{name: 1}", "--collation", EN]);
    check();
    assert!(place.good(&["index", "list", "db", "pets"]).contains(r#""locale":"en""#));
    let explained = place.good(&["find", "db", "pets", rex, "--collation", EN, "--hint", "name_1", "--explain"]);
    assert!(explained.contains("3 returned, 3 entries"), "{explained}");
    let update = ["update", "db", "pets", "--where", rex, "{$set: {age: 1}}", "--many", "--collation", EN];
    assert_eq!(place.good(&update), "updated 3 of 3 matching documents\n");
    assert_eq!(
        place.good(&["delete", "db", "pets", "--where", rex, "--many", "--collation", EN]),
        "deleted 3 documents\n"
    );
    assert_eq!(place.good(&["count", "db", "pets"]), "3\n");
    let twice = place.bad(4, &["index", "create", "db", "pets", "{name: -1}", "--unique", "--collation", EN]);
    assert!(twice.contains("CollationKey"), "{twice}");
}

#[test]
fn wrong_collations_are_named() {
    let place = pets();
    for (collation, part) in [
        ("{locale: 'xx'}", "no known language"),
        ("{strength: 1}", "needs a locale"),
        ("{locale: 'en', strenght: 1}", "did you mean strength?"),
        ("{locale: 'fr', backwards: true}", "backwards"),
    ] {
        let said = place.bad(2, &["find", "db", "pets", "--collation", collation]);
        assert!(said.contains(part), "{collation}: {said}");
    }
    assert!(place.bad(2, &["find", "db", "pets", "--collation", "en"]).contains("--collation must be"));
    let both = ["distinct", "db", "pets", "name", "--counts", "--collation", EN];
    assert!(place.bad(2, &both).contains("count --by"));
    assert!(place.bad(2, &["delete", "db", "pets", "1", "--collation", EN]).contains("--where"));
}
