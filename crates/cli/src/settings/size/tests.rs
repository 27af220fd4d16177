use super::*;

#[test]
fn units_are_powers_of_1024_in_either_case() {
    assert_eq!(parse("65536"), Ok(65536));
    assert_eq!(parse("64K"), Ok(65536));
    assert_eq!(parse("64m"), Ok(64 << 20));
    assert_eq!(parse("1G"), Ok(1 << 30));
    assert_eq!(parse("2 GiB"), Ok(2 << 30));
    assert_eq!(parse("3MB"), Ok(3 << 20));
}

#[test]
fn what_is_no_size_is_refused() {
    for text in ["", "M", "-1", "1.5G", "64X", "K64", "99999999999G", "18446744073709551616"] {
        assert!(parse(text).is_err(), "{text:?} was taken for a size");
    }
}
