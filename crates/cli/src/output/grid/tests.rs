use super::*;
use alluvium_document::json;

fn map(text: &str) -> Map {
    match json::parse(text.as_bytes()).expect("JSON") {
        alluvium::Value::Map(map) => map,
        other => panic!("no map: {other}"),
    }
}

/// The text that a grid writes for the rows.
fn written(mut grid: Grid, rows: &[&str]) -> String {
    let mut out = Vec::new();
    for row in rows {
        grid.row(&map(row), &mut out).expect("a row");
    }
    grid.end(&mut out);
    String::from_utf8(out).expect("UTF-8")
}

fn grid(style: Style, width: Option<usize>) -> Grid {
    Grid::new(style, None, width, false)
}

const PETS: [&str; 3] = [
    r#"{"_id": "rex", "age": 3, "at": {"x": 1.5, "y": null}}"#,
    r#"{"_id": "Kätzchen", "age": 11, "toys": ["ball"]}"#,
    r#"{"_id": "日本", "at": {"y": -2}}"#,
];

#[test]
fn a_table_has_the_columns_of_its_rows_and_numbers_to_the_right() {
    let expected = "\
_id       age  at.x  at.y  toys
--------  ---  ----  ----  --------
rex         3   1.5  null
Kätzchen   11              [\"ball\"]
日本                   -2
";
    assert_eq!(written(grid(Style::Table, None), &PETS), expected);
}

#[test]
fn a_table_fits_its_width() {
    let long = format!(r#"{{"_id": 1, "body": "{}", "score": 1234}}"#, "word ".repeat(40));
    let out = written(grid(Style::Table, Some(30)), &[&long, r#"{"_id": 2, "body": "short", "score": 5}"#]);
    let expected = "\
_id  body                score
---  ------------------  -----
  1  word word word wo…   1234
  2  short                   5
";
    assert_eq!(out, expected);
    let many = r#"{"first": "aaaaaaaaaaaa", "second": "bbbbbbbbbbbb", "third": "c", "fourth": 4}"#;
    let out = written(grid(Style::Table, Some(20)), &[many]);
    let expected = "\
first      second
---------  ---------
aaaaaaaa…  bbbbbbbb…
… and 2 more column…
";
    assert_eq!(out, expected);
}

#[test]
fn markdown_is_escaped_and_aligned() {
    let out =
        written(grid(Style::Markdown, Some(10)), &[r#"{"a|b": "x|y\nz", "n": 5}"#, r#"{"a|b": null, "n": 1000}"#]);
    assert_eq!(out, "| a\\|b    |    n |\n| ------- | ---: |\n| x\\|y\\nz |    5 |\n| null    | 1000 |\n");
}

#[test]
fn csv_has_the_texts_as_they_are() {
    let rows = [r#"{"a": "x,y\n\"z\"", "n": null}"#, r#"{"b": {"c": "\u001b[1m"}, "a": "|"}"#];
    assert_eq!(written(grid(Style::Separated(b','), None), &rows), "a,n,b.c\n\"x,y\n\"\"z\"\"\",,\n|,,\u{1b}[1m\n");
    assert_eq!(written(grid(Style::Separated(b'\t'), None), &rows[1..]), "b.c\ta\n\u{1b}[1m\t|\n");
    // A row with a single empty value must not look like an empty line.
    assert_eq!(written(grid(Style::Separated(b','), None), &[r#"{"a": null}"#]), "a\n\"\"\n");
}

#[test]
fn control_characters_never_reach_a_table() {
    let row = r#"{"a\u001b[1m": "\u001b[31mred\r\n", "b": "\u202eabc\u009b"}"#;
    for style in [Style::Table, Style::Markdown] {
        let out = written(grid(style, None), &[row]);
        assert!(out.contains("a\\u{1b}[1m") && out.contains("\\u{1b}[31mred\\r\\n"), "{out}");
        assert!(out.contains("\\u{202e}abc\\u{9b}"), "{out}");
        assert!(!out.contains(|c: char| (c.is_control() && c != '\n') || is_of_direction(c)), "{out:?}");
    }
}

#[test]
fn given_columns_are_whole_and_there_without_rows() {
    let given = || Some(vec!["b".into(), "a.x".into()]);
    let csv = || Grid::new(Style::Separated(b','), given(), None, false);
    assert_eq!(written(csv(), &[]), "b,a.x\n");
    assert_eq!(written(csv(), &[r#"{"a.x": 1, "b": {"c": 2}, "d": 3}"#]), "b,a.x\n\"{\"\"c\"\":2}\",1\n");
    assert_eq!(written(Grid::new(Style::Table, given(), None, false), &[]), "b  a.x\n-  ---\n");
    for style in [Style::Table, Style::Markdown, Style::Separated(b',')] {
        assert_eq!(written(grid(style, None), &[]), "");
    }
}

#[test]
fn given_columns_may_be_at_the_right() {
    let grid = Grid::new(Style::Table, Some(vec!["name".into(), Heading::right("size")]), None, false);
    let out = written(grid, &[r#"{"name": "a", "size": "8.84 MB"}"#, r#"{"name": "b", "size": "12 B"}"#]);
    assert_eq!(out, "name     size\n----  -------\na     8.84 MB\nb        12 B\n");
}

#[test]
fn given_columns_of_csv_are_written_at_once() {
    let mut grid = Grid::new(Style::Separated(b','), Some(vec!["a".into()]), None, false);
    let mut out = Vec::new();
    grid.row(&map(r#"{"a": 1}"#), &mut out).expect("a row");
    assert_eq!(out, b"a\n1\n");
}

#[test]
fn fields_with_one_path_have_a_column_each() {
    let out = written(grid(Style::Separated(b','), None), &[r#"{"a.b": 1, "a": {"b": 2}}"#, r#"{"a": {"b": 3}}"#]);
    assert_eq!(out, "a.b,a.b\n1,2\n3,\n");
}

#[test]
fn later_fields_are_refused_in_csv_and_noted_in_tables() {
    let first = r#"{"a": 1}"#;
    for style in [Style::Separated(b','), Style::Table, Style::Markdown] {
        let mut grid = grid(style, None);
        let mut out = Vec::new();
        for _ in 0..LOOK_AHEAD_ROWS {
            assert_eq!(out.len(), 0, "nothing is written before the columns are known");
            grid.row(&map(first), &mut out).expect("a row");
        }
        assert!(!out.is_empty());
        assert_eq!(grid.note(), None);
        let late = grid.row(&map(r#"{"a": 2, "b": {"c": 1}}"#), &mut out);
        match (style, late) {
            (Style::Separated(_), Err(Refused::Late { field, rows })) => {
                assert_eq!((field.as_str(), rows), ("b.c", LOOK_AHEAD_ROWS));
            }
            (Style::Separated(_), other) => panic!("{other:?}"),
            (_, other) => {
                other.expect("a row");
                assert!(grid.note().expect("a note").ends_with(": b.c"));
            }
        }
        grid.row(&map(r#"{"a": 3}"#), &mut out).expect("a row");
        grid.end(&mut out);
        let out = String::from_utf8(out).expect("UTF-8");
        assert!(out.contains("3") && !out.contains("b.c"), "{out}");
    }
}

#[test]
fn few_large_rows_are_enough_to_find_columns() {
    let mut grid = grid(Style::Table, Some(80));
    let mut out = Vec::new();
    let large = format!(r#"{{"a": "{}"}}"#, "x".repeat(LOOK_AHEAD_BYTES / 4));
    for _ in 0..4 {
        grid.row(&map(&large), &mut out).expect("a row");
    }
    assert!(!out.is_empty() && out.len() < 1000, "{}", out.len());
}

#[test]
fn colours_are_for_names_and_null() {
    let mut grid = Grid::new(Style::Table, None, None, true);
    let mut out = Vec::new();
    grid.row(&map(r#"{"a": null}"#), &mut out).expect("a row");
    grid.end(&mut out);
    let out = String::from_utf8(out).expect("UTF-8");
    assert_eq!(out, format!("{BOLD}a{PLAIN}\n{DIM}----{PLAIN}\n{DIM}null{PLAIN}\n"));
}

#[test]
fn a_grid_begins_again_after_its_end() {
    let mut grid = grid(Style::Table, None);
    let mut out = Vec::new();
    grid.row(&map(r#"{"a": 1}"#), &mut out).expect("a row");
    grid.end(&mut out);
    grid.row(&map(r#"{"b": 1}"#), &mut out).expect("a row");
    grid.end(&mut out);
    assert_eq!(String::from_utf8(out).expect("UTF-8"), "a\n-\n1\nb\n-\n1\n");
}

#[test]
fn a_table_of_figures_fits_all_its_rows() {
    let given = Some(vec![Heading::from("a"), Heading::from("b")]);
    let grid = Grid::new(Style::Table, given, None, false).of_figures();
    let short = r#"{"a": "x", "b": 1}"#;
    let mut rows = vec![short; LOOK_AHEAD_ROWS];
    rows.push(r#"{"a": "longer", "b": 2}"#);
    let out = written(grid, &rows);
    assert!(out.starts_with("a       b\n------  -\nx       1\n") && out.ends_with("\nlonger  2\n"), "{out}");
}
