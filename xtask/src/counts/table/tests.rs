use super::*;

fn table(counts: &[(&str, u64)]) -> Table {
    let counts =
        counts.iter().map(|(path, instructions)| Count { path: (*path).to_owned(), instructions: *instructions });
    Table { made_with: vec!["rustc 1.95.0 (x)".to_owned(), "glibc 2.36".to_owned()], counts: counts.collect() }
}

#[test]
fn a_table_is_read_as_it_was_written() {
    let written = table(&[("load", 21_000), ("find-by-index", 7)]);
    assert_eq!(Table::parse(&written.to_string()), Ok(written));
    for wrong in ["load", "load many", "load 1 2"] {
        assert!(Table::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_path_may_differ_by_the_tolerance_and_not_more() {
    let before = table(&[("get", 1000), ("scan", 1000), ("load", 1000), ("put", 1000), ("old", 5)]);
    let now = table(&[("get", 1031), ("scan", 1029), ("load", 969), ("put", 971), ("new", 5)]);
    let found = differences(&before, &now);
    let beyond: Vec<bool> = found.iter().map(Difference::is_beyond_tolerance).collect();
    assert_eq!(beyond, [true, false, true, false, true, true], "{found:?}");
    assert_eq!(found[0].to_string(), "get              before      1000 now      1031 +3.10% DIFFERS");
    assert_eq!(found[5].to_string(), "old              before         5 now      none DIFFERS");
}

#[test]
fn the_total_is_that_of_all_functions() {
    let text = "version: 1\nevents: Ir\nsummary: 12\n\nfn=(1) main\n1 2\n\ntotals: 3456\n";
    assert_eq!(total(text), Some(3456));
    assert_eq!(total("events: Ir\n"), None);
}
