use super::*;
use crate::arbitrary;
use proptest::prelude::*;

fn dec(text: &str) -> Decimal {
    text.parse().unwrap()
}

#[test]
fn text_comes_back() {
    for text in ["0", "1", "-1", "3.14", "1.00", "-0", "-0.00", "0E+3", "1E+3", "1.23E-10", "0.000001", "1E-7"] {
        assert_eq!(dec(text).to_string(), text);
        assert_eq!(dec(text).text_len(), text.len());
    }
    for special in [Decimal::NAN, Decimal::INFINITY, Decimal::NEG_INFINITY] {
        assert_eq!(special.text_len(), special.to_string().len());
    }
    assert_eq!(dec("+01.50e2").to_string(), "150");
    assert_eq!(dec(".5").to_string(), "0.5");
    assert_eq!(dec("5.").to_string(), "5");
    assert_eq!(dec("-INF").to_string(), "-Infinity");
    assert_eq!(dec("0.0000001").to_string(), "1E-7");
}

#[test]
fn what_is_no_decimal() {
    for text in
        ["", "-", ".", "e5", "1e", "1e+", "1.2.3", "0x1", " 1", "1 ", "--1", "+-1", "1e5.0", "١", "infinit", "1_0"]
    {
        assert_eq!(text.parse::<Decimal>(), Err(DecimalError::Syntax), "{text}");
    }
    for text in ["1e2147483648", "1e-99999999999999999999999", "0e99999999999", "1.5e-2147483647"] {
        assert_eq!(text.parse::<Decimal>(), Err(DecimalError::Exponent), "{text}");
    }
    assert_eq!(Decimal::from_parts(false, "", 0), Err(DecimalError::Syntax));
    assert_eq!(Decimal::from_parts(false, "1a", 0), Err(DecimalError::Syntax));
}

#[test]
fn huge_exponents_cost_nothing() {
    let (big, bigger) = (dec("1E+2000000000"), dec("2E+2000000000"));
    assert_eq!(big.compare(&bigger), Ordering::Less);
    assert_eq!(big.compare(&dec("10E+1999999999")), Ordering::Equal);
    assert_eq!(big.to_f64(), f64::INFINITY);
    assert_eq!(big.to_i64(), None);
    assert_eq!(big.floor_f64(), (f64::MAX, false));
    assert_eq!(big.negated().floor_f64(), (f64::NEG_INFINITY, false));
    assert_eq!(dec("1E-2000000000").floor_f64(), (0.0, false));
    assert_eq!(dec("-1E-2000000000").floor_f64(), (-5e-324, false));
    assert_eq!(big.add(&dec("1")), Err(DecimalError::TooManyDigits));
    assert_eq!(big.multiply(&big), Err(DecimalError::Exponent));
    assert_eq!(big.add(&bigger).unwrap(), dec("3E+2000000000"));
    assert_eq!(big.to_decimal128(), Err(DecimalError::NotDecimal128));
}

#[test]
fn sums_products_and_quotients() {
    let check = |a: &str, op: fn(&Decimal, &Decimal) -> Result<Decimal, DecimalError>, b: &str, want: &str| {
        assert_eq!(op(&dec(a), &dec(b)).unwrap().to_string(), want, "{a} {b}");
    };
    check("1.10", Decimal::add, "2.2", "3.30");
    check("1E+3", Decimal::add, "-1", "999");
    check("0E+2000000000", Decimal::add, "1", "1");
    check("-0", Decimal::add, "-0.0", "-0.0");
    check("-0", Decimal::add, "0", "0");
    check("-1", Decimal::add, "1.0", "0.0");
    check("1.5", Decimal::subtract, "0.50", "1.00");
    check("Infinity", Decimal::subtract, "Infinity", "NaN");
    check("1", Decimal::subtract, "Infinity", "-Infinity");
    check("1.5", Decimal::multiply, "-0.20", "-0.300");
    check("0", Decimal::multiply, "Infinity", "NaN");
    check("-2", Decimal::multiply, "Infinity", "-Infinity");
    check("1", Decimal::divide, "3", "0.3333333333333333333333333333333333");
    check("2", Decimal::divide, "3", "0.6666666666666666666666666666666667");
    check("10", Decimal::divide, "4", "2.5");
    check("100", Decimal::divide, "-5", "-20");
    check("1E+3", Decimal::divide, "10", "1E+2");
    check("0", Decimal::divide, "7", "0");
    check("7", Decimal::divide, "-Infinity", "-0");
    check(
        "2.999999999999999999999999999999999",
        Decimal::divide,
        "1.0000000000000000000000000000000001",
        "2.999999999999999999999999999999999",
    );
    check(
        "6.907755278982137052053974364053093",
        Decimal::divide,
        "2.302585092994045684017991454684364",
        "3.000000000000000000000000000000000",
    );
    check("1", Decimal::divide, "1E+1000000", "1E-1000000");
    assert_eq!(dec("1").divide(&dec("0.0")), Err(DecimalError::DivisionByZero));
}

