use super::{CRATES, all};
use std::path::Path;

#[test]
#[allow(clippy::disallowed_methods)] // The test reads the sources.
fn every_crate_with_marks_is_listed() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the directory of all crates");
    let mut declaring: Vec<String> = std::fs::read_dir(crates)
        .expect("the directory of all crates")
        .map(|entry| entry.expect("a crate"))
        .filter(|entry| entry.path().join("src/marks.rs").exists())
        .map(|entry| entry.file_name().into_string().expect("a name in UTF-8"))
        .collect();
    declaring.sort_unstable();
    assert_eq!(declaring, CRATES.map(|(name, _)| name));
}

#[test]
fn no_two_marks_have_the_same_description() {
    let mut descriptions: Vec<&str> = all().map(|mark| mark.description()).collect();
    descriptions.sort_unstable();
    descriptions.dedup();
    assert_eq!(descriptions.len(), all().count());
}
