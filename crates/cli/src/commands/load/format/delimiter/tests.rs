use super::*;

#[test]
fn the_delimiter_is_what_every_row_has_equally_often() {
    for (head, delimiter) in [
        ("a,b\n1,2\n", b','),
        ("a;b\n1;2\n", b';'),
        ("a;b\r\n1,5;2,5\r\n", b';'),
        ("a\tb\n1\t2\n", b'\t'),
        ("a|b|c\n1|2|3\n4|5|", b'|'),
        ("a;b", b';'),
        // Commas are the delimiter, no matter which other characters the fields contain.
        ("a,b;c\n1,2;3\n", b','),
        ("a,b\n1;x,2\n", b','),
        ("\"a;b\"\n\"1;2\"\n", b','),
        ("\"a,\n;\";b\n1;2\n", b';'),
        ("a\n1\n", b','),
        // Ambiguous.
        ("a;b|c\n1;2|3\n", b','),
        ("a;b\n1\n", b','),
        ("", b','),
    ] {
        assert_eq!(of(head.as_bytes()), delimiter, "{head:?}");
    }
}