#[test]
fn remainders_have_the_sign_of_the_dividend() {
    for (a, b, expected) in [
        ("7.5", "2", "1.5"),
        ("-7", "3", "-1"),
        ("-0", "3", "-0"),
        ("-9", "3.0", "-0.0"),
        ("1E+6144", "3", "1"),
        ("5", "-Infinity", "5"),
        ("Infinity", "3", "NaN"),
        ("1", "0", "NaN"),
    ] {
        assert_eq!(dec(a).remainder(&dec(b)).unwrap().to_string(), expected, "{a} % {b}");
    }
}

#[test]
fn rounding_is_half_to_even() {
    for (text, digits, want) in
        [("125", 2, "1.2E+2"), ("135", 2, "1.4E+2"), ("1251", 2, "1.3E+3"), ("999.5", 3, "1.00E+3"), ("12", 5, "12")]
    {
        assert_eq!(dec(text).rounded(digits).unwrap().to_string(), want);
    }
}

#[test]
fn decimal128_as_the_bson_crate_has_it() {
    for text in [
        "0",
        "-0",
        "-0.00",
        "1",
        "-1.50",
        "9.999999999999999999999999999999999E+6144",
        "1E-6176",
        "0E+6111",
        "0E-6176",
        "123456789012345678901234567890.1234",
        "NaN",
        "Infinity",
        "-Infinity",
    ] {
        let theirs: bson::Decimal128 = text.parse().unwrap();
        assert_eq!(dec(text).to_decimal128().unwrap(), theirs.bytes(), "{text}");
        assert_eq!(Decimal::from_decimal128(theirs.bytes()), dec(text));
    }
}

#[test]
fn zeros_move_so_that_decimal128_can_hold_a_value() {
    let through = |text: &str| dec(text).to_decimal128().map(|bytes| Decimal::from_decimal128(bytes).to_string());
    assert_eq!(through("1E+6144").unwrap(), "1.000000000000000000000000000000000E+6144");
    assert_eq!(through(&format!("1{}", "0".repeat(40))).unwrap(), "1.000000000000000000000000000000000E+40");
    assert_eq!(through("10E-6177").unwrap(), "1E-6176");
    assert_eq!(through("0E+9999").unwrap(), "0E+6111");
    for text in ["1E+6145", "1E-6177", "1.0000000000000000000000000000000000000001"] {
        assert_eq!(through(text), Err(DecimalError::NotDecimal128), "{text}");
    }
}

#[test]
fn what_decimal128_has_not_is_rounded_to_what_it_has() {
    let nines = "9".repeat(34);
    for (text, want) in [
        ("1.23456789012345678901234567890123456789".to_owned(), "1.234567890123456789012345678901235".to_owned()),
        (format!("{nines}4"), format!("{}E+34", format_args!("9.{}", "9".repeat(33)))),
        (format!("{nines}5"), "1.000000000000000000000000000000000E+35".to_owned()),
        (format!("{nines}E+6111"), format!("9.{}E+6144", "9".repeat(33))),
        (format!("{nines}5E+6110"), "Infinity".to_owned()),
        ("-1E+6145".to_owned(), "-Infinity".to_owned()),
        ("1E+6144".to_owned(), "1.000000000000000000000000000000000E+6144".to_owned()),
        ("1E-6176".to_owned(), "1E-6176".to_owned()),
        ("5E-6177".to_owned(), "0E-6176".to_owned()),
        ("-5.1E-6177".to_owned(), "-1E-6176".to_owned()),
        ("15E-6177".to_owned(), "2E-6176".to_owned()),
        ("99.6E-6176".to_owned(), "1.00E-6174".to_owned()),
        ("9E-6178".to_owned(), "0E-6176".to_owned()),
        ("1E-2000000000".to_owned(), "0E-6176".to_owned()),
        ("0E+9999".to_owned(), "0E+6111".to_owned()),
        ("-0E-9999".to_owned(), "-0E-6176".to_owned()),
        ("1.50".to_owned(), "1.50".to_owned()),
        ("-Infinity".to_owned(), "-Infinity".to_owned()),
    ] {
        let rounded = dec(&text).rounded_to_decimal128();
        assert_eq!(rounded.to_string(), want, "{text}");
        assert!(rounded.is_decimal128(), "{text}");
        assert_eq!(Decimal::from_decimal128(rounded.to_decimal128().unwrap()), rounded, "{text}");
    }
    assert!(!dec("1E+6145").is_decimal128());
    assert!(!dec("1E-6177").is_decimal128());
}

