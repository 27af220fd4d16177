use super::*;

fn is_too_long(text: &str, columns: usize, rows: usize) -> bool {
    Rows::new(Size { columns, rows }).add(text.as_bytes())
}

#[test]
fn a_text_fits_the_screen_if_a_row_is_left_for_the_prompt() {
    assert!(!is_too_long("a\nb\n", 80, 3));
    assert!(is_too_long("a\nb\nc\n", 80, 3));
    assert!(is_too_long("a\nb\nc", 80, 3), "a line without an end takes a row, too");
    assert!(!is_too_long("", 80, 1));
}

#[test]
fn long_lines_take_several_rows() {
    assert!(!is_too_long("12345\n", 5, 2));
    assert!(is_too_long("123456\n", 5, 2));
    assert!(!is_too_long("äöüßé\n", 5, 2), "characters count, not bytes");
    assert!(!is_too_long("\x1b[34m12345\x1b[0m\n", 5, 2), "colours take no room");
}

#[test]
fn a_text_in_pieces_is_counted_as_a_whole() {
    let mut rows = Rows::new(Size { columns: 5, rows: 3 });
    assert!(!rows.add(b"123"));
    assert!(!rows.add(b"45\n\x1b[3"));
    assert!(!rows.add(b"4m12345"));
    assert!(rows.add(b"6"));
}
