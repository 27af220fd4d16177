#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;

fn dec(text: &str) -> Decimal {
    text.parse().unwrap()
}

#[test]
fn text_comes_back() {
    for text in ["0", "1", "-1", "3.14", "1.00", "-0", "-0.00", "0E+3", "1E+3", "1.23E-10", "0.000001", "1E-7"] {
        assert_eq!(dec(text).to_string(), text);
    }
    assert_eq!(dec("+01.50e2").to_string(), "150");
    assert_eq!(dec(".5").to_string(), "0.5");
    assert_eq!(dec("5.").to_string(), "5");
    assert_eq!(dec("-INF").to_string(), "-Infinity");
    assert_eq!(dec("0.0000001").to_string(), "1E-7");
}
