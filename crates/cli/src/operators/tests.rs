use super::*;
use std::collections::BTreeSet;

/// The keywords in a section of the compatibility page that are supported, at least in part.
fn supported(title: &str) -> BTreeSet<&'static str> {
    let page = include_str!("../../../../docs/COMPATIBILITY.md");
    let section = page.split("\n## ").find(|section| section.starts_with(title)).expect("a section");
    let keyword = |line: &'static str| {
        let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        (rest.starts_with("yes") || rest.starts_with("partly")).then_some(name)
    };
    section.lines().filter_map(keyword).collect()
}

#[test]
fn names_are_those_that_the_page_of_compatibility_lists() {
    let set = |names: &[&'static str]| -> BTreeSet<&'static str> { names.iter().copied().collect() };
    assert_eq!(set(FILTER), supported("Operators of filters"));
    assert_eq!(set(UPDATE), supported("Operators of updates"));
    assert_eq!(stages().collect::<BTreeSet<&str>>(), supported("Stages of pipelines"));
    let sections = ["Expressions", "Accumulators of groups", "Functions of windows"];
    let all: BTreeSet<&str> = sections.iter().flat_map(|title| supported(title)).collect();
    assert_eq!(expressions().collect::<BTreeSet<&str>>(), all);
    assert!(all.len() > 150, "{}", all.len());
}
