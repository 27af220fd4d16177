use super::*;
use alluvium_document::json;

fn zone(name: &str) -> Zone {
    Zone::find(name).unwrap()
}

/// The date of a text as ISO 8601, or `none`.
fn shown(date: Result<i64, DateError>) -> String {
    match date {
        Ok(millis) => json::date_to_iso(millis),
        Err(error) => {
            assert_eq!(error.code, crate::code::ErrorCode::ConversionFailure, "{error}");
            "none".to_owned()
        }
    }
}

// long: a table
#[test]
fn texts_without_a_format() {
    for (text, expected) in [
        // ISO 8601 and similar notations.
        ("2017-07-04T11:56:02Z", "2017-07-04T11:56:02Z"),
        ("2017-07-04T11:56:02.813Z", "2017-07-04T11:56:02.813Z"),
        ("2017-07-04T11:56:02.81", "2017-07-04T11:56:02.810Z"),
        ("2017-07-04T11:56.02", "2017-07-04T11:56:02Z"),
        ("2017-07-04T11:56.02.813", "2017-07-04T11:56:02.813Z"),
        ("2017-07-04T11:56", "2017-07-04T11:56:00Z"),
        ("2017-07-04 11:56:02,5", "2017-07-04T11:56:02.500Z"),
        ("2017-07-04", "2017-07-04T00:00:00Z"),
        ("2017-7-4", "2017-07-04T00:00:00Z"),
        ("17-7-4", "2017-07-04T00:00:00Z"),
        ("70-01-01", "1970-01-01T00:00:00Z"),
        ("2017-07", "2017-07-01T00:00:00Z"),
        ("2017/07/04", "2017-07-04T00:00:00Z"),
        ("20170704", "2017-07-04T00:00:00Z"),
        ("20170704T115602", "2017-07-04T11:56:02Z"),
        ("20170704T11:56:02", "2017-07-04T11:56:02Z"),
        ("20170704115602", "2017-07-04T11:56:02Z"),
        ("2017-185", "2017-07-04T00:00:00Z"),
        ("2017185", "2017-07-04T00:00:00Z"),
        ("2017-W27-2", "2017-07-04T00:00:00Z"),
        ("2017W27", "2017-07-03T00:00:00Z"),
        ("-0044-03-15", "-000044-03-15T00:00:00Z"),
        ("+012017-07-04", "+012017-07-04T00:00:00Z"),
        // Time zones.
        ("2017-07-14T12:02:44.771 GMT", "2017-07-14T12:02:44.771Z"),
        ("2017-07-14T12:02:44.771 GMT+02", "2017-07-14T10:02:44.771Z"),
        ("2017-07-14T12:02:44.771 GMT+02:00", "2017-07-14T10:02:44.771Z"),
        ("2017-07-14T12:02:44.771+03", "2017-07-14T09:02:44.771Z"),
        ("2017-07-14T12:02:44.771+0330", "2017-07-14T08:32:44.771Z"),
        ("2017-07-14T12:02:44.771 -03:30", "2017-07-14T15:32:44.771Z"),
        ("2017-07-14 12:02 CEST", "2017-07-14T10:02:00Z"),
        ("2017-07-14 12:02 EST", "2017-07-14T17:02:00Z"),
        ("2017-07-14 12:02 (PDT)", "2017-07-14T19:02:00Z"),
        ("2017-07-14 12:02 A", "2017-07-14T11:02:00Z"),
        ("2017-07-14 12:02 L", "2017-07-14T01:02:00Z"),
        ("2017-07-14 12:02 P", "2017-07-14T15:02:00Z"),
        ("2017-07-14 12:02 z", "2017-07-14T12:02:00Z"),
        ("2017-07-04 12:48:07 GMT+0545", "2017-07-04T07:03:07Z"),
        // Names of months.
        ("July 4th, 2017", "2017-07-04T00:00:00Z"),
        ("July 4th, 2017 12:39:30 BST", "2017-07-04T11:39:30Z"),
        ("July 4th, 2017 11am", "2017-07-04T11:00:00Z"),
        ("July 4th, 2017 12pm", "2017-07-04T12:00:00Z"),
        ("Jul 4 2017 12:05 a.m.", "2017-07-04T00:05:00Z"),
        ("4 July 2017", "2017-07-04T00:00:00Z"),
        ("04-Jul-2017 10:15:30", "2017-07-04T10:15:30Z"),
        ("4JUL17", "2017-07-04T00:00:00Z"),
        ("4 VII 2017", "2017-07-04T00:00:00Z"),
        ("2017-Jul-04 noon", "2017-07-04T12:00:00Z"),
        ("Jul-04-2017", "2017-07-04T00:00:00Z"),
        ("July 2017", "2017-07-01T00:00:00Z"),
        ("2017 July", "2017-07-01T00:00:00Z"),
        ("Tue, 04 Jul 2017 11:30:00 GMT", "2017-07-04T11:30:00Z"),
        ("Tuesday, July 4, 2017", "2017-07-04T00:00:00Z"),
        // The date moves forward to the weekday if it falls on another day.
        ("Friday, July 4, 2017", "2017-07-07T00:00:00Z"),
        ("04/Jul/2017:13:55:36 -0700", "2017-07-04T20:55:36Z"),
        // Numbers with other separators.
        ("7/4/17", "2017-07-04T00:00:00Z"),
        ("7/4/2017 5:30 PM", "2017-07-04T17:30:00Z"),
        ("04-07-2017", "2017-07-04T00:00:00Z"),
        ("04.07.2017", "2017-07-04T00:00:00Z"),
        ("4.7.2017 8.30", "2017-07-04T08:30:00Z"),
        ("2017:07:04 18:11:31", "2017-07-04T18:11:31Z"),
        ("30.6.78", "1978-06-30T00:00:00Z"),
        ("@1499169362", "2017-07-04T11:56:02Z"),
        ("@-1.5", "1969-12-31T23:59:58.500Z"),
        // Amounts.
        ("2017-07-04 +1 day", "2017-07-05T00:00:00Z"),
        ("2017-07-04 tomorrow", "2017-07-05T00:00:00Z"),
        ("2017-01-31 +1 month", "2017-03-03T00:00:00Z"),
        ("2017-07-04 10:00 -90 minutes", "2017-07-04T08:30:00Z"),
        ("  2017-07-04\n", "2017-07-04T00:00:00Z"),
    ] {
        assert_eq!(shown(parse(text, &Zone::Utc)), expected, "{text}");
    }
}

