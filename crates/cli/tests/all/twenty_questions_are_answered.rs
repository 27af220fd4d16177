//! Runs each console block of docs/QUESTIONS.md over published JSON data, and compares the output.
//!
//! `tests/data/fetch` (called by `make test`) downloads the packages that are listed in `tests/data/packages`.

use crate::packages;
use crate::page;
#[test]
fn twenty_questions_are_answered() {
    let data = packages::folder("world-countries-5.1.0");
    let data = data.parent().expect("the folder of all packages");
    let commands = page::check("QUESTIONS.md", &[("DATA", data)]);
    assert!(commands > 20, "{commands}");
}
