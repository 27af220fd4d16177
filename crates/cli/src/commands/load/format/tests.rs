use super::*;
use clap::Parser;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    format: FormatArgs,
}

fn resolve(arguments: &[&str], name: &str, head: &str) -> Outcome<Format> {
    let line = Line::try_parse_from([&["load"], arguments].concat()).expect("arguments");
    line.format.resolve(name, || Ok(head.as_bytes().to_vec()))
}

#[test]
fn names_tell_and_of_json_what_is_inside() {
    let of = |name: &str, head: &str| resolve(&[], name, head).expect("a format");
    assert_eq!(of("a", "[1]"), Format::JsonLines);
    assert_eq!(of("standard input", "[1]"), Format::JsonLines);
    assert_eq!(of("a.json.gz", " [1]"), Format::JsonArray);
    assert_eq!(of("a.json", "{\"a\":1}\n"), Format::JsonLines);
    assert_eq!(of("a.json", "{\n}"), Format::JsonObjects);
    assert_eq!(of("a.bson", ""), Format::Bson);
}

#[test]
fn arguments_decide() {
    assert_eq!(resolve(&["--format", "bson"], "a.csv", "").expect("a format"), Format::Bson);
    assert_eq!(resolve(&["--split-object"], "a.json", "[").expect("a format"), Format::JsonFields);
    let csv = resolve(&["--format", "tsv", "--fields", "a,b.c", "--types", "b.c:int,a:string"], "a", "");
    let types = vec![("b.c".into(), FieldType::Int), ("a".into(), FieldType::String)];
    let fields = Some(vec!["a".into(), "b.c".into()]);
    assert_eq!(csv.expect("a format"), Format::Csv(Csv { separator: b'\t', fields, types, ..Csv::default() }));
    let rows = resolve(&["--skip-lines", "2", "--null", "NA", "--no-quotes"], "a.csv", "").expect("a format");
    let expected = Csv { null: Some("NA".into()), skip_lines: 2, has_quotes: false, ..Csv::default() };
    assert_eq!(rows, Format::Csv(expected));
    assert_eq!(resolve(&["--array", "a.b"], "a.json", "{").expect("a format"), Format::JsonArrayAt("a.b".into()));
}

#[test]
fn arguments_that_do_not_go_together_are_refused() {
    for (arguments, name) in [
        (&["--split-object"][..], "a.csv"),
        (&["--split-object", "--format", "json-array"], "a.json"),
        (&["--fields", "a"], "a.json"),
        (&["--types", "a:int"], "a.bson"),
        (&["--null", "NA"], "a.json"),
        (&["--array", "a"], "a.csv"),
        (&["--array", ""], "a.json"),
    ] {
        assert!(matches!(resolve(arguments, name, "{"), Err(Failure::Usage(_))), "{arguments:?}");
    }
    assert!(Line::try_parse_from(["load", "--types", "a:number"]).is_err());
    assert!(Line::try_parse_from(["load", "--types", "a"]).is_err());
}