#[test]
fn texts_that_are_no_dates() {
    for text in [
        "",
        " ",
        "July 4th",
        "12:50:53",
        "2017",
        "2017, 12:50:53",
        "60.Monday1770/06:59",
        "Not even close",
        "July 4th, 10000",
        "2017-02-29",
        "2017-13-01",
        "2017-07-04 25:00",
        "2017-07-04 24:00",
        "2017-07-04 11:60",
        "2017-07-04 2017-07-05",
        "2017-07-04 11:00 12:00",
        "2017-07-04 11:00Z +01:00",
        "2017-07-12T22:23:55 Europe/Amsterdam",
        "2017-07-12T22:23:55 XYZ",
        "2017-07-04 ünder",
        "now",
        "noon",
        "@99999999999999999999",
    ] {
        assert_eq!(shown(parse(text, &Zone::Utc)), "none", "{text}");
    }
    for text in ["2017-07-12T22:23:55Z", "2017-07-12T22:23:55 GMT", "2017-07-14 -0400"] {
        assert_eq!(shown(parse(text, &zone("Europe/Amsterdam"))), "none", "{text}");
        assert_eq!(shown(parse(text, &zone("GMT"))), "none", "{text}");
    }
    assert_eq!(shown(parse("2017-07-12 22:23", &zone("Europe/Amsterdam"))), "2017-07-12T20:23:00Z");
}

