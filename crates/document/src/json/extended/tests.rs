use crate::json::{Reason, parse};
use crate::value::{Binary, Code, Map, Regex, Value};

fn reads(text: &str, value: impl Into<Value>) {
    assert_eq!(parse(text.as_bytes()).unwrap(), value.into(), "{text}");
}

fn fails(text: &str, want: &str) {
    match parse(text.as_bytes()).unwrap_err().reason {
        Reason::Extended { name, .. } => assert_eq!(name, want, "{text}"),
        other => panic!("{text}: {other}"),
    }
}

#[test]
fn numbers() {
    reads(r#"{"$numberInt":"-5"}"#, -5);
    reads(r#"{"$numberLong":"5"}"#, 5i64);
    reads(r#"{"$numberLong":"-9223372036854775808"}"#, i64::MIN);
    reads(r#"{"$numberDouble":"1"}"#, 1.0);
    reads(r#"{"$numberDouble":"-0.0"}"#, -0.0);
    reads(r#"{"$numberDouble":"Infinity"}"#, f64::INFINITY);
    reads(r#"{"$numberDouble":"NaN"}"#, f64::NAN);
    reads(r#"{"$numberDecimal":"1.50"}"#, Value::Decimal("1.50".parse().unwrap()));
    reads(r#"{"$numberDecimal":"-Infinity"}"#, Value::Decimal("-Infinity".parse().unwrap()));
    for text in ["5", "\"\"", "\"+5\"", "\"5.0\"", "\"2147483648\"", "\" 5\"", "null", "{}"] {
        fails(&format!("{{\"$numberInt\":{text}}}"), "$numberInt");
    }
    fails(r#"{"$numberLong":"9223372036854775808"}"#, "$numberLong");
    fails(r#"{"$numberLong":5}"#, "$numberLong");
    for text in ["inf", "infinity", "nan", "", "1x", "+Infinity"] {
        fails(&format!("{{\"$numberDouble\":\"{text}\"}}"), "$numberDouble");
    }
    fails(r#"{"$numberDecimal":"x"}"#, "$numberDecimal");
    fails(r#"{"$numberDecimal":1}"#, "$numberDecimal");
}

#[test]
fn dates() {
    reads(r#"{"$date":"2012-12-24T12:15:30.501Z"}"#, Value::DateTime(1_356_351_330_501));
    reads(r#"{"$date":{"$numberLong":"-1"}}"#, Value::DateTime(-1));
    reads(r#"{"$date":1356351330501}"#, Value::DateTime(1_356_351_330_501));
    reads(r#"{"$date":7}"#, Value::DateTime(7));
    for text in ["\"yesterday\"", "1.5", "null", "{}", "{\"$numberDouble\":\"1\"}"] {
        fails(&format!("{{\"$date\":{text}}}"), "$date");
    }
}

#[test]
fn ids_and_bytes() {
    reads(r#"{"$oid":"00ffAB000000000000000001"}"#, [0, 255, 171, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    for text in [
        "1",
        "\"00ff\"",
        "\"00ffAB00000000000000000g\"",
        "\"+0ffAB000000000000000001\"",
        "\"00ffAB0000000000000000011\"",
    ] {
        fails(&format!("{{\"$oid\":{text}}}"), "$oid");
    }
    let binary = |subtype, bytes: &[u8]| Binary { subtype, bytes: bytes.to_vec() };
    reads(r#"{"$binary":{"base64":"AQI=","subType":"80"}}"#, binary(128, &[1, 2]));
    reads(r#"{"$binary":{"subType":"0","base64":""}}"#, binary(0, &[]));
    reads(r#"{"$binary":"AQI=","$type":"05"}"#, binary(5, &[1, 2]));
    reads(r#"{"$type":"05","$binary":"AQI="}"#, binary(5, &[1, 2]));
    let uuid = [0x73, 0xff, 0xd2, 0x64, 0x44, 0xb3, 0x4c, 0x69, 0x90, 0xe8, 0xe7, 0xd1, 0xdf, 0xc0, 0x35, 0xd4];
    reads(r#"{"$uuid":"73ffd264-44b3-4c69-90e8-e7d1dfc035d4"}"#, binary(4, &uuid));
    for text in [
        "5",
        "\"AQI=\"",
        r#"{"base64":"AQI="}"#,
        r#"{"base64":"AQI","subType":"0"}"#,
        r#"{"base64":"AQI=","subType":"+1"}"#,
        r#"{"base64":"AQI=","subType":"100"}"#,
        r#"{"base64":"AQI=","subType":"0","x":1}"#,
        r#"{"base64":"!!!!","subType":"0"}"#,
    ] {
        fails(&format!("{{\"$binary\":{text}}}"), "$binary");
    }
    fails(r#"{"$binary":"AQI=","$type":5}"#, "$binary");
    fails(r#"{"$uuid":"73ffd26444b34c6990e8e7d1dfc035d4"}"#, "$uuid");
    fails(r#"{"$uuid":"73ffd264-44b3-4c69-90e8-e7d1dfc035dé"}"#, "$uuid");
    fails(r#"{"$uuid":1}"#, "$uuid");
}

#[test]
fn the_rest() {
    reads(r#"{"$timestamp":{"i":2,"t":4294967295}}"#, crate::value::Timestamp { time: u32::MAX, increment: 2 });
    fails(r#"{"$timestamp":{"t":-1,"i":2}}"#, "$timestamp");
    fails(r#"{"$timestamp":{"t":4294967296,"i":2}}"#, "$timestamp");
    fails(r#"{"$timestamp":{"t":1}}"#, "$timestamp");
    fails(r#"{"$timestamp":5}"#, "$timestamp");
    let regex = Regex { pattern: "a".into(), options: "imx".into() };
    reads(r#"{"$regularExpression":{"pattern":"a","options":"xmi"}}"#, Value::Regex(Box::new(regex)));
    fails(r#"{"$regularExpression":{"pattern":"a"}}"#, "$regularExpression");
    fails(r#"{"$regularExpression":"a"}"#, "$regularExpression");
    reads(r#"{"$minKey":1}"#, Value::MinKey);
    reads(r#"{"$maxKey":1}"#, Value::MaxKey);
    fails(r#"{"$minKey":2}"#, "$minKey");
    fails(r#"{"$maxKey":true}"#, "$maxKey");
    reads(r#"{"$undefined":true}"#, Value::Undefined);
    fails(r#"{"$undefined":false}"#, "$undefined");
    reads(r#"{"$symbol":"s"}"#, Value::Symbol("s".into()));
    fails(r#"{"$symbol":1}"#, "$symbol");
    let code = |scope| Value::Code(Box::new(Code { code: "x".into(), scope }));
    reads(r#"{"$code":"x"}"#, code(None));
    reads(r#"{"$scope":{"a":1},"$code":"x"}"#, code(Some(Map::from([("a", 1)]))));
    fails(r#"{"$scope":{}}"#, "$scope");
    fails(r#"{"$code":1}"#, "$code");
    fails(r#"{"$code":"x","$scope":1}"#, "$code");
    fails(r#"{"$code":"x","a":1}"#, "$code");
    fails(r#"{"$dbPointer":{"$ref":"n","$id":1}}"#, "$dbPointer");
    fails(r#"{"$dbPointer":1}"#, "$dbPointer");
}

#[test]
fn other_fields_beside_are_refused_and_other_dollars_are_plain() {
    fails(r#"{"$oid":"000000000000000000000000","a":1}"#, "$oid");
    fails(r#"{"a":1,"$date":5}"#, "$date");
    for text in [
        r#"{"$set":{"a":1}}"#,
        r#"{"$regex":"a","$options":"i"}"#,
        r#"{"$type":"string"}"#,
        r#"{"$":1}"#,
        r#"{"$ref":"c","$id":5}"#,
        r#"{"$oidx":1}"#,
    ] {
        assert!(matches!(parse(text.as_bytes()).unwrap(), Value::Map(_)), "{text}");
    }
    let error = parse(b"{\"a\":\n{\"$oid\":1}}").unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 2, column 1: invalid extended JSON: $oid: it must be 24 hexadecimal digits in a string"
    );
}

#[test]
fn a_date_without_a_time_is_midnight_utc() {
    let parsed = |text: &str| crate::json::parse(text.as_bytes());
    let midnight = parsed(r#"{"at": {"$date": "2024-05-01T00:00:00Z"}}"#).unwrap();
    assert_eq!(parsed(r#"{"at": {"$date": "2024-05-01"}}"#).unwrap(), midnight);
    let error = parsed(r#"{"at": {"$date": "May 1"}}"#).unwrap_err().to_string();
    assert!(error.contains("such as 2024-05-01"), "{error}");
}