proptest! {
    #[test]
    fn any_decimal_comes_back_from_text(decimal in arbitrary::decimal()) {
        prop_assert_eq!(&decimal.to_string().parse::<Decimal>().unwrap(), &decimal);
        prop_assert_eq!(decimal.to_string().len(), decimal.text_len());
    }

    #[test]
    fn any_text_is_taken_without_panic(text in ".{0,12}", number in "[-+]?[0-9.]{0,9}[eE]?[-+]?[0-9]{0,12}") {
        let _ = text.parse::<Decimal>();
        if let Ok(decimal) = number.parse::<Decimal>() {
            prop_assert_eq!(decimal.to_f64(), number.parse::<f64>().unwrap());
        }
    }

    #[test]
    fn doubles_come_back(x in any::<f64>()) {
        let decimal = Decimal::from_f64(x);
        prop_assert!(decimal.to_f64() == x || x.is_nan());
    }

    #[test]
    fn the_floor_is_the_last_double_not_above(decimal in arbitrary::decimal()) {
        let (floor, exact) = decimal.floor_f64();
        if decimal.is_finite() {
            prop_assert_eq!(decimal.compare_f64(floor), if exact { Ordering::Equal } else { Ordering::Greater });
            prop_assert_eq!(decimal.compare_f64(floor.next_up()), Ordering::Less);
        }
    }

    #[test]
    fn comparing_with_a_double_is_comparing_with_its_exact_text(decimal in arbitrary::decimal(), x in any::<f64>()) {
        for x in [x, decimal.to_f64(), decimal.to_f64().next_down(), decimal.to_f64().next_up()] {
            if x.is_finite() {
                let exact: Decimal = format!("{x:.800e}").parse().unwrap();
                prop_assert_eq!(decimal.compare_f64(x), decimal.compare(&exact));
            }
        }
    }

    #[test]
    fn sums_agree_with_integers(a in any::<i64>(), b in any::<i64>(), shift in -9i64..9) {
        let scale = |n: i128| Decimal::from(n).multiply(&Decimal::from_parts(false, "1", shift).unwrap()).unwrap();
        let (x, y) = (scale(i128::from(a)), scale(i128::from(b)));
        prop_assert_eq!(x.add(&y).unwrap().compare(&scale(i128::from(a) + i128::from(b))), Ordering::Equal);
        prop_assert_eq!(x.compare(&y), a.cmp(&b));
    }

    #[test]
    fn a_quotient_times_the_divisor_is_the_dividend(a in any::<i32>(), b in any::<i32>()) {
        let b = if b == 0 { 7 } else { b };
        let (x, y) = (Decimal::from(a), Decimal::from(b));
        let product = x.multiply(&y).unwrap();
        prop_assert_eq!(product.divide(&y).unwrap().compare(&x), Ordering::Equal);
    }

    #[test]
    fn any_decimal128_is_taken(bits in any::<u128>()) {
        let decimal = Decimal::from_decimal128(bits.to_le_bytes());
        let theirs = bson::Decimal128::from_bytes(bits.to_le_bytes()).to_string();
        if decimal.is_finite() {
            prop_assert_eq!(Decimal::from_decimal128(decimal.to_decimal128().unwrap()), decimal);
        } else {
            let ours = decimal.to_string();
            prop_assert_eq!(ours.trim_start_matches('-'), theirs.trim_start_matches('-'));
        }
    }
}