#[test]
fn texts_by_a_format() {
    for (text, format, expected) in [
        ("05 12 1988", "%d %m %Y", "1988-12-05T00:00:00Z"),
        ("05*12*1988", "%d*%m*%Y", "1988-12-05T00:00:00Z"),
        ("1992 % 04 % 26", "%Y %% %m %% %d", "1992-04-26T00:00:00Z"),
        ("Day: 05 Month: 12 Year: 1988", "Day: %d Month: %m Year: %Y", "1988-12-05T00:00:00Z"),
        ("4/26/1992:+0445", "%m/%d/%Y:%z", "1992-04-25T19:15:00Z"),
        ("4/26/1992:+285", "%m/%d/%Y:%Z", "1992-04-25T19:15:00Z"),
        ("4/26/1992 -60", "%m/%d/%Y %Z", "1992-04-26T01:00:00Z"),
        ("2017-07-14T12:02:44.771 GMT+02", "%Y-%m-%dT%H:%M:%S.%L%z", "2017-07-14T10:02:44.771Z"),
        ("2017-07-14T12:02:44.771 P", "%Y-%m-%dT%H:%M:%S.%L%z", "2017-07-14T15:02:44.771Z"),
        ("2017-07-04T11:56:02.8Z", "%Y-%m-%dT%H:%M:%S.%LZ", "2017-07-04T11:56:02.800Z"),
        ("2017-07-04 5", "%Y-%m-%d %H", "2017-07-04T05:00:00Z"),
        ("Grüße 2017-07-04", "Grüße %Y-%m-%d", "2017-07-04T00:00:00Z"),
        // ISO weeks: a missing week or weekday is 1.
        ("2017", "%G", "2017-01-02T00:00:00Z"),
        ("2017, Week 53", "%G, Week %V", "2018-01-01T00:00:00Z"),
        ("2017, Day 5", "%G, Day %u", "2017-01-06T00:00:00Z"),
        ("53.7.2017", "%V.%u.%G", "2018-01-07T00:00:00Z"),
        ("1.1.1", "%V.%u.%G", "0001-01-01T00:00:00Z"),
        // As in MongoDB, the first day of the year is 0.
        ("2017, Day 5", "%Y, Day %j", "2017-01-06T00:00:00Z"),
        ("2024 365", "%Y %j", "2024-12-31T00:00:00Z"),
        ("2017, July 4", "%Y, %B %d", "2017-07-04T00:00:00Z"),
        ("oct 20 2020", "%b %d %Y", "2020-10-20T00:00:00Z"),
        ("2018-01", "%Y-%m-%d", "none"),
        ("2018-01", "%Y", "none"),
        ("2018", "%Y", "none"),
        ("1992-26-04", "Y-d-m", "none"),
        ("201", "%Y", "none"),
        ("20i7", "%G", "none"),
        ("2017-01-01T00:1:00", "%Y-%m-%dT%H:%M:%S", "none"),
        ("2017-01-01T00:00:1", "%Y-%m-%dT%H:%M:%S", "none"),
        ("2017-01-01T00:00:00.i", "%Y-%m-%dT%H:%M:%S.%L", "none"),
        ("2017-55", "%G-%V", "none"),
        ("2017-8", "%G-%u", "none"),
        ("2017-0", "%G-%u", "none"),
        ("2017-11", "%G-%u", "none"),
        ("2017 500", "%G %Z", "none"),
        ("2017 +i00", "%G %Z", "none"),
        ("ISO Day 6", "ISO Day %u", "none"),
        ("ISO Week 1, 2018", "ISO Week %V, %Y", "none"),
        ("12/31/2018", "%m/%d/%G", "none"),
        ("Dece 31 2018", "%b %d %Y", "none"),
        ("5 2017", "%j %Y", "none"),
        ("2017-02-30", "%Y-%m-%d", "none"),
        ("2017-02-03 24", "%Y-%m-%d %H", "none"),
        ("1/1/2017", "", "none"),
        ("", "", "none"),
    ] {
        check_format(format, Direction::FromText).unwrap();
        assert_eq!(shown(parse_by(text, format, &Zone::Utc)), expected, "{text} by {format}");
    }
    let paris = zone("Europe/Paris");
    assert_eq!(shown(parse_by("2017-07-04", "%Y-%m-%d", &paris)), "2017-07-03T22:00:00Z");
    assert_eq!(shown(parse_by("2017-07-04 Z", "%Y-%m-%d %z", &paris)), "none");
}

