use crate::update::tests::update;

fn touches(operator: &str, changed: &str, path: &str) -> bool {
    let text = match operator {
        "$push" | "$pull" | "$set" | "$inc" | "$min" => format!(r#"{{"{operator}":{{"{changed}":1}}}}"#),
        "$rename" => format!(r#"{{"$rename":{{"{changed}":"to.here"}}}}"#),
        "$currentDate" => format!(r#"{{"$currentDate":{{"{changed}":true}}}}"#),
        other => format!(r#"{{"{other}":{{"{changed}":1}}}}"#),
    };
    update(&text).touches(&path.parse().unwrap())
}

#[test]
fn a_change_touches_its_path_and_what_is_above_and_below_it() {
    let cases = [
        ("a", "a", true),
        ("a", "b", false),
        ("a", "ab", false),
        ("a.b", "a", true),
        ("a", "a.b", true),
        ("a.b", "a.c", false),
        ("a.b.c", "a.b", true),
        ("a.b", "b", false),
        ("b.a", "a", false),
        ("_id.x", "_id", true),
    ];
    for (changed, path, expected) in cases {
        for operator in ["$set", "$unset", "$currentDate", "$pull", "$rename"] {
            // For `$rename`, the new path is checked too.
            assert_eq!(touches(operator, changed, path), expected, "{operator} {changed} {path}");
        }
    }
    assert!(
        touches("$rename", "a", "to.here") && touches("$rename", "a", "to") && !touches("$rename", "a", "to.there")
    );
    assert!(!update(r#"{"$setOnInsert":{"a":1}}"#).touches(&"a".parse().unwrap()));
    assert!(!update(r#"{"$set":{}}"#).touches(&"a".parse().unwrap()));
    assert!(update(r#"{"$set":{"a":1},"$inc":{"b":1}}"#).touches(&"b".parse().unwrap()));
}

#[test]
fn numbers_have_nothing_in_them() {
    for operator in ["$inc", "$mul"] {
        assert!(touches(operator, "a.b", "a.b") && touches(operator, "a.b", "a") && !touches(operator, "a.b", "a.b.c"));
        // However, the field may be in an array.
        assert!(
            touches(operator, "a.0", "a.b") && !touches(operator, "a.$[]", "a.b") && touches(operator, "a.$[]", "a")
        );
    }
}

#[test]
fn positions_are_elements_that_paths_enter_by_themselves() {
    // The changed path, the examined path, whether a change that may append touches it, and whether
    // a change that cannot append touches it.
    let cases = [
        ("a.0", "a", true, true),
        ("a.0.b", "a.b", true, true),
        ("a.0", "a.b", true, true),
        // A new element has no value at the other path, so filters for null examine it.
        ("a.0.b", "a.c", true, false),
        ("a.$[].b", "a.b", true, true),
        ("a.$[].b", "a.c", false, false),
        ("a.$[]", "a.c", true, true),
        ("a.0.b", "a.0.b", true, true),
        ("a.0.b", "a.0.c", true, false),
        ("a.0.b", "a.1.b", true, false),
        ("a.2.b", "a.1.b", true, false),
        ("a.$[].b", "a.1.b", true, true),
        ("a.$[].b", "a.1.c", false, false),
        ("a.b.0", "a.b", true, true),
        ("a.b.0", "a.c", false, false),
        ("a.0.0.b", "a.b", true, false),
        ("a.$[].$[].b", "a.b", false, false),
        ("a.$[].$[]", "a.b", false, false),
        ("a.$[].$[]", "a", true, true),
        ("a.0.1", "a.0", true, true),
        ("0.a", "0", true, true),
        ("0.a", "a", false, false),
    ];
    for (changed, path, appends, other) in cases {
        assert_eq!(touches("$set", changed, path), appends, "$set {changed} {path}");
        assert_eq!(touches("$unset", changed, path), other, "$unset {changed} {path}");
    }
    // The filter may select any position.
    assert!(
        touches("$set", "a.$.b", "a.c") && !touches("$unset", "a.$.b", "a.c") && touches("$unset", "a.$.b", "a.3.b")
    );
}

#[test]
fn many_numbers_take_no_time() {
    let text = vec!["0"; 99].join(".");
    for changed in ["$unset", "$set"] {
        let paths = [format!("a.{text}"), format!("a.{}", vec!["0"; 50].join("."))];
        assert!(touches(changed, &paths[0], &paths[1]));
        assert!(!touches("$unset", &paths[0], &format!("{}.x", paths[1].replace("a.0", "a.1"))));
    }
}
