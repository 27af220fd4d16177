use super::*;

#[test]
fn the_nearest_name_is_suggested_if_one_is_near() {
    let known = ["$eq", "$gt", "$gte", "$elemMatch", "$set", "$unset"];
    for (name, expected) in [
        ("$gtt", Some("$gt")),
        ("$GT", Some("$gt")),
        ("$elemmatch", Some("$elemMatch")),
        ("$elmMtch", Some("$elemMatch")),
        ("$ste", Some("$set")),
        ("$foo", None),
        ("$", None),
        ("", None),
    ] {
        assert_eq!(nearest(name, &known), expected, "{name}");
    }
    assert_eq!(nearest(&"$e".repeat(1000), &known), None);
    assert_eq!(suggestion("$gtt", &known), ": did you mean $gt?");
    assert_eq!(suggestion("$foo", &known), "");
}
