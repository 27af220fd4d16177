use super::*;
use proptest::prelude::*;

fn text(millis: i64) -> String {
    let mut out = Vec::new();
    write(millis, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn known_dates() {
    for (millis, iso) in [
        (0, "1970-01-01T00:00:00Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (1_356_351_330_501, "2012-12-24T12:15:30.501Z"),
        (951_782_400_000, "2000-02-29T00:00:00Z"),
        (MAX_PLAIN, "9999-12-31T23:59:59.999Z"),
    ] {
        assert_eq!(text(millis), iso);
        assert_eq!(parse(iso), Some(millis));
    }
}

#[test]
fn a_day_alone_begins_at_midnight_utc() {
    assert_eq!(parse("1970-01-01"), Some(0));
    assert_eq!(parse("2000-02-29"), Some(951_782_400_000));
    assert_eq!(parse("2024-05-01"), parse("2024-05-01T00:00:00Z"));
}

#[test]
fn offsets_and_fractions() {
    assert_eq!(parse("2012-12-24T13:15:30.501+01:00"), Some(1_356_351_330_501));
    assert_eq!(parse("2012-12-24T11:45:30.501999999-0030"), Some(1_356_351_330_501));
    assert_eq!(parse("2012-12-24T12:15:30.5Z"), Some(1_356_351_330_500));
    assert_eq!(parse("2012-12-24T13:15:30+01"), Some(1_356_351_330_000));
    assert_eq!(parse("0000-01-01T00:00:00Z"), Some(-62_167_219_200_000));
    assert_eq!(parse("1969-12-31T23:59:59.999Z"), Some(-1));
}

#[test]
fn what_is_no_date() {
    for bad in [
        "",
        "2012",
        "2012-12-24 ",
        "2012-12-24T",
        "2012-12-32",
        "2012-12-24T12:15:30",
        "2012-13-24T12:15:30Z",
        "2012-00-24T12:15:30Z",
        "2012-02-30T12:15:30Z",
        "1900-02-29T12:15:30Z",
        "2012-12-24T24:15:30Z",
        "2012-12-24T12:60:30Z",
        "2012-12-24T12:15:60Z",
        "2012-12-24T12:15:30.Z",
        "2012-12-24T12:15:30.1234567890Z",
        "2012-12-24T12:15:30ZZ",
        "2012-12-24T12:15:30+1",
        "2012-12-24T12:15:30+24:00",
        "2012-12-24T12:15:30+01:60",
        "2012-12-24t12:15:30Z",
        "+012-12-24T12:15:30Z",
        "2012-12-24T12:15:30é",
    ] {
        assert_eq!(parse(bad), None, "{bad}");
    }
}

proptest! {
    #[test]
    fn every_date_comes_back_and_the_bson_crate_agrees(millis in 0..=MAX_PLAIN) {
        prop_assert_eq!(parse(&text(millis)), Some(millis));
        let theirs = bson::DateTime::from_millis(millis);
        prop_assert_eq!(parse(&theirs.try_to_rfc3339_string().unwrap()), Some(millis));
        prop_assert_eq!(bson::DateTime::parse_rfc3339_str(text(millis)).unwrap(), theirs);
    }
}

#[test]
fn what_people_write_is_utc() {
    for (text, iso) in [
        ("1960-02-03", "1960-02-03T00:00:00Z"),
        ("1960-02-03 00:00:00", "1960-02-03T00:00:00Z"),
        ("2012-12-24T12:15:30", "2012-12-24T12:15:30Z"),
        ("2012-12-24 12:15:30.5", "2012-12-24T12:15:30.5Z"),
        ("2012-12-24 13:15:30+01:00", "2012-12-24T12:15:30Z"),
        ("2012-12-24T12:15:30Z", "2012-12-24T12:15:30Z"),
    ] {
        assert_eq!(parse_lenient(text), parse(iso), "{text}");
        assert!(parse(iso).is_some());
    }
    for bad in [
        "",
        "1960",
        "1960-02",
        "1960-02-30",
        "1960-02-03 ",
        "1960-02-03T",
        "1960-02-03 00:00",
        "1960-02-03x",
        "1960-02-03 00:00:00 ",
        "+1960-02-03",
        "-312768000000",
        "60-02-03",
        "1960/02/03",
        "+999999999-01-01",
        "+1000000000-01-01",
        "-99999999999999999999999999-01-01T00:00:00Z",
        "-",
        "1é60-02-03",
    ] {
        assert_eq!(parse_lenient(bad), None, "{bad}");
    }
}

#[test]
fn years_of_more_digits_have_a_sign() {
    for (millis, iso) in [
        (MAX_PLAIN + 1, "+010000-01-01T00:00:00Z"),
        (-62_167_219_200_001, "-000001-12-31T23:59:59.999Z"),
        (-312_768_000_000, "1960-02-03T00:00:00Z"),
        (i64::MAX, "+292278994-08-17T07:12:55.807Z"),
        (i64::MIN, "-292275055-05-16T16:47:04.192Z"),
    ] {
        assert_eq!(text(millis), iso);
        assert_eq!(parse_lenient(iso), Some(millis));
    }
}

proptest! {
    #[test]
    fn every_date_reads_back(millis in any::<i64>(), near in -300_000_000_000_000i64..300_000_000_000_000) {
        prop_assert_eq!(parse_lenient(&text(millis)), Some(millis));
        prop_assert_eq!(parse_lenient(&text(near)), Some(near));
    }
}
