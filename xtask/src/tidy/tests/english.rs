use super::*;

#[test]
fn the_count_of_phrases_does_not_rise() {
    let text = "// Nobody\n// is told.\nfn f(tells: u8) {}\n// The foretold, a stand, standing, nobodys.\n";
    let found = in_env(&[(A, text)]);
    assert_eq!(found.len(), 5, "{found:#?}");
    assert!(found[0].starts_with("crates/env/src/a.rs:1: `nobody` is not plain English here: // Nobody"), "{found:?}");
    assert!(found[4].starts_with("xtask/exceptions/env.txt:1: 4 lines with such phrases in env, 0 are"), "{found:?}");
    for (limit, findings) in [(4, 0), (5, 0), (3, 5)] {
        let list = format!("phrases {limit}\n");
        assert_eq!(in_env(&[(A, text), ("xtask/exceptions/env.txt", &list)]).len(), findings, "{limit}");
    }
}

#[test]
fn crates_that_exchange_files_have_one_limit() {
    let [alluvium, exec] = ["alluvium", "exec"].map(|name| format!("crates/{name}/Cargo.toml"));
    let exec_lib = "//! All.\n// It stands, so many times.\n// Anew.\n";
    let found = |limit: &str| {
        findings(&[
            (&alluvium, MANIFEST),
            ("crates/alluvium/src/lib.rs", "//! All.\n"),
            (&exec, MANIFEST),
            ("crates/exec/src/lib.rs", exec_lib),
            ("xtask/exceptions/alluvium.txt", limit),
        ])
    };
    assert_eq!(found("phrases 2\n"), [] as [&str; 0]);
    assert_eq!(found("phrases 1\n").len(), 3);
}

#[test]
fn documentation_names_things_and_asks_nothing() {
    let text =
        "//! What it needs.\n/// What to do with it.\n/// Names, also those of views.\n// What it was.\nfn f() {}\n";
    let found = in_env(&[(A, text)]);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].starts_with("crates/env/src/a.rs:1: name the thing"), "{found:?}");
    assert!(found[1].starts_with("crates/env/src/a.rs:3: `also those` is read twice"), "{found:?}");
}
