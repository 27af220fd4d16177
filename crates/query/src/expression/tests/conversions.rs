//! `$convert` and its short forms: types, and binary data.

use super::{check, value};

const DOCUMENT: &str = r#"{
    "uuid":{"$binary":{"base64":"hn3uUsMxSE6S0cVkebjmfg==","subType":"04"}},
    "bin":{"$binary":{"base64":"hn3uUsMxSE6S0cVkebjmfg==","subType":"00"}},
    "utf8":{"$binary":{"base64":"8J+ZgvCfmI4=","subType":"00"}},
    "text":"867dee52-c331-484e-92d1-c56479b8e67e","n":null,"i":5,"d":1.9,"subtype":4
}"#;

#[test]
fn types() {
    check(
        DOCUMENT,
        &[
            (r#"{"$convert":{"input":"$d","to":{"type":"int"}}}"#, "1"),
            (r#"{"$convert":{"input":"$d","to":16.0}}"#, "1"),
            (r#"{"$convert":{"input":"$d","to":"$none"}}"#, "null"),
            (r#"{"$convert":{"input":"$d","to":{"type":null}}}"#, "error 9"),
            (
                r#"{"$convert":{"input":"$none","to":{"type":"binData","subtype":999},"format":1,"byteOrder":1}}"#,
                "null",
            ),
            (r#"{"$convert":{"input":"$d","to":{"type":"int","more":1},"byteOrder":null}}"#, "1"),
            (r#"{"$convert":{"input":"$d","to":"int","onNull":{"$divide":[1,0]}}}"#, "error 2"),
            (r#"{"$convert":{"input":"$none","to":null,"onNull":"$i"}}"#, "5"),
            (r#"{"$convert":{"input":"$d","to":"objectId","onError":"$i"}}"#, "5"),
            (r#"{"$convert":{"input":"$d","to":"objectId","onError":"$none"}}"#, "missing"),
            (r#"{"$convert":{"input":"$d","to":"int","onError":{"$divide":["$i",0]}}}"#, "1"),
            (r#"{"$convert":{"input":{"$divide":["$i",0]},"to":"int","onError":1}}"#, "error 2"),
            // Types to which no value can be converted, and names that are not types.
            (r#"{"$convert":{"input":"$d","to":"array"}}"#, "error 241"),
            (r#"{"$convert":{"input":"$d","to":"minKey","onError":1}}"#, "1"),
            (r#"{"$convert":{"input":"$d","to":17,"onError":1}}"#, "1"),
            (r#"{"$convert":{"input":"$none","to":"dinosaur","onError":1}}"#, "error 2"),
            (r#"{"$convert":{"input":"$d","to":3.6,"onError":1}}"#, "error 9"),
            (r#"{"$convert":{"input":"$d","to":100}}"#, "error 9"),
            (r#"{"$convert":{"input":"$d","to":-2}}"#, "error 9"),
            (r#"{"$convert":{"input":"$d","to":{"type":-2}}}"#, "error 9"),
            (r#"{"$convert":{"input":"$d","to":{"dinosaur":1}}}"#, "error 9"),
            (r#"{"$convert":{"input":"$d","to":{}}}"#, "error 9"),
            (r#"{"$convert":{"input":"$d","to":true}}"#, "error 9"),
        ],
    );
}

#[test]
fn binary_data() {
    let convert = |input: &str, to: &str, format: &str| {
        let format = if format.is_empty() { String::new() } else { format!(r#","format":"{format}""#) };
        value(&format!(r#"{{"$convert":{{"input":"{input}","to":{to}{format}}}}}"#), DOCUMENT)
    };
    let uuid = r#"{"$binary":{"base64":"hn3uUsMxSE6S0cVkebjmfg==","subType":"04"}}"#;
    let plain = r#"{"$binary":{"base64":"hn3uUsMxSE6S0cVkebjmfg==","subType":"00"}}"#;
    let (to_uuid, to_plain) = (r#"{"type":"binData","subtype":4}"#, r#"{"type":"binData","subtype":0}"#);
    for (input, to, format, expected) in [
        ("$text", to_uuid, "uuid", uuid),
        ("$text", r#"{"type":5,"subtype":"$subtype"}"#, "uuid", uuid),
        ("hn3uUsMxSE6S0cVkebjmfg==", to_plain, "base64", plain),
        ("hn3uUsMxSE6S0cVkebjmfg", to_plain, "base64url", plain),
        ("867DEE52c331484E92D1C56479B8E67E", r#""binData""#, "hex", plain),
        ("🙂😎", "5", "utf8", r#"{"$binary":{"base64":"8J+ZgvCfmI4=","subType":"00"}}"#),
        ("$uuid", r#""string""#, "uuid", r#""867dee52-c331-484e-92d1-c56479b8e67e""#),
        ("$uuid", r#""string""#, "auto", r#""867dee52-c331-484e-92d1-c56479b8e67e""#),
        ("$bin", r#""string""#, "auto", r#""hn3uUsMxSE6S0cVkebjmfg==""#),
        ("$uuid", r#""string""#, "base64", r#""hn3uUsMxSE6S0cVkebjmfg==""#),
        ("$bin", r#""string""#, "base64url", r#""hn3uUsMxSE6S0cVkebjmfg""#),
        ("$bin", r#""string""#, "hex", r#""867DEE52C331484E92D1C56479B8E67E""#),
        ("$utf8", r#""string""#, "utf8", r#""🙂😎""#),
        ("$uuid", to_uuid, "", uuid),
        ("$bin", r#""binData""#, "", plain),
        // A conversion does not change a subtype. The UUID subtype requires the UUID format, and the other way round.
        ("$uuid", to_plain, "", "error 241"),
        ("$bin", to_uuid, "", "error 241"),
        ("$text", to_plain, "uuid", "error 241"),
        ("hn3uUsMxSE6S0cVkebjmfg==", to_uuid, "base64", "error 241"),
        ("$text", to_plain, "auto", "error 241"),
        ("$text", to_plain, "", "error 4341115"),
        ("$bin", r#""string""#, "", "error 4341115"),
        ("$bin", r#""string""#, "uuid", "error 241"),
        ("$bin", r#""string""#, "utf8", "error 241"),
        ("867dee--52-c331-484e-", to_uuid, "uuid", "error 241"),
        ("867dee--52-c331-484e-", to_plain, "base64", "error 241"),
        ("867dee--52-c331-484e-zx", to_plain, "hex", "error 241"),
        ("abc", to_plain, "hex", "error 241"),
        ("$i", to_plain, "base64", r#"{"$binary":{"base64":"BQAAAA==","subType":"00"}}"#),
        ("abcd", r#"{"type":"binData","subtype":127}"#, "base64", "error 4341107"),
        ("abcd", r#"{"type":"binData","subtype":-1}"#, "base64", "error 4341107"),
        ("abcd", r#"{"type":"binData","subtype":256}"#, "base64", "error 4341107"),
        ("abcd", r#"{"type":"binData","subtype":1.5}"#, "base64", "error 4341106"),
        ("abcd", r#"{"type":"binData","subtype":"new"}"#, "base64", "error 4341108"),
        ("abcd", to_plain, "base32", "error 4341125"),
    ] {
        assert_eq!(convert(input, to, format), expected, "{input} to {to} as '{format}'");
    }
    check(
        DOCUMENT,
        &[
            (r#"{"$toUUID":"$text"}"#, uuid),
            (r#"{"$toUUID":"$uuid"}"#, uuid),
            (r#"{"$toUUID":"$n"}"#, "null"),
            (r#"{"$toUUID":"$none"}"#, "null"),
            (r#"{"$toUUID":"x"}"#, "error 241"),
            (r#"{"$toUUID":"$bin"}"#, "error 241"),
            (r#"{"$toUUID":"$i"}"#, "error 241"),
            (r#"{"$toString":"$uuid"}"#, r#""867dee52-c331-484e-92d1-c56479b8e67e""#),
            (r#"{"$toString":"$bin"}"#, r#""hn3uUsMxSE6S0cVkebjmfg==""#),
            (r#"{"$convert":{"input":"$bin","to":"string","format":"$i"}}"#, "error 4341114"),
            (r#"{"$convert":{"input":"$bin","to":"string","format":"$n"}}"#, "error 4341115"),
            (r#"{"$convert":{"input":"$d","to":"string","format":"$n"}}"#, r#""1.9""#),
        ],
    );
}

#[test]
fn numbers_as_binary_data() {
    check(
        r#"{
            "one":{"$binary":{"base64":"/w==","subType":"00"}},
            "old":{"$binary":{"base64":"","subType":"02"}},
            "two":{"$binary":{"base64":"AQI=","subType":"00"}},
            "three":{"$binary":{"base64":"AQID","subType":"00"}},
            "eight":{"$binary":{"base64":"P/AAAAAAAAA=","subType":"00"}},
            "float":{"$binary":{"base64":"AACAPw==","subType":"00"}}
        }"#,
        &[
            (r#"{"$toInt":"$one"}"#, "-1"),
            (r#"{"$toInt":"$two"}"#, "513"),
            (r#"{"$convert":{"input":"$two","to":"long","byteOrder":"big"}}"#, "258"),
            (r#"{"$toInt":"$three"}"#, "error 241"),
            (r#"{"$toInt":"$eight"}"#, "error 241"),
            (r#"{"$toInt":"$old"}"#, "0"),
            (r#"{"$toString":"$old"}"#, r#""AAAAAA==""#),
            (r#"{"$toDouble":"$float"}"#, "1.0"),
            (r#"{"$convert":{"input":"$eight","to":"double","byteOrder":"big"}}"#, "1.0"),
            (r#"{"$toDouble":"$one"}"#, "error 241"),
            (
                r#"{"$convert":{"input":258,"to":{"type":"binData","subtype":5},"byteOrder":"big"}}"#,
                r#"{"$binary":{"base64":"AAABAg==","subType":"05"}}"#,
            ),
            (r#"{"$convert":{"input":1,"to":"binData","byteOrder":"middle"}}"#, "error 9130002"),
            (r#"{"$convert":{"input":1,"to":"binData","byteOrder":1}}"#, "error 9130001"),
        ],
    );
}
