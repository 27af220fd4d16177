#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
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
        "2012-12-24",
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
