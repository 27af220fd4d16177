use super::*;

#[test]
fn doubles_have_the_fewest_digits() {
    for (x, expected) in [
        (9e-5, "9e-05"),
        (1.000_000_000_000_000_2, "1.0000000000000002"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e15, "1000000000000000"),
        (1e16, "1e+16"),
        (-0.0, "-0"),
        (f64::NEG_INFINITY, "-Infinity"),
    ] {
        assert_eq!(double_text(x), expected);
    }
}

#[test]
fn operators_on_text_take_doubles_with_six_digits() {
    for (x, expected) in [
        (123_456.789, "123457"),
        (999_999.5, "1e+06"),
        (1.234_567_89, "1.23457"),
        (9e-5, "9e-05"),
        (2.50, "2.5"),
        (0.0, "0"),
        (f64::INFINITY, "inf"),
        (f64::NAN, "nan"),
    ] {
        assert_eq!(short_text(&Value::from(x)).unwrap().unwrap(), expected);
    }
}

#[test]
fn text_is_a_double_in_either_notation() {
    for (text, expected) in [
        ("2.5", Some(2.5)),
        ("0x1p0", Some(1.0)),
        ("-0X1.8p1", Some(-3.0)),
        ("+0xff", Some(255.0)),
        ("0x.8", Some(0.5)),
        ("0x123456789abcdef01", Some(20_988_295_479_420_645_000.0)),
        ("0x1p-1074", Some(5e-324)),
        ("Infinity", Some(f64::INFINITY)),
        ("0x1p9999", None),
        ("0x1p-2000", None),
        ("0x", None),
        ("0xg", None),
        ("1e400", None),
        ("1e-400", None),
        ("0e-400", Some(0.0)),
        ("", None),
        (" 1", None),
    ] {
        assert_eq!(parse_double(text), expected, "{text}");
    }
    assert!(parse_double("nan").unwrap().is_nan());
}
