//! Operators on dates: each with all kinds of operands.

mod arithmetic;

use super::{check, parsed, value};
use crate::expression::Expression;

/// A document with a value of most types.
const DOCUMENT: &str = r#"{
    "t":{"$date":"2024-02-29T23:30:15.678Z"},
    "old":{"$date":"1969-12-31T23:59:59.999Z"},
    "stamp":{"$timestamp":{"t":1709249415,"i":7}},
    "id":{"$oid":"65e1138700000000000000ff"},
    "n":null,"s":"2024-02-29","i":5,"d":2.5,"b":true,"a":[1],"m":{"x":1},
    "ny":"America/New_York","unit":"month","format":"%d.%m.%Y"
}"#;

fn dates(cases: &[(&str, &str)]) {
    check(DOCUMENT, cases);
}

/// The date of an expression as text, or the error. Milliseconds are left out if they are 0.
fn iso(expression: &str) -> String {
    let text = value(&format!(r#"{{"$dateToString":{{"date":{expression}}}}}"#), DOCUMENT);
    text.trim_matches('"').replace(".000Z", "Z")
}

/// Asserts that each expression has this error. `?` represents the operand.
fn refused(expression: &str, operands: &[&str], error: &str) {
    for operand in operands {
        let expression = expression.replace('?', operand);
        assert_eq!(value(&expression, DOCUMENT), error, "{expression}");
    }
}

/// Asserts that each expression is null. `?` represents null, undefined and a missing value.
fn null(expressions: &[&str]) {
    for expression in expressions {
        for operand in ["null", r#""$n""#, r#""$none""#, r#""$$REMOVE""#, r#"{"$undefined":true}"#] {
            let expression = expression.replace('?', operand);
            assert_eq!(value(&expression, DOCUMENT), "null", "{expression}");
        }
    }
}

#[test]
fn parts_of_a_date() {
    dates(&[
        (r#"{"$year":"$t"}"#, "2024"),
        (r#"{"$month":"$t"}"#, "2"),
        (r#"{"$dayOfMonth":"$t"}"#, "29"),
        (r#"{"$dayOfWeek":"$t"}"#, "5"),
        (r#"{"$dayOfYear":"$t"}"#, "60"),
        (r#"{"$week":"$t"}"#, "8"),
        (r#"{"$isoWeek":"$t"}"#, "9"),
        (r#"{"$isoWeekYear":"$t"}"#, "2024"),
        (r#"{"$isoDayOfWeek":"$t"}"#, "4"),
        (r#"{"$hour":"$t"}"#, "23"),
        (r#"{"$minute":"$t"}"#, "30"),
        (r#"{"$second":"$t"}"#, "15"),
        (r#"{"$millisecond":"$t"}"#, "678"),
        // Parts of dates before 1970 increase with time as well.
        (r#"{"$millisecond":"$old"}"#, "999"),
        (r#"{"$second":"$old"}"#, "59"),
        (r#"{"$dayOfYear":"$old"}"#, "365"),
        (r#"{"$isoWeekYear":"$old"}"#, "1970"),
        (r#"{"$isoWeek":"$old"}"#, "1"),
        (r#"{"$week":"$old"}"#, "52"),
        // In a year that begins with a Sunday, no day is in week 0.
        (r#"{"$week":{"$literal":{"$date":"2017-01-01T00:00:00Z"}}}"#, "1"),
        (r#"{"$week":{"$literal":{"$date":"2017-01-07T00:00:00Z"}}}"#, "1"),
        (r#"{"$week":{"$literal":{"$date":"2016-12-31T00:00:00Z"}}}"#, "52"),
        // The three notations of the argument.
        (r#"{"$hour":["$t"]}"#, "23"),
        (r#"{"$hour":{"date":"$t"}}"#, "23"),
        (r#"{"$hour":{"date":"$t","timezone":"$ny"}}"#, "18"),
        (r#"{"$hour":{"$literal":{"$date":"2024-01-01T07:00:00Z"}}}"#, "7"),
        // Values of other types that contain a date.
        (r#"{"$minute":"$stamp"}"#, "30"),
        (r#"{"$year":"$id"}"#, "2024"),
    ]);
    null(&[
        r#"{"$year":?}"#,
        r#"{"$year":{"date":?}}"#,
        r#"{"$year":{"date":"$t","timezone":?}}"#,
        r#"{"$year":{"date":?,"timezone":"Europe/London"}}"#,
    ]);
    for operator in ["$year", "$isoWeekYear", "$week", "$hour", "$millisecond", "$isoDayOfWeek"] {
        let expression = format!(r#"{{"{operator}":?}}"#);
        let others = [r#""$s""#, r#""$i""#, r#""$d""#, r#""$b""#, r#""$a""#, r#""$m""#, r#""text""#, "5"];
        refused(&expression, &others, "error 16006");
        refused(&expression, &["[]", r#"["$t","$t"]"#], "error 40536");
        refused(&expression, &[r#"{"timezone":"UTC"}"#, "{}"], "error 40539");
        refused(&expression, &[r#"{"date":"$t","zone":"UTC"}"#], "error 40535");
        let zone = format!(r#"{{"{operator}":{{"date":"$t","timezone":?}}}}"#);
        refused(&zone, &["5", r#""$i""#, r#"["UTC"]"#, "true"], "error 40517");
        refused(&zone, &[r#""Mars/Phobos""#, r#""$s""#, r#""europe/london""#, r#""+5""#, r#""""#], "error 40485");
    }
}

#[test]
fn parts_in_time_zones() {
    let hour = |date: &str, zone: &str| {
        let document = format!(r#"{{"t":{{"$date":"{date}"}},"z":"{zone}"}}"#);
        let text = r#"{"$dateToString":{"date":"$t","timezone":"$z","format":"%Y-%m-%d %H:%M:%S %z %Z"}}"#;
        let by_field = value(text, &document);
        let constant = text.replace("$z", zone);
        assert_eq!(value(&constant, &document), by_field, "{zone}");
        by_field.trim_matches('"').to_owned()
    };
    for (date, zone, expected) in [
        ("2024-01-15T12:00:00Z", "UTC", "2024-01-15 12:00:00 +0000 0"),
        ("2024-01-15T12:00:00Z", "GMT", "2024-01-15 12:00:00 +0000 0"),
        ("2024-01-15T12:00:00Z", "Europe/London", "2024-01-15 12:00:00 +0000 0"),
        ("2024-07-15T12:00:00Z", "Europe/London", "2024-07-15 13:00:00 +0100 60"),
        // In London, standard time was an hour ahead of UTC from 1968 to 1971.
        ("1970-01-01T00:00:00Z", "Europe/London", "1970-01-01 01:00:00 +0100 60"),
        ("2024-03-10T06:59:59Z", "America/New_York", "2024-03-10 01:59:59 -0500 -300"),
        ("2024-03-10T07:00:00Z", "America/New_York", "2024-03-10 03:00:00 -0400 -240"),
        ("2024-11-03T05:59:59Z", "America/New_York", "2024-11-03 01:59:59 -0400 -240"),
        ("2024-11-03T06:00:00Z", "America/New_York", "2024-11-03 01:00:00 -0500 -300"),
        ("1900-01-01T00:00:00Z", "America/New_York", "1899-12-31 19:00:00 -0500 -300"),
        ("2024-01-01T00:00:00Z", "Asia/Kathmandu", "2024-01-01 05:45:00 +0545 345"),
        ("1985-12-31T18:29:59Z", "Asia/Kathmandu", "1985-12-31 23:59:59 +0530 330"),
        ("1985-12-31T18:30:00Z", "Asia/Kathmandu", "1986-01-01 00:15:00 +0545 345"),
        // Samoa skipped a day.
        ("2011-12-30T09:59:59Z", "Pacific/Apia", "2011-12-29 23:59:59 -1000 -600"),
        ("2011-12-30T10:00:00Z", "Pacific/Apia", "2011-12-31 00:00:00 +1400 840"),
        ("2024-01-01T00:00:00Z", "Australia/Lord_Howe", "2024-01-01 11:00:00 +1100 660"),
        // The minutes of an offset are truncated towards zero.
        ("1900-07-10T11:41:22Z", "America/Caracas", "1900-07-10 07:13:42 -0427 -267"),
        ("2024-01-01T00:00:00Z", "+05:30", "2024-01-01 05:30:00 +0530 330"),
        ("2024-01-01T00:00:00Z", "-0930", "2023-12-31 14:30:00 -0930 -570"),
        ("2024-01-01T00:00:00Z", "+13", "2024-01-01 13:00:00 +1300 780"),
        // The rules apply without end.
        ("2095-07-15T12:00:00Z", "Europe/London", "2095-07-15 13:00:00 +0100 60"),
        ("9999-12-31T23:00:00Z", "America/New_York", "9999-12-31 18:00:00 -0500 -300"),
    ] {
        assert_eq!(hour(date, zone), expected, "{date} in {zone}");
    }
}

#[test]
fn years_beyond_four_digits() {
    let document = r#"{"far":{"$date":{"$numberLong":"9223372036854775807"}},
        "early":{"$date":{"$numberLong":"-9223372036854775808"}},"zero":{"$date":{"$numberLong":"-62167219200000"}},
        "summer":{"$date":{"$numberLong":"253418286400000"}}}"#;
    check(
        document,
        &[
            (r#"{"$year":"$far"}"#, "292278994"),
            (r#"{"$dayOfMonth":"$far"}"#, "17"),
            (r#"{"$year":"$early"}"#, "-292275055"),
            (r#"{"$dayOfWeek":"$early"}"#, "1"),
            (r#"{"$hour":{"date":"$far","timezone":"+12:00"}}"#, "19"),
            (r#"{"$hour":{"date":"$early","timezone":"America/New_York"}}"#, "11"),
            // A date in July 10000, when daylight saving time applies.
            (r#"{"$dateToParts":{"date":"$summer","timezone":"Europe/London"}}"#, SUMMER),
            (r#"{"$dateToString":{"date":"$zero","format":"%Y"}}"#, r#""0000""#),
            (r#"{"$dateToString":{"date":"$far","format":"%Y"}}"#, "error 18537"),
            (r#"{"$dateToString":{"date":"$early","format":"%G"}}"#, "error 18537"),
            (r#"{"$dateToString":{"date":"$far","format":"%m-%d"}}"#, r#""08-17""#),
            (r#"{"$dateToString":{"date":"$far"}}"#, "error 18537"),
            (r#"{"$toString":"$far"}"#, "error 18537"),
        ],
    );
}

const SUMMER: &str = r#"{"year":10000,"month":7,"day":4,"hour":1,"minute":26,"second":40,"millisecond":0}"#;

#[test]
fn to_parts() {
    dates(&[
        (
            r#"{"$dateToParts":{"date":"$t"}}"#,
            r#"{"year":2024,"month":2,"day":29,"hour":23,"minute":30,"second":15,"millisecond":678}"#,
        ),
        (
            r#"{"$dateToParts":{"date":"$t","timezone":"Asia/Kathmandu","iso8601":true}}"#,
            r#"{"isoWeekYear":2024,"isoWeek":9,"isoDayOfWeek":5,"hour":5,"minute":15,"second":15,"millisecond":678}"#,
        ),
        (
            r#"{"$dateToParts":{"date":"$stamp","iso8601":false}}"#,
            r#"{"year":2024,"month":2,"day":29,"hour":23,"minute":30,"second":15,"millisecond":0}"#,
        ),
        (r#"{"$dateToParts":"$t"}"#, "error 40524"),
        (r#"{"$dateToParts":{"date":"$t","iso":true}}"#, "error 40520"),
        (r#"{"$dateToParts":{"timezone":"UTC"}}"#, "error 40522"),
        // The zone and the flag are checked before the date.
        (r#"{"$dateToParts":{"date":"$n","timezone":"Nowhere"}}"#, "error 40485"),
        (r#"{"$dateToParts":{"date":"$n","iso8601":5}}"#, "error 40521"),
    ]);
    null(&[
        r#"{"$dateToParts":{"date":?}}"#,
        r#"{"$dateToParts":{"date":"$t","timezone":?}}"#,
        r#"{"$dateToParts":{"date":"$t","iso8601":?}}"#,
        r#"{"$dateToParts":{"date":"$s","iso8601":?}}"#,
    ]);
    refused(r#"{"$dateToParts":{"date":?}}"#, &["42", r#""$s""#, r#""$m""#], "error 16006");
    refused(r#"{"$dateToParts":{"date":"$t","iso8601":?}}"#, &["1", r#""$s""#, r#""$a""#], "error 40521");
}

// long: a table
#[test]
fn from_parts() {
    let date = |parts: &str, expected: &str| {
        let expression = format!(r#"{{"$dateFromParts":{parts}}}"#);
        let expected =
            if expected.starts_with("error") { expected.to_owned() } else { format!(r#"{{"$date":"{expected}"}}"#) };
        assert_eq!(value(&expression, DOCUMENT), expected, "{parts}");
    };
    for (parts, expected) in [
        (r#"{"year":2017}"#, "2017-01-01T00:00:00Z"),
        (
            r#"{"year":2017,"month":2,"day":8,"hour":12,"minute":10,"second":40,"millisecond":787}"#,
            "2017-02-08T12:10:40.787Z",
        ),
        (r#"{"year":2017,"month":6,"day":23,"hour":14,"timezone":"Europe/Berlin"}"#, "2017-06-23T12:00:00Z"),
        (r#"{"year":2017,"timezone":"$ny"}"#, "2017-01-01T05:00:00Z"),
        (r#"{"isoWeekYear":2017,"isoWeek":6,"isoDayOfWeek":4}"#, "2017-02-09T00:00:00Z"),
        (r#"{"isoWeekYear":2020,"isoWeek":53,"hour":12,"timezone":"+01:00"}"#, "2020-12-28T11:00:00Z"),
        (r#"{"isoWeekYear":2017,"isoWeek":0,"isoDayOfWeek":0}"#, "2016-12-25T00:00:00Z"),
        // Numbers outside their ranges run over into the next larger unit.
        (r#"{"year":2017,"month":14,"day":1,"hour":12}"#, "2018-02-01T12:00:00Z"),
        (r#"{"year":2017,"month":0}"#, "2016-12-01T00:00:00Z"),
        (r#"{"year":2017,"month":-1}"#, "2016-11-01T00:00:00Z"),
        (r#"{"year":2017,"day":0}"#, "2016-12-31T00:00:00Z"),
        (r#"{"year":2024,"month":2,"day":30}"#, "2024-03-01T00:00:00Z"),
        (r#"{"year":2017,"hour":25,"minute":-1}"#, "2017-01-02T00:59:00Z"),
        (r#"{"year":2017,"second":-1,"millisecond":-1}"#, "2016-12-31T23:59:58.999Z"),
        (r#"{"year":1970,"second":1502095918}"#, "2017-08-07T08:51:58Z"),
        (r#"{"year":1970,"millisecond":{"$numberLong":"1502095918551"}}"#, "2017-08-07T08:51:58.551Z"),
        (r#"{"year":2017.0,"month":{"$numberDecimal":"6"},"day":{"$numberLong":"19"}}"#, "2017-06-19T00:00:00Z"),
        // A time in a gap is converted with the offset before the gap. Of a time that occurs twice, the later
        // occurrence is chosen.
        (r#"{"year":2024,"month":3,"day":10,"hour":2,"minute":30,"timezone":"$ny"}"#, "2024-03-10T07:30:00Z"),
        (r#"{"year":2024,"month":11,"day":3,"hour":1,"minute":30,"timezone":"$ny"}"#, "2024-11-03T06:30:00Z"),
        (r#"{"year":2024,"month":3,"day":31,"hour":1,"minute":30,"timezone":"Europe/London"}"#, "2024-03-31T01:30:00Z"),
        (
            r#"{"year":2024,"month":10,"day":27,"hour":1,"minute":30,"timezone":"Europe/London"}"#,
            "2024-10-27T01:30:00Z",
        ),
        (r#"{"year":2011,"month":12,"day":30,"hour":12,"timezone":"Pacific/Apia"}"#, "2011-12-30T22:00:00Z"),
        (r#"{"year":0}"#, "error 40523"),
        (r#"{"year":10000}"#, "error 40523"),
        (r#"{"isoWeekYear":0}"#, "error 31095"),
        (r#"{"isoWeekYear":10000}"#, "error 31095"),
        (r#"{"year":2017,"month":32768}"#, "error 31034"),
        (r#"{"year":2017,"minute":-32769}"#, "error 31034"),
        (r#"{"isoWeekYear":2017,"isoWeek":40000}"#, "error 31034"),
        (r#"{"year":1970,"millisecond":{"$numberLong":"9223372036854775807"}}"#, "error 159"),
        (r#"{"year":1970,"second":{"$numberLong":"9223372036854775807"}}"#, "error 159"),
        (r#""$t""#, "error 40519"),
        ("[]", "error 40519"),
        ("{}", "error 40516"),
        (r#"{"month":5}"#, "error 40516"),
        (r#"{"year":2017,"years":1}"#, "error 40518"),
        (r#"{"year":2017,"isoWeek":3}"#, "error 40489"),
        (r#"{"year":2017,"isoWeekYear":2017}"#, "error 40489"),
        (r#"{"isoWeekYear":2017,"month":3}"#, "error 40525"),
    ] {
        date(parts, expected);
    }
    null(&[
        r#"{"$dateFromParts":{"year":?}}"#,
        r#"{"$dateFromParts":{"year":2017,"month":?}}"#,
        r#"{"$dateFromParts":{"year":2017,"millisecond":?}}"#,
        r#"{"$dateFromParts":{"year":2017,"timezone":?}}"#,
        r#"{"$dateFromParts":{"isoWeekYear":?}}"#,
        r#"{"$dateFromParts":{"isoWeekYear":2017,"isoDayOfWeek":?}}"#,
    ]);
    for parts in [
        r#""year":?"#,
        r#""year":2017,"month":?"#,
        r#""year":2017,"day":?"#,
        r#""year":2017,"hour":?"#,
        r#""year":2017,"minute":?"#,
        r#""year":2017,"second":?"#,
        r#""year":2017,"millisecond":?"#,
        r#""isoWeekYear":?"#,
        r#""isoWeekYear":2017,"isoWeek":?"#,
        r#""isoWeekYear":2017,"isoDayOfWeek":?"#,
    ] {
        let expression = format!(r#"{{"$dateFromParts":{{{parts}}}}}"#);
        refused(&expression, &["2.5", r#""5""#, "true", r#""$d""#, r#""$a""#, r#""$t""#], "error 40515");
    }
    refused(r#"{"$dateFromParts":{"year":2017,"timezone":?}}"#, &["5", r#""$i""#], "error 40517");
}

#[test]
fn as_text() {
    dates(&[
        (r#"{"$dateToString":{"date":"$t"}}"#, r#""2024-02-29T23:30:15.678Z""#),
        (r#"{"$dateToString":{"date":"$t","timezone":"UTC"}}"#, r#""2024-02-29T23:30:15.678Z""#),
        (r#"{"$dateToString":{"date":"$t","timezone":"+00:00"}}"#, r#""2024-02-29T23:30:15.678Z""#),
        (r#"{"$dateToString":{"date":"$t","timezone":"$ny"}}"#, r#""2024-02-29T18:30:15.678""#),
        (r#"{"$dateToString":{"date":"$t","format":"$format"}}"#, r#""29.02.2024""#),
        (r#"{"$dateToString":{"date":"$t","format":"%j %u %w %U %V %G"}}"#, r#""060 4 5 08 09 2024""#),
        (r#"{"$dateToString":{"date":"$t","format":"%b %B %L %%%H"}}"#, r#""Feb February 678 %23""#),
        (r#"{"$dateToString":{"date":"$old","format":"Ü%d"}}"#, r#""Ü31""#),
        (r#"{"$dateToString":{"date":"$id","format":"%Y"}}"#, r#""2024""#),
        (r#"{"$dateToString":{"date":"$stamp","format":"%S.%L"}}"#, r#""15.000""#),
        (r#"{"$dateToString":{"date":"$t","format":""}}"#, r#""""#),
        (r#"{"$dateToString":{"date":"$n","onNull":"never"}}"#, r#""never""#),
        (r#"{"$dateToString":{"date":"$none","onNull":"$i"}}"#, "5"),
        (r#"{"$dateToString":{"date":"$n","onNull":"$none"}}"#, "missing"),
        (r#"{"$dateToString":{"date":"$n","timezone":"$n","onNull":1}}"#, "1"),
        (r#"{"$dateToString":{"date":"$t","timezone":"$n","onNull":1}}"#, "null"),
        // The replacement for null is computed only if the date is null.
        (r#"{"$dateToString":{"date":"$t","format":"%Y","onNull":{"$divide":["$i",0]}}}"#, r#""2024""#),
        (r#"{"$dateToString":{"date":"$n","onNull":{"$divide":["$i",0]}}}"#, "error 2"),
        // The format and the zone are checked even if the date is null.
        (r#"{"$dateToString":{"date":"$n","format":5,"onNull":1}}"#, "error 18533"),
        (r#"{"$dateToString":{"date":"$s","format":"$i"}}"#, "error 18533"),
        (r#"{"$dateToString":{"date":"$n","timezone":"$s"}}"#, "error 40485"),
        (r#"{"$dateToString":"$t"}"#, "error 18629"),
        (r#"{"$dateToString":{"date":"$t","zone":"UTC"}}"#, "error 18534"),
        (r#"{"$dateToString":{"format":"%Y"}}"#, "error 18628"),
    ]);
    null(&[
        r#"{"$dateToString":{"date":?}}"#,
        r#"{"$dateToString":{"date":"$t","format":?}}"#,
        r#"{"$dateToString":{"date":"$t","timezone":?}}"#,
    ]);
    refused(r#"{"$dateToString":{"date":?,"format":"%Y"}}"#, &["5", r#""$s""#, r#""$a""#], "error 16006");
    refused(r#"{"$dateToString":{"date":"$t","format":?}}"#, &["5", "[]", r#""$m""#], "error 18533");
    refused(r#"{"$dateToString":{"date":"$t","format":?}}"#, &[r#""%""#, r#""%Y%""#, r#""%%%""#], "error 18535");
    refused(r#"{"$dateToString":{"date":"$t","format":?}}"#, &[r#""%n""#, r#""%é""#, r#""% Y""#], "error 18536");
}

#[test]
fn from_text() {
    dates(&[
        (r#"{"$dateFromString":{"dateString":"$s"}}"#, r#"{"$date":"2024-02-29T00:00:00Z"}"#),
        (r#"{"$dateFromString":{"dateString":"$s","timezone":"$ny"}}"#, r#"{"$date":"2024-02-29T05:00:00Z"}"#),
        (
            r#"{"$dateFromString":{"dateString":"29.02.2024","format":"$format"}}"#,
            r#"{"$date":"2024-02-29T00:00:00Z"}"#,
        ),
        (
            r#"{"$dateFromString":{"dateString":"06-15-2018 10:00","format":"%m-%d-%Y %H:%M","timezone":"+02:00"}}"#,
            r#"{"$date":"2018-06-15T08:00:00Z"}"#,
        ),
        (r#"{"$dateFromString":{"dateString":"nonsense"}}"#, "error 241"),
        (r#"{"$dateFromString":{"dateString":"nonsense","onError":"$i"}}"#, "5"),
        (r#"{"$dateFromString":{"dateString":"nonsense","onError":"$none"}}"#, "missing"),
        (r#"{"$dateFromString":{"dateString":5,"onError":"number"}}"#, r#""number""#),
        (r#"{"$dateFromString":{"dateString":"$s","format":"%d","onError":0}}"#, "0"),
        (r#"{"$dateFromString":{"dateString":"$n","onNull":"$i"}}"#, "5"),
        (r#"{"$dateFromString":{"dateString":"$n","onNull":"$i","onError":1}}"#, "5"),
        (r#"{"$dateFromString":{"dateString":"$n","onError":1}}"#, "null"),
        (r#"{"$dateFromString":{"dateString":"$n","format":"$n","onNull":1}}"#, "1"),
        (r#"{"$dateFromString":{"dateString":"nonsense","format":"$n","onError":1}}"#, "null"),
        (r#"{"$dateFromString":{"dateString":5,"format":"$n","onError":1}}"#, "1"),
        (r#"{"$dateFromString":{"dateString":"nonsense","onError":{"$divide":["$i",0]}}}"#, "error 2"),
        (
            r#"{"$dateFromString":{"dateString":"$s","onError":{"$divide":["$i",0]}}}"#,
            r#"{"$date":"2024-02-29T00:00:00Z"}"#,
        ),
        // An invalid format or zone is an error in itself. It is not an error of the text, so `onError` does not apply.
        (r#"{"$dateFromString":{"dateString":"nonsense","format":5,"onError":1}}"#, "error 40684"),
        (r#"{"$dateFromString":{"dateString":5,"format":"%w","onError":1}}"#, "error 18536"),
        (r#"{"$dateFromString":{"dateString":"$n","format":"%","onNull":1}}"#, "error 18535"),
        (r#"{"$dateFromString":{"dateString":"$n","timezone":"x","onNull":1}}"#, "error 40485"),
        (r#"{"$dateFromString":{"dateString":"$n","timezone":5,"onNull":1}}"#, "error 40517"),
        (r#"{"$dateFromString":{"dateString":"2024-01-01T00:00:00Z","timezone":"GMT"}}"#, "error 241"),
        (
            r#"{"$dateFromString":{"dateString":"2024-01-01T00:00:00Z","timezone":"UTC"}}"#,
            r#"{"$date":"2024-01-01T00:00:00Z"}"#,
        ),
        (r#"{"$dateFromString":"$s"}"#, "error 40540"),
        (r#"{"$dateFromString":{"dateString":"$s","zone":1}}"#, "error 40541"),
        (r#"{"$dateFromString":{"format":"%Y"}}"#, "error 40542"),
    ]);
    null(&[
        r#"{"$dateFromString":{"dateString":?}}"#,
        r#"{"$dateFromString":{"dateString":"$s","format":?}}"#,
        r#"{"$dateFromString":{"dateString":"$s","timezone":?}}"#,
    ]);
    refused(r#"{"$dateFromString":{"dateString":?}}"#, &["5", r#""$t""#, r#""$a""#, r#""$m""#, "true"], "error 241");
    refused(r#"{"$dateFromString":{"dateString":"$s","format":?}}"#, &["5", "{}", r#""$i""#], "error 40684");
}

#[test]
fn timestamps() {
    dates(&[
        (r#"{"$tsSecond":"$stamp"}"#, "1709249415"),
        (r#"{"$tsIncrement":"$stamp"}"#, "7"),
        (r#"{"$type":{"$tsSecond":"$stamp"}}"#, r#""long""#),
        (r#"{"$tsSecond":["$stamp","$stamp"]}"#, "error 16020"),
    ]);
    null(&[r#"{"$tsSecond":?}"#, r#"{"$tsIncrement":?}"#]);
    refused(r#"{"$tsSecond":?}"#, &["5", r#""$t""#, r#""$id""#], "error 5687301");
    refused(r#"{"$tsIncrement":?}"#, &["5", r#""$t""#, r#""$s""#], "error 5687302");
}

#[test]
fn arithmetic_with_dates() {
    dates(&[
        (r#"{"$add":["$t",1.5]}"#, r#"{"$date":"2024-02-29T23:30:15.680Z"}"#),
        (r#"{"$add":[1,"$t",{"$numberLong":"1"}]}"#, r#"{"$date":"2024-02-29T23:30:15.680Z"}"#),
        (r#"{"$subtract":["$t","$old"]}"#, "1709249415679"),
        (r#"{"$type":{"$subtract":["$t","$t"]}}"#, r#""long""#),
        (r#"{"$subtract":[1,"$t"]}"#, "error 14"),
        (r#"{"$toDate":"$stamp"}"#, r#"{"$date":"2024-02-29T23:30:15Z"}"#),
        (r#"{"$toDate":"$id"}"#, r#"{"$date":"2024-02-29T23:30:15Z"}"#),
        (r#"{"$toDate":"Feb 29, 2024 5pm"}"#, r#"{"$date":"2024-02-29T17:00:00Z"}"#),
        (r#"{"$toDate":1.9}"#, r#"{"$date":"1970-01-01T00:00:00.001Z"}"#),
        (r#"{"$toDate":{"$numberLong":"-1"}}"#, r#"{"$date":{"$numberLong":"-1"}}"#),
        (r#"{"$toDate":5}"#, "error 241"),
        (r#"{"$toDate":"soon"}"#, "error 241"),
        (r#"{"$toDate":true}"#, "error 241"),
        (r#"{"$convert":{"input":"$t","to":"int"}}"#, "error 241"),
        (r#"{"$toLong":"$old"}"#, "-1"),
        (r#"{"$toDouble":"$old"}"#, "-1.0"),
        (r#"{"$toDecimal":"$t"}"#, r#"{"$numberDecimal":"1709249415678"}"#),
        (r#"{"$toBool":"$old"}"#, "true"),
        (r#"{"$toString":"$old"}"#, r#""1969-12-31T23:59:59.999Z""#),
        (r#"{"$toString":{"$literal":{"$date":"2024-01-01T00:00:00Z"}}}"#, r#""2024-01-01T00:00:00.000Z""#),
        (r#"{"$toLower":"$t"}"#, r#""2024-02-29t23:30:15.678z""#),
        (r#"{"$substrBytes":["$t",0,10]}"#, r#""2024-02-29""#),
    ]);
}

#[test]
fn constants_are_checked_when_they_are_parsed() {
    let code = |text: &str| Expression::parse(&parsed(text)).err().map(|error| error.code.number());
    for (text, expected) in [
        (r#"{"$year":{"date":"$t","timezone":"Nowhere"}}"#, 40485),
        (r#"{"$dateToString":{"date":"$t","format":"%n"}}"#, 18536),
        (r#"{"$dateFromString":{"dateString":"$t","format":5}}"#, 40684),
        (r#"{"$dateAdd":{"startDate":"$t","unit":"century","amount":1}}"#, 9),
        (r#"{"$dateDiff":{"startDate":"$t","endDate":"$t","unit":"week","startOfWeek":"x"}}"#, 5439016),
        (r#"{"$dateTrunc":{"date":"$t","unit":"day","binSize":0}}"#, 5439018),
        (r#"{"$dateFromParts":{"year":"$y","timezone":5}}"#, 40517),
        // An expression that has only constants is evaluated during parsing.
        (r#"{"$dateFromParts":{"year":10000}}"#, 40523),
        (r#"{"$dateFromString":{"dateString":"nonsense"}}"#, 241),
        (r#"{"$cond":["$a",{"$year":"text"},1]}"#, 16006),
        (r#"{"$regexMatch":{"input":"$t","regex":"("}}"#, 51111),
        (r#"{"$convert":{"input":"$t","to":"nothing"}}"#, 2),
    ] {
        assert_eq!(code(text), Some(expected), "{text}");
    }
    assert_eq!(code(r#"{"$dateFromString":{"dateString":"nonsense","onError":1}}"#), None);
    assert_eq!(code(r#"{"$dateFromString":{"dateString":"nonsense","onError":"$x"}}"#), None);
    let constant = Expression::parse(&parsed(r#"{"$dateFromParts":{"year":2024,"timezone":"Europe/Paris"}}"#)).unwrap();
    assert!(constant.as_constant().is_some());
    // Null is not an error, and arguments that are not used are not checked.
    assert_eq!(code(r#"{"$dateDiff":{"startDate":null,"endDate":5,"unit":"century"}}"#), None);
}
