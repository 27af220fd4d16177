//! `$dateAdd`, `$dateSubtract`, `$dateDiff`, `$dateTrunc`.

use super::{DOCUMENT, dates, iso, null, refused, value};

#[test]
fn addition() {
    let shifted = |start: &str, unit: &str, amount: &str, zone: &str| {
        let zone = if zone.is_empty() { String::new() } else { format!(r#","timezone":"{zone}""#) };
        let expression =
            format!(r#"{{"$dateAdd":{{"startDate":{{"$date":"{start}"}},"unit":"{unit}","amount":{amount}{zone}}}}}"#);
        let found = iso(&expression);
        // Subtracting the negated amount gives the same date.
        let opposite = match amount.strip_prefix('-') {
            Some(amount) => amount.to_owned(),
            None => format!("-{amount}"),
        };
        let subtracted = expression
            .replace("$dateAdd", "$dateSubtract")
            .replace(&format!(r#""amount":{amount}"#), &format!(r#""amount":{opposite}"#));
        assert_eq!(iso(&subtracted), found, "{subtracted}");
        found
    };
    for (start, unit, amount, zone, expected) in [
        ("2020-12-31T12:10:05Z", "day", "1", "", "2021-01-01T12:10:05Z"),
        ("2020-12-31T12:10:05Z", "week", "-1", "", "2020-12-24T12:10:05Z"),
        ("2020-12-31T12:10:05Z", "hour", "2", "", "2020-12-31T14:10:05Z"),
        ("2020-12-31T12:10:05Z", "minute", "50", "", "2020-12-31T13:00:05Z"),
        ("2020-12-31T12:10:05Z", "second", "-125", "", "2020-12-31T12:08:00Z"),
        ("2020-12-31T12:10:05Z", "millisecond", "1050", "", "2020-12-31T12:10:06.050Z"),
        ("1969-12-31T23:59:59.999Z", "millisecond", "1", "", "1970-01-01T00:00:00Z"),
        ("1969-12-31T23:59:59.999Z", "day", "1", "", "1970-01-01T23:59:59.999Z"),
        // If the month is too short for the day, the result is its last day.
        ("2020-10-31T10:10:05Z", "month", "1", "", "2020-11-30T10:10:05Z"),
        ("2021-01-31T03:00:00Z", "month", "-2", "", "2020-11-30T03:00:00Z"),
        ("2024-02-29T00:00:00Z", "year", "1", "", "2025-02-28T00:00:00Z"),
        ("2024-02-29T00:00:00Z", "year", "-4", "", "2020-02-29T00:00:00Z"),
        ("2020-12-31T12:10:05Z", "quarter", "-2", "", "2020-06-30T12:10:05Z"),
        ("2020-11-30T00:00:00Z", "quarter", "1", "", "2021-02-28T00:00:00Z"),
        ("2024-01-31T00:00:00Z", "month", "13", "", "2025-02-28T00:00:00Z"),
        // The month is determined in the local time of the zone.
        ("2021-01-30T23:30:00Z", "month", "1", "Europe/Paris", "2021-02-27T23:30:00Z"),
        ("2021-01-31T03:00:00Z", "month", "-2", "America/New_York", "2020-12-01T03:00:00Z"),
        // Adding days keeps the local time of day; adding hours does not.
        ("2020-10-24T18:10:00Z", "hour", "24", "Europe/Paris", "2020-10-25T18:10:00Z"),
        ("2020-10-24T18:10:00Z", "day", "1", "Europe/Paris", "2020-10-25T19:10:00Z"),
        ("2024-03-09T17:00:00Z", "day", "1", "America/New_York", "2024-03-10T16:00:00Z"),
        ("2024-03-09T17:00:00Z", "year", "1", "+05:30", "2025-03-09T17:00:00Z"),
        ("2011-12-29T12:00:00Z", "day", "1", "Pacific/Apia", "2011-12-30T12:00:00Z"),
        ("2011-12-30T09:00:00Z", "day", "2", "Pacific/Apia", "2011-12-31T09:00:00Z"),
        // The result is in a gap, or at a time that occurs twice. In the second case daylight saving time is kept if
        // the original date had it.
        ("2024-03-09T07:30:00Z", "day", "1", "America/New_York", "2024-03-10T07:30:00Z"),
        ("2024-11-02T05:30:00Z", "day", "1", "America/New_York", "2024-11-03T05:30:00Z"),
        ("2024-11-04T06:30:00Z", "day", "-1", "America/New_York", "2024-11-03T06:30:00Z"),
        ("2024-10-26T00:30:00Z", "day", "1", "Europe/London", "2024-10-27T00:30:00Z"),
        ("2024-10-28T01:30:00Z", "day", "-1", "Europe/London", "2024-10-27T01:30:00Z"),
        ("2024-01-01T00:00:00Z", "day", "2.0", "Asia/Kathmandu", "2024-01-03T00:00:00Z"),
    ] {
        assert_eq!(shifted(start, unit, amount, zone), expected, "{start} + {amount} {unit} in {zone}");
    }
}

#[test]
fn operands_of_addition() {
    let add = r#"{"$dateAdd":{"startDate":"$t","unit":"day","amount":?}}"#;
    dates(&[
        (
            r#"{"$dateAdd":{"startDate":"$id","unit":"$unit","amount":"$i","timezone":"$ny"}}"#,
            r#"{"$date":"2024-07-29T22:30:15Z"}"#,
        ),
        (
            r#"{"$dateSubtract":{"startDate":"$stamp","unit":"second","amount":15}}"#,
            r#"{"$date":"2024-02-29T23:30:00Z"}"#,
        ),
        (r#"{"$dateAdd":{"startDate":"$t","unit":"day"}}"#, "error 5166402"),
        (r#"{"$dateAdd":{"startDate":"$t","amount":1}}"#, "error 5166402"),
        (r#"{"$dateSubtract":{"unit":"day","amount":1}}"#, "error 5166402"),
        (r#"{"$dateAdd":{"startDate":"$t","units":"day","amount":1}}"#, "error 5166401"),
        (r#"{"$dateAdd":["$t",1]}"#, "error 5166400"),
        (r#"{"$dateSubtract":"$t"}"#, "error 5166400"),
    ]);
    for operator in ["$dateAdd", "$dateSubtract"] {
        let add = add.replace("$dateAdd", operator);
        refused(&add, &["1.5", r#""1""#, "true", r#""$d""#, r#""$t""#], "error 5166405");
        let start = format!(r#"{{"{operator}":{{"startDate":?,"unit":"day","amount":1}}}}"#);
        refused(&start, &["5", r#""$s""#, r#""$m""#, "true"], "error 5166403");
        let unit = format!(r#"{{"{operator}":{{"startDate":"$t","unit":?,"amount":1}}}}"#);
        refused(&unit, &["5", r#""$i""#, "[]"], "error 5439013");
        refused(&unit, &[r#""century""#, r#""$s""#, r#""Day""#, r#""days""#], "error 9");
        let zone = format!(r#"{{"{operator}":{{"startDate":"$t","unit":"day","amount":1,"timezone":?}}}}"#);
        refused(&zone, &["5", r#""$i""#], "error 40517");
        refused(&zone, &[r#""Nowhere""#, r#""$s""#], "error 40485");
        null(&[&add, &start, &unit, &zone]);
    }
    // Amounts that exceed all dates.
    let long = |unit: &str, amount: &str| {
        let amount = format!(r#"{{"$numberLong":"{amount}"}}"#);
        let operand = format!(r#"{{"startDate":"$t","unit":"{unit}","amount":{amount}}}"#);
        value(&format!(r#"{{"$dateAdd":{operand}}}"#), DOCUMENT)
    };
    assert_eq!(long("millisecond", "9223372036854775807"), "error 159");
    assert_eq!(long("year", "584942418"), "error 5976500");
    assert_eq!(long("year", "584942417"), "error 5166406");
    assert_eq!(long("day", "-213503982335"), "error 5976500");
    assert_eq!(long("day", "-213503982334"), "error 5166406");
    assert_eq!(long("second", "9223372036854775807"), "error 5976500");
    let least = r#"{"$dateSubtract":{"startDate":"$t","unit":"day","amount":{"$numberLong":"-9223372036854775808"}}}"#;
    assert_eq!(value(least, DOCUMENT), "error 6045000");
}

#[test]
fn difference() {
    let difference = |start: &str, end: &str, unit: &str, more: &str| {
        let dates = format!(r#""startDate":{{"$date":"{start}"}},"endDate":{{"$date":"{end}"}},"unit":"{unit}""#);
        let opposite = format!(r#""endDate":{{"$date":"{start}"}},"startDate":{{"$date":"{end}"}},"unit":"{unit}""#);
        let found = value(&format!(r#"{{"$dateDiff":{{{dates}{more}}}}}"#), DOCUMENT);
        let back = value(&format!(r#"{{"$dateDiff":{{{opposite}{more}}}}}"#), DOCUMENT);
        let number = |text: &str| text.parse::<i64>().unwrap();
        assert_eq!(number(&found), -number(&back), "{dates}");
        number(&found)
    };
    let ny = r#","timezone":"America/New_York""#;
    for (start, end, unit, more, expected) in [
        // The difference is the number of boundaries crossed, not the time between the dates.
        ("2023-12-31T23:59:59.999Z", "2024-01-01T00:00:00Z", "year", "", 1),
        ("2023-01-01T00:00:00Z", "2023-12-31T23:59:59Z", "year", "", 0),
        ("2023-12-31T23:59:59Z", "2024-01-01T00:00:00Z", "quarter", "", 1),
        ("2021-03-31T00:00:00Z", "2024-04-01T00:00:00Z", "quarter", "", 13),
        ("2020-01-31T00:00:00Z", "2021-03-01T00:00:00Z", "month", "", 14),
        ("2024-02-28T23:00:00Z", "2024-03-01T01:00:00Z", "day", "", 2),
        ("1969-12-31T00:00:00Z", "1970-01-02T00:00:00Z", "day", "", 2),
        ("2020-11-01T18:23:36Z", "2020-11-02T00:00:00Z", "hour", "", 6),
        ("2020-11-01T18:23:36Z", "2020-11-01T20:00:00Z", "minute", "", 97),
        ("2020-11-01T18:23:36.999Z", "2020-11-01T18:23:38Z", "second", "", 2),
        ("1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00Z", "second", "", 1),
        ("1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00Z", "millisecond", "", 1),
        // Weeks begin with Sunday, or with the day that is given.
        ("2021-01-23T12:00:00Z", "2021-01-24T00:00:00Z", "week", "", 1),
        ("2021-01-24T18:23:36Z", "2021-01-25T02:23:36Z", "week", "", 0),
        ("2021-01-24T18:23:36Z", "2021-01-25T02:23:36Z", "week", r#","startOfWeek":"MONDAY""#, 1),
        ("2021-01-17T04:59:00Z", "2021-01-17T05:00:00Z", "week", ny, 1),
        ("1969-12-01T00:00:00Z", "1970-01-31T00:00:00Z", "week", r#","startOfWeek":"fri""#, 9),
        // The boundaries are in the local time of the zone.
        ("2024-01-01T04:59:00Z", "2024-01-01T05:00:00Z", "year", ny, 1),
        ("2024-01-01T18:14:00Z", "2024-01-01T18:15:00Z", "hour", r#","timezone":"Asia/Kathmandu""#, 1),
        ("2024-01-01T18:14:00Z", "2024-01-01T18:15:00Z", "day", r#","timezone":"Asia/Kathmandu""#, 1),
        // Hours and minutes are elapsed time, also across a change of the offset.
        ("2024-03-10T06:00:00Z", "2024-03-10T08:00:00Z", "hour", ny, 2),
        ("2024-11-03T04:30:00Z", "2024-11-03T07:30:00Z", "minute", ny, 180),
        ("2011-12-30T09:00:00Z", "2011-12-30T11:00:00Z", "second", r#","timezone":"Pacific/Apia""#, 7200),
        ("2011-12-30T09:00:00Z", "2011-12-30T11:00:00Z", "day", r#","timezone":"Pacific/Apia""#, 2),
        // The first day of the week is used only for weeks.
        ("2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z", "day", r#","startOfWeek":5"#, 1),
    ] {
        assert_eq!(difference(start, end, unit, more), expected, "{unit} from {start} to {end}{more}");
    }
}

#[test]
fn operands_of_differences() {
    let start = r#"{"$dateDiff":{"startDate":?,"endDate":"$t","unit":"day"}}"#;
    let end = r#"{"$dateDiff":{"startDate":"$t","endDate":?,"unit":"day"}}"#;
    let unit = r#"{"$dateDiff":{"startDate":"$t","endDate":"$t","unit":?}}"#;
    let zone = r#"{"$dateDiff":{"startDate":"$t","endDate":"$t","unit":"day","timezone":?}}"#;
    let first = r#"{"$dateDiff":{"startDate":"$t","endDate":"$t","unit":"week","startOfWeek":?}}"#;
    for operand in [start, end] {
        refused(operand, &["5", r#""$s""#, r#""$m""#], "error 5166307");
    }
    refused(unit, &["5", r#""$i""#], "error 5439013");
    refused(unit, &[r#""decade""#, r#""$s""#], "error 9");
    refused(zone, &["1", r#""$i""#], "error 40517");
    refused(zone, &[r#""America/Invalid""#, r#""$s""#], "error 40485");
    refused(first, &["1", r#""$i""#], "error 5439015");
    refused(first, &[r#""FRIDIE""#, r#""$s""#, r#""tues""#], "error 5439016");
    null(&[start, end, unit, zone, first]);
    dates(&[
        // Null is checked before the other arguments.
        (r#"{"$dateDiff":{"startDate":"$none","endDate":1,"unit":"$s","timezone":"$s"}}"#, "null"),
        (r#"{"$dateDiff":{"startDate":"$s","endDate":"$none","unit":"$s"}}"#, "null"),
        (r#"{"$dateDiff":{"startDate":"$id","endDate":"$stamp","unit":"second"}}"#, "0"),
        (r#"{"$dateDiff":"$t"}"#, "error 5166301"),
        (r#"{"$dateDiff":{"startDate":"$t","endDate":"$t","unit":"day","zone":1}}"#, "error 5166302"),
        (r#"{"$dateDiff":{"endDate":"$t","unit":"day"}}"#, "error 5166303"),
        (r#"{"$dateDiff":{"startDate":"$t","unit":"day"}}"#, "error 5166304"),
        (r#"{"$dateDiff":{"startDate":"$t","endDate":"$t"}}"#, "error 5166305"),
    ]);
    let far = r#"{"a":{"$date":{"$numberLong":"9223372036854775807"}},"b":{"$date":{"$numberLong":"-2"}}}"#;
    let millis = r#"{"$dateDiff":{"startDate":"$b","endDate":"$a","unit":"millisecond"}}"#;
    assert_eq!(value(millis, far), "error 5166308");
    assert_eq!(value(&millis.replace("millisecond", "year"), far), "292277025");
}

#[test]
fn truncation() {
    let truncated = |date: &str, unit: &str, more: &str| {
        iso(&format!(r#"{{"$dateTrunc":{{"date":{{"$date":"{date}"}},"unit":"{unit}"{more}}}}}"#))
    };
    let ny = r#","timezone":"America/New_York""#;
    for (date, unit, more, expected) in [
        ("2020-11-18T18:23:36.789Z", "year", "", "2020-01-01T00:00:00Z"),
        ("2020-11-18T18:23:36.789Z", "quarter", "", "2020-10-01T00:00:00Z"),
        ("2020-11-18T18:23:36.789Z", "month", "", "2020-11-01T00:00:00Z"),
        ("2020-11-18T18:23:36.789Z", "week", "", "2020-11-15T00:00:00Z"),
        ("2020-11-18T18:23:36.789Z", "week", r#","startOfWeek":"Wed""#, "2020-11-18T00:00:00Z"),
        ("2020-11-18T18:23:36.789Z", "day", "", "2020-11-18T00:00:00Z"),
        ("2020-11-18T18:23:36.789Z", "hour", "", "2020-11-18T18:00:00Z"),
        ("2020-11-18T18:23:36.789Z", "minute", "", "2020-11-18T18:23:00Z"),
        ("2020-11-18T18:23:36.789Z", "second", "", "2020-11-18T18:23:36Z"),
        ("2020-11-18T18:23:36.789Z", "millisecond", r#","binSize":10"#, "2020-11-18T18:23:36.780Z"),
        // Bins are counted from the year 2000.
        ("2020-11-18T18:23:36Z", "year", r#","binSize":7"#, "2014-01-01T00:00:00Z"),
        ("1999-12-31T00:00:00Z", "year", r#","binSize":100"#, "1900-01-01T00:00:00Z"),
        ("2021-05-18T00:00:00Z", "month", r#","binSize":5"#, "2021-04-01T00:00:00Z"),
        ("2020-11-18T00:00:00Z", "quarter", r#","binSize":3"#, "2020-04-01T00:00:00Z"),
        ("2000-01-08T12:00:00Z", "day", r#","binSize":7"#, "2000-01-08T00:00:00Z"),
        ("2000-01-07T12:00:00Z", "day", r#","binSize":7"#, "2000-01-01T00:00:00Z"),
        ("1999-12-31T12:00:00Z", "day", r#","binSize":7"#, "1999-12-25T00:00:00Z"),
        (
            "2000-01-30T18:00:00Z",
            "week",
            r#","binSize":2,"timezone":"America/New_York","startOfWeek":"mon""#,
            "2000-01-17T05:00:00Z",
        ),
        ("1969-06-15T12:34:56.789Z", "hour", r#","binSize":5"#, "1969-06-15T08:00:00Z"),
        ("1969-12-31T23:59:59.999Z", "minute", r#","binSize":15"#, "1969-12-31T23:45:00Z"),
        ("2021-12-01T18:23:36Z", "hour", r#","binSize":4,"timezone":"America/New_York""#, "2021-12-01T17:00:00Z"),
        // Days and longer units begin at local midnight; hours have the same length everywhere.
        ("2024-07-04T03:59:00Z", "day", ny, "2024-07-03T04:00:00Z"),
        ("2024-07-04T12:00:00Z", "month", ny, "2024-07-01T04:00:00Z"),
        ("2024-12-04T12:00:00Z", "month", ny, "2024-12-01T05:00:00Z"),
        ("2021-07-01T18:23:36Z", "hour", r#","binSize":4,"timezone":"America/New_York""#, "2021-07-01T17:00:00Z"),
        ("2024-05-01T10:20:00Z", "hour", r#","timezone":"Asia/Kathmandu""#, "2024-05-01T10:15:00Z"),
        ("2024-05-01T10:20:00Z", "day", r#","timezone":"Asia/Kathmandu""#, "2024-04-30T18:15:00Z"),
        ("2024-05-01T10:20:00Z", "day", r#","timezone":"+05:30""#, "2024-04-30T18:30:00Z"),
        // Midnight was skipped, so the day begins an hour later.
        ("2018-11-04T12:00:00Z", "day", r#","timezone":"America/Sao_Paulo""#, "2018-11-04T03:00:00Z"),
        ("2012-01-01T00:00:00Z", "day", r#","timezone":"Pacific/Apia""#, "2011-12-31T10:00:00Z"),
        ("2024-03-31T12:00:00Z", "day", r#","timezone":"Europe/London""#, "2024-03-31T00:00:00Z"),
        ("2024-04-01T12:00:00Z", "day", r#","timezone":"Europe/London""#, "2024-03-31T23:00:00Z"),
        ("0001-02-03T04:05:06Z", "month", "", "0001-02-01T00:00:00Z"),
    ] {
        assert_eq!(truncated(date, unit, more), expected, "{unit} of {date}{more}");
    }
}

#[test]
fn operands_of_truncation() {
    let date = r#"{"$dateTrunc":{"date":?,"unit":"day"}}"#;
    let unit = r#"{"$dateTrunc":{"date":"$t","unit":?}}"#;
    let size = r#"{"$dateTrunc":{"date":"$t","unit":"hour","binSize":?}}"#;
    let zone = r#"{"$dateTrunc":{"date":"$t","unit":"hour","timezone":?}}"#;
    let first = r#"{"$dateTrunc":{"date":"$t","unit":"week","startOfWeek":?}}"#;
    refused(date, &["5", r#""$s""#, r#""$a""#], "error 5166307");
    refused(unit, &["1", r#""$i""#], "error 5439013");
    refused(unit, &[r#""century""#, r#""$s""#], "error 9");
    refused(size, &["2.5", r#""Number""#, r#""$d""#, "true"], "error 5439017");
    refused(size, &["0", "-1", r#"{"$numberLong":"-5"}"#], "error 5439018");
    refused(zone, &["1", r#""$i""#], "error 40517");
    refused(zone, &[r#""America/Invalid""#, r#""$s""#], "error 40485");
    refused(first, &["1", r#""$i""#], "error 5439015");
    refused(first, &[r#""FRIDIE""#, r#""$s""#], "error 5439016");
    null(&[date, unit, size, zone, first]);
    dates(&[
        (r#"{"$dateTrunc":{"date":"$id","unit":"minute","binSize":4}}"#, r#"{"$date":"2024-02-29T23:28:00Z"}"#),
        (r#"{"$dateTrunc":{"date":"$t","unit":"year","startOfWeek":5}}"#, r#"{"$date":"2024-01-01T00:00:00Z"}"#),
        (
            r#"{"$dateTrunc":{"date":"$t","unit":"minute","binSize":{"$numberDecimal":"15"}}}"#,
            r#"{"$date":"2024-02-29T23:30:00Z"}"#,
        ),
        (r#"{"$dateTrunc":{"date":"$none","unit":"$s","binSize":"$s","timezone":"$i"}}"#, "null"),
        (r#"{"$dateTrunc":"A"}"#, "error 5439007"),
        (r#"{"$dateTrunc":{"endDate":1}}"#, "error 5439008"),
        (r#"{"$dateTrunc":{"unit":"week"}}"#, "error 5439009"),
        (r#"{"$dateTrunc":{"date":"$t"}}"#, "error 5439010"),
        (
            r#"{"$dateTrunc":{"date":"$t","unit":"hour","binSize":{"$numberLong":"9223372036854775807"}}}"#,
            "error 5439002",
        ),
        (r#"{"$dateTrunc":{"date":"$t","unit":"day","binSize":{"$numberLong":"100000000001"}}}"#, "error 5439006"),
    ]);
    let early = r#"{"a":{"$date":{"$numberLong":"-9223372036854775808"}}}"#;
    assert_eq!(value(r#"{"$dateTrunc":{"date":"$a","unit":"second"}}"#, early), "error 5439000");
    assert_eq!(value(r#"{"$dateTrunc":{"date":"$a","unit":"day"}}"#, early), "error 5166406");
}
