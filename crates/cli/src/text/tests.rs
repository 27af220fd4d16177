use super::*;

#[test]
fn counts_are_grouped_by_three_digits() {
    assert_eq!(count(0), "0");
    assert_eq!(count(999), "999");
    assert_eq!(count(1000), "1,000");
    assert_eq!(count(12_345_678), "12,345,678");
    assert_eq!(counted(1, "document"), "1 document");
    assert_eq!(counted(2000, "document"), "2,000 documents");
}

#[test]
fn bytes_keep_three_figures_and_never_show_1000_of_a_unit() {
    assert_eq!(bytes(999), "999 B");
    assert_eq!(bytes(1000), "1.00 kB");
    assert_eq!(bytes(999_499), "999 kB");
    assert_eq!(bytes(999_500), "1.00 MB");
    assert_eq!(bytes(1_270_000_000), "1.27 GB");
    assert_eq!(bytes(12_340_000), "12.3 MB");
}

#[test]
fn durations_choose_their_unit() {
    assert_eq!(duration(Duration::from_micros(12)), "12.0 µs");
    assert_eq!(duration(Duration::from_millis(4)), "4.0 ms");
    assert_eq!(duration(Duration::from_millis(12_340)), "12.3 s");
    assert_eq!(duration(Duration::from_secs(250)), "250 s");
}

#[test]
fn a_ratio_to_nothing_is_absent() {
    assert_eq!(ratio(1.0, 4.0), Some(0.25));
    assert_eq!(ratio(1.0, 0.0), None);
}

#[test]
fn columns_align_by_characters_not_bytes() {
    let rows = [("µs".to_owned(), "1".to_owned()), ("name".to_owned(), "2".to_owned())];
    assert_eq!(columns(&rows), "µs    1\nname  2\n");
}

#[test]
fn control_characters_of_others_are_escaped() {
    let rows = [("a\x1b[31mred\tx".to_owned(), "two\nlines".to_owned())];
    assert_eq!(columns(&rows), "a\\u{1b}[31mred\\tx  two\\nlines\n");
}
