use super::*;

fn column(kind: ColumnKind) -> ColumnReport {
    ColumnReport {
        name: "zip_code".to_owned(),
        header: None,
        kind,
        sampled: 100,
        numbers: 92,
        booleans: 0,
        text: Some("00501".to_owned()),
        is_only_text: false,
        others: 0,
    }
}

#[test]
fn mixed_columns_are_noted_with_the_option_that_helps() {
    let text = column(ColumnKind::Text);
    assert_eq!(
        notes("a.csv", std::slice::from_ref(&text)),
        [
            "zip_code: text, since 8% of the first 100 values are no numbers, such as 00501; --types zip_code:auto takes \
          each value alone"
        ]
    );
    let only =
        ColumnReport { text: Some("NA".to_owned()), is_only_text: true, numbers: 99_900, sampled: 100_000, ..text };
    let note = notes("a.csv", std::slice::from_ref(&only)).remove(0);
    assert!(note.contains("less than 1%") && note.contains("all of them NA; --null NA takes it as null"), "{note}");
    assert!(notes("a.csv", &[ColumnReport { numbers: 10, ..only.clone() }]).is_empty(), "a column of texts");
    assert!(notes("a.csv", &[column(ColumnKind::Number), column(ColumnKind::Each)]).is_empty());
    let late = ColumnReport { others: 3, ..column(ColumnKind::Number) };
    let note = notes("a.csv", &[late]).remove(0);
    assert!(note.contains("3 values after the first 100") && note.contains("--types zip_code:string"), "{note}");
}

#[test]
fn made_up_names_are_noted() {
    let made = ColumnReport { header: Some(String::new()), ..column(ColumnKind::Number) };
    let other = ColumnReport { header: Some("a".to_owned()), name: "a_2".to_owned(), ..column(ColumnKind::Number) };
    assert_eq!(
        notes("a.csv", &[made, other]),
        ["names of a.csv are made up: zip_code for field 1, a_2 for the a of field 2; --names gives others"]
    );
}