#[test]
fn a_date_comes_back_from_its_text() {
    let zones = ["UTC", "Europe/London", "America/New_York", "Asia/Kathmandu", "Pacific/Apia", "-03:30"];
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..2000 {
        // Years 0 to 9999, except for the first and last days of this range.
        let millis = random.i64(-62_160_000_000_000..253_400_000_000_000);
        for name in zones {
            let zone = zone(name);
            let local = Local::at(millis, &zone);
            // A local time that occurs twice has two moments. The flag for daylight saving time selects one of them.
            let back = zone.to_utc(i128::from(local.seconds()), zone.is_dst_at(millis.div_euclid(1000)));
            assert_eq!(back, i128::from(millis.div_euclid(1000)), "{millis} in {name}");
            if local.offset % 60 != 0 {
                // The text has no full representation of such an offset.
                continue;
            }
            let text = to_text(millis, "%Y-%m-%dT%H:%M:%S.%L%z", &zone).unwrap();
            assert_eq!(parse_by(&text, "%Y-%m-%dT%H:%M:%S.%L%z", &Zone::Utc), Ok(millis), "{text}");
            assert_eq!(parse(&text, &Zone::Utc), Ok(millis), "{text}");
            let week = to_text(millis, "%G-W%V-%u %H:%M:%S.%L %z", &zone).unwrap();
            assert_eq!(parse_by(&week, "%G-W%V-%u %H:%M:%S.%L %z", &Zone::Utc), Ok(millis), "{week}");
        }
    }
}

#[test]
fn the_start_of_a_bin_is_in_it_and_stays() {
    let units = ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond"];
    let mut random = fastrand::Rng::with_seed(8);
    for name in ["UTC", "Europe/London", "America/New_York", "Asia/Kathmandu", "-03:30"] {
        let zone = zone(name);
        for _ in 0..300 {
            // From 1990 on, because bins of hours are counted with the zone's offset in the year 2000.
            let millis = random.i64(640_000_000_000..90_000_000_000_000);
            for unit in units {
                let unit = Unit::find(unit).unwrap();
                let start = truncate(millis, unit, 1, &zone, Weekday::SUNDAY).unwrap();
                assert!(start <= millis, "{millis} {unit:?} {name}");
                assert_eq!(truncate(start, unit, 1, &zone, Weekday::SUNDAY), Ok(start), "{millis} {unit:?} {name}");
                assert_eq!(difference(start, millis, unit, &zone, Weekday::SUNDAY), Ok(0), "{millis} {unit:?} {name}");
            }
        }
    }
}

#[test]
fn names_of_zones_keep_their_case() {
    assert_eq!(Zone::find("UTC"), Ok(Zone::Utc));
    assert_eq!(Zone::find("+00:00"), Ok(Zone::Utc));
    assert_eq!(Zone::find("-0130"), Ok(Zone::Fixed(-5400)));
    assert!(matches!(Zone::find("GMT"), Ok(Zone::Named(_))));
    assert!(matches!(Zone::find("US/Eastern"), Ok(Zone::Named(_))));
    assert!(matches!(Zone::find("Etc/GMT+5"), Ok(Zone::Named(_))));
    for unknown in [
        "",
        "utc",
        "gmt",
        "europe/london",
        "Etc/Unknown",
        "123",
        "-123",
        "-12*34",
        "-1:23",
        "+12:3",
        "+0x4",
        "The moon",
    ] {
        let error = Zone::find(unknown).unwrap_err();
        assert_eq!(error.code, crate::code::ErrorCode::Location40485, "{unknown}");
    }
}

