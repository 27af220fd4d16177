//! Named arguments: unknown ones, missing ones, and operands that are not maps.

use super::{check, value};

#[test]
fn each_operator_has_its_codes() {
    let cases = [
        ("$trim", "50696", "50694", &[("input", "50695")][..]),
        ("$ltrim", "50696", "50694", &[("input", "50695")]),
        ("$rtrim", "50696", "50694", &[("input", "50695")]),
        ("$replaceOne", "51751", "51750", &[("input", "51749"), ("find", "51748"), ("replacement", "51747")]),
        ("$replaceAll", "51751", "51750", &[("input", "51749"), ("find", "51748"), ("replacement", "51747")]),
        ("$regexMatch", "51103", "31024", &[("input", "31022"), ("regex", "31023")]),
        ("$regexFind", "51103", "31024", &[("input", "31022"), ("regex", "31023")]),
        ("$regexFindAll", "51103", "31024", &[("input", "31022"), ("regex", "31023")]),
        ("$zip", "34460", "34464", &[("inputs", "34465")]),
        ("$sortArray", "2942500", "2942501", &[("input", "2942502"), ("sortBy", "2942503")]),
        ("$firstN", "5787801", "5787901", &[("input", "5787907"), ("n", "5787906")]),
        ("$maxN", "5787801", "5787901", &[("input", "5787907"), ("n", "5787906")]),
        ("$setField", "4161100", "4161101", &[("field", "4161102"), ("input", "4161109"), ("value", "4161103")]),
        ("$unsetField", "4161100", "4161101", &[("field", "4161102"), ("input", "4161109")]),
        ("$convert", "9", "9", &[("input", "9"), ("to", "9")]),
        ("$median", "7436201", "40415", &[("input", "40414"), ("method", "40414")]),
        ("$percentile", "7436200", "40415", &[("input", "40414"), ("method", "40414"), ("p", "40414")]),
        ("$dateToParts", "40524", "40520", &[("date", "40522")]),
        ("$dateToString", "18629", "18534", &[("date", "18628")]),
        ("$dateFromString", "40540", "40541", &[("dateString", "40542")]),
    ];
    for (operator, no_map, unknown, required) in cases {
        let of = |operand: &str| value(&format!(r#"{{"{operator}":{operand}}}"#), "{}");
        assert_eq!(of("5"), format!("error {no_map}"), "{operator}");
        assert_eq!(of(r#"["$a"]"#), format!("error {no_map}"), "{operator}");
        let all = |but: &str| {
            let others = required.iter().filter(|(name, _)| *name != but).map(|(name, _)| format!(r#""{name}":"$a""#));
            others.collect::<Vec<_>>().join(",")
        };
        // An unknown argument is reported before a missing one.
        assert_eq!(of(r#"{"whatever":1}"#), format!("error {unknown}"), "{operator}");
        for (name, code) in required {
            assert_eq!(of(&format!("{{{}}}", all(name))), format!("error {code}"), "{operator} without {name}");
        }
    }
}

#[test]
fn a_missing_value_of_an_optional_argument_is_null() {
    check(
        r#"{"n":null}"#,
        &[
            (r#"{"$trim":{"input":" x ","chars":"$none"}}"#, "null"),
            (r#"{"$trim":{"input":" x ","chars":"$n"}}"#, "null"),
            (r#"{"$trim":{"input":" x "}}"#, r#""x""#),
            (r#"{"$regexMatch":{"input":"x","regex":"X","options":"$none"}}"#, "false"),
            (r#"{"$regexFindAll":{"input":"x","regex":"$none"}}"#, "[]"),
            (r#"{"$regexMatch":{"input":"$none","regex":"x"}}"#, "false"),
            (r#"{"$setField":{"field":"a","input":{"a":1,"b":2},"value":"$none"}}"#, r#"{"b":2}"#),
        ],
    );
}
