use super::*;
use proptest::prelude::*;

const CSV: Dialect = Dialect { separator: b',', has_quotes: true };

/// The rows, with `*` before quoted fields, and the number of the malformed field of each.
fn rows(text: &str, dialect: Dialect) -> Vec<(Vec<String>, Option<usize>)> {
    let (mut rows, mut fields, mut found) = (Rows::new(text.as_bytes(), dialect), Vec::new(), Vec::new());
    while let Some(place) = rows.next(&mut fields) {
        let shown = fields.iter().map(|field| {
            let mark = if field.is_quoted { "*" } else { "" };
            format!("{mark}{}", String::from_utf8_lossy(&field.text))
        });
        found.push((shown.collect(), place.malformed));
    }
    found
}

fn row(text: &str) -> (Vec<String>, Option<usize>) {
    let mut rows = rows(text, CSV);
    assert_eq!(rows.len(), 1, "{text:?}: {rows:?}");
    rows.remove(0)
}

#[test]
fn quoted_and_empty_fields_are_told_apart() {
    assert_eq!(row("a,,\"\",\"b\"\"c\",\"d\ne\"\r\n").0, ["a", "", "*", "*b\"c", "*d\ne"]);
    assert_eq!(row(",").0, ["", ""]);
    assert_eq!(row("\"\"").0, ["*"]);
    assert_eq!(row("a\"b\",c\"").0, ["a\"b\"", "c\""]);
    assert_eq!(rows("a\n\n\r\nb,\n", CSV), [(vec!["a".into()], None), (vec!["b".into(), "".into()], None)]);
}

#[test]
fn text_after_a_closing_quote_is_malformed_and_kept_whole() {
    assert_eq!(row("1,\"a\"b,c"), (vec!["1".into(), "\"a\"b".into(), "c".into()], Some(2)));
    assert_eq!(row("\"x, \"y\" z\",2"), (vec!["\"x, \"y\" z\"".into(), "2".into()], Some(1)));
    let plain = Dialect { has_quotes: false, ..CSV };
    assert_eq!(rows("\"a\"b,\"c", plain), [(vec!["\"a\"b".into(), "\"c".into()], None)]);
}

proptest! {
    #[test]
    fn well_formed_rows_are_those_of_the_library(text in "([ab\",;\r\n]|\"\"|,\"|\",|\"\n){0,30}") {
        let mut reader = ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
        let theirs: Vec<Vec<Vec<u8>>> =
            reader.byte_records().map(|row| row.unwrap().iter().map(<[u8]>::to_vec).collect()).collect();
        let (mut rows, mut fields) = (Rows::new(text.as_bytes(), CSV), Vec::new());
        let mut at = 0;
        while let Some(place) = rows.next(&mut fields) {
            prop_assert!(at < theirs.len(), "{:?}", text);
            if place.malformed.is_none() {
                let ours: Vec<Vec<u8>> = fields.iter().map(|field| field.text.to_vec()).collect();
                prop_assert_eq!(&ours, &theirs[at], "{:?}", text);
            } else {
                prop_assert_eq!(fields.len(), theirs[at].len(), "{:?}", text);
            }
            at += 1;
        }
        prop_assert_eq!(at, theirs.len(), "{:?}", text);
    }
}