#[test]
fn abbreviations_of_zones_are_in_order() {
    for (abbreviation, hours) in [("cest", 2), ("EST", -5), ("acst", 9), ("Zulu", 0), ("a", 1), ("M", 12), ("y", -12)] {
        assert_eq!(names::zone_offset(abbreviation).map(|seconds| seconds / 3600), Some(hours), "{abbreviation}");
    }
    assert_eq!(names::zone_offset("j"), None);
    assert_eq!(names::zone_offset("xyz"), None);
    assert!(names::ZONES.is_sorted_by_key(|(name, ..)| *name));
}

#[test]
fn no_date_and_no_amount_overflows() {
    let ends =
        [i64::MIN, i64::MIN + 1, i64::MIN / 2, -62_167_219_200_001, -1, 0, 253_402_300_800_000, i64::MAX - 1, i64::MAX];
    let amounts = [i64::MIN, -584_942_417, -213_503_982_334, -1, 1, 7_000_000_000, 1 << 50, i64::MAX];
    for name in ["UTC", "America/New_York", "Pacific/Apia", "+99:99", "-99"] {
        let zone = zone(name);
        for millis in ends {
            let local = Local::at(millis, &zone);
            let parts = [local.iso_week(), local.week(), local.day_of_year(), local.hour(), local.iso_weekday()];
            assert!(parts.into_iter().all(|part| (0..=366).contains(&part)), "{millis} in {name}");
            let _ = to_text(millis, "%j %V %u %w %z %Z %b", &zone).unwrap();
            let _ = to_text(millis, ISO_UTC, &zone);
            for unit in ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond"] {
                let unit = Unit::find(unit).unwrap();
                for amount in amounts {
                    let _ = add(millis, unit, amount, &zone);
                    let _ = truncate(millis, unit, amount.max(1), &zone, Weekday::SUNDAY);
                }
                for other in ends {
                    let _ = difference(millis, other, unit, &zone, Weekday::SUNDAY);
                }
            }
        }
    }
}

#[test]
fn arbitrary_texts_and_formats_are_read_without_a_panic() {
    const PIECES: [&str; 40] = [
        "2017",
        "-07",
        "-04",
        "T",
        "11:56",
        ":02",
        ".813",
        "Z",
        "+01",
        "GMT",
        "July",
        " 4th",
        ", ",
        "VII",
        "noon",
        "am",
        "p.m.",
        "@",
        "-1",
        "99999999999999999999",
        "W27",
        "/",
        "(",
        ")",
        "é",
        "\0",
        "\n",
        "Mon",
        "+1 day",
        "-3 weeks",
        "fortnight",
        "year",
        "%Y",
        "%m",
        "%d",
        "%z",
        "%Z",
        "%j",
        "%G",
        "%V",
    ];
    let mut random = fastrand::Rng::with_seed(9);
    let text = |random: &mut fastrand::Rng| -> String {
        (0..random.usize(0..8)).map(|_| PIECES[random.usize(0..PIECES.len())]).collect()
    };
    let paris = zone("Europe/Paris");
    let mut read = 0;
    for _ in 0..50_000 {
        let (one, other) = (text(&mut random), text(&mut random));
        read += usize::from(parse(&one, &Zone::Utc).is_ok());
        let _ = parse(&one, &paris);
        if check_format(&other, Direction::FromText).is_ok() {
            let _ = parse_by(&one, &other, &paris);
        }
        let _ = Zone::find(&one);
    }
    assert!(read > 100, "{read}");
    // Amounts add up without overflowing.
    let long = format!("2017-07-04{}", " +999999999 years -999999999 hours".repeat(20_000));
    let _ = parse(&long, &Zone::Utc);
}
