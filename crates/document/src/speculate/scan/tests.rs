use proptest::prelude::*;

use super::value_end;
use super::*;

fn naive_end(line: &[u8], start: usize) -> (usize, bool) {
    let end = line[start..].iter().position(|&byte| is_special(byte)).map_or(line.len(), |at| start + at);
    (end, line[start..end].iter().any(|&byte| byte >= 0x80))
}

proptest! {
    #[test]
    fn plain_text_ends_where_the_first_special_byte_is(
        mut line in proptest::collection::vec(prop_oneof![20 => 0x20u8..0x7f, 1 => any::<u8>()], 0..150),
        specials in proptest::collection::vec((any::<prop::sample::Index>(), prop_oneof![Just(b'"'), Just(b'\\'), any::<u8>()]), 0..3),
        start in any::<prop::sample::Index>(),
    ) {
        if !line.is_empty() {
            for (at, byte) in specials {
                let at = at.index(line.len());
                line[at] = byte;
            }
        }
        let start = start.index(line.len() + 1);
        prop_assert_eq!(plain_end(&line, start), naive_end(&line, start));
    }

    #[test]
    fn digits_have_their_value(number in any::<u64>(), shift in 0u32..64, after in "[ -/:-~]{0,20}", pad in 0usize..3) {
        let number = (number >> shift) % 1_000_000_000_000_000_000;
        let line = format!("{}{number}{after}", "x".repeat(pad));
        prop_assert_eq!(digits(line.as_bytes(), pad), (number, pad + number.to_string().len()));
    }

    #[test]
    fn a_common_prefix_ends_at_the_first_difference(
        a in proptest::collection::vec(0u8..2, 0..40),
        b in proptest::collection::vec(0u8..2, 0..40),
        same in 0usize..40,
    ) {
        let b: Vec<u8> = a.iter().take(same).copied().chain(b).collect();
        prop_assert_eq!(common_prefix(&a, &b), a.iter().zip(&b).take_while(|(a, b)| a == b).count());
    }

    #[test]
    fn bytes_beside_the_digits_do_not_count(digit in any::<u8>(), others in any::<[u8; 9]>()) {
        let line: Vec<u8> = [digit].into_iter().chain(others).collect();
        let count = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
        prop_assert_eq!(digits(&line, 0).1, count);
    }
}

#[test]
fn at_most_eighteen_digits_are_read() {
    let line = [b'9'; 30];
    assert_eq!(digits(&line, 0), (999_999_999_999_999_999, 18));
    assert_eq!(digits(&line[..17], 0), (99_999_999_999_999_999, 17));
    assert_eq!(digits(&line, 30), (0, 30));
}

#[test]
fn escapes_are_those_of_json() {
    for (text, expected) in [
        ("\\\"", Some("\"")),
        ("\\\\", Some("\\")),
        ("\\/", Some("/")),
        ("\\n", Some("\n")),
        ("\\t", Some("\t")),
        ("\\r", Some("\r")),
        ("\\b", Some("\u{8}")),
        ("\\f", Some("\u{c}")),
        ("\\u0000", Some("\0")),
        ("\\u00e4", Some("ä")),
        ("\\uFFFF", Some("\u{ffff}")),
        ("\\ud83d\\ude00", Some("😀")),
        ("\\uD83D\\uDE00", Some("😀")),
        ("\\ud83d", None),
        ("\\ud83d\\u0041", None),
        ("\\ude00", None),
        ("\\ud83dxxxxxx", None),
        ("\\u12", None),
        ("\\u12g4", None),
        ("\\u+123", None),
        ("\\x41", None),
        ("\\U0041", None),
        ("\\", None),
    ] {
        let mut out = Vec::new();
        let end = unescape(text.as_bytes(), 0, &mut out);
        match expected {
            Some(expected) => assert_eq!((end, &out[..]), (Some(text.len()), expected.as_bytes()), "{text}"),
            None => assert_eq!(end, None, "{text}"),
        }
    }
}

#[test]
fn a_backslash_that_ends_the_line_ends_no_string() {
    for line in [r#"{"a":"b\"#, r#"["\"#, r#""\"#] {
        assert_eq!(value_end(line.as_bytes(), 0), None, "{line}");
    }
}
