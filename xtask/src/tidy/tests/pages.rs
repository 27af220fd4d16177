use super::*;

#[test]
fn links_lead_to_files() {
    let found = |text: &str| in_env(&[(A, ""), ("docs/PAGE.md", text), ("docs/sub/OTHER.md", "[up](../PAGE.md)\n")]);
    assert_eq!(found("[a](sub/OTHER.md#x) [b](https://x.y/z.md) [c](#here) [d](../crates/env/src/a.rs)\n"), [""; 0]);
    assert_one(&found("# A\n\nSee [it](OTHER.md).\n"), "docs/PAGE.md:3", "OTHER.md");
}

#[test]
fn each_decision_is_in_the_index() {
    let index = "# Decisions\n\n| [0001](0001-a.md) | It is so. |\n";
    let found = |name: &str| {
        in_env(&[(A, ""), ("docs/decisions/README.md", index), ("docs/decisions/0001-a.md", ""), (name, "# B\n")])
    };
    assert_eq!(found("docs/decisions.md"), [""; 0]);
    assert_one(&found("docs/decisions/0002-b.md"), "docs/decisions/0002-b.md:1", "not in docs/decisions/README.md");
}

#[test]
fn lines_of_prose_are_short() {
    let long = "word ".repeat(21);
    let found = |text: &str| in_env(&[(A, ""), ("docs/PAGE.md", text)]);
    assert_one(&found(&format!("# A\n\n{long}\n")), "docs/PAGE.md:3", "105 characters");
    assert_eq!(found(&format!("| {long} |\n\n```\n{long}\n```\n\n{}\n", "x".repeat(120))), [""; 0]);
}
