use super::*;

/// The findings in a crate `env` with these files below `src`.
fn of(files: &[(&str, &str)]) -> Vec<String> {
    with_exceptions("", files)
}

fn with_exceptions(exceptions: &str, files: &[(&str, &str)]) -> Vec<String> {
    let paths: Vec<String> = files.iter().map(|(path, _)| format!("crates/env/src/{path}")).collect();
    let mut all: Vec<(&str, &str)> = paths.iter().zip(files).map(|(path, (_, text))| (path.as_str(), *text)).collect();
    all.push(("crates/env/Cargo.toml", MANIFEST));
    if !exceptions.is_empty() {
        all.push(("xtask/exceptions/env.txt", exceptions));
    }
    findings(&all)
}

const ABC: (&str, &str) = ("lib.rs", "//! All.\nmod a;\nmod b;\nmod c;\n");
const NONE: [&str; 0] = [];

#[test]
fn a_circle_is_found_with_the_names_that_tie_it() {
    let found = of(&[
        ABC,
        ("a.rs", "use crate::b::{Thing, other};\n"),
        ("b.rs", "fn f() { super::c::g(); }\n"),
        ("c.rs", "\nfn g(x: crate::a::Kind) {}\n"),
    ]);
    assert_one(&found, "crates/env/src/a.rs:1", "3 modules form a circle (a, b, c)");
    for arrow in [
        "a -> b: Thing, other (crates/env/src/a.rs:1)",
        "b -> c: g (crates/env/src/b.rs:1)",
        "c -> a: Kind (crates/env/src/c.rs:2)",
    ] {
        assert!(found[0].contains(arrow), "{}", found[0]);
    }
}

#[test]
fn arrows_in_one_direction_are_no_circle() {
    let files = [ABC, ("a.rs", "use crate::b::B;\nuse crate::c;\n"), ("b.rs", "use super::c::C;\n"), ("c.rs", "")];
    assert_eq!(of(&files), NONE);
}

#[test]
fn a_module_and_its_ancestors_may_need_each_other() {
    let files = [
        ("lib.rs", "//! All.\nmod a;\nfn f() { a::g(); }\nconst X: u8 = 0;\n"),
        ("a.rs", "mod deep;\nuse deep::Deep;\nuse crate::X;\nstruct A;\n"),
        ("a/deep.rs", "use super::A;\nuse crate::a::A as B;\nuse crate::X;\n"),
    ];
    assert_eq!(of(&files), NONE);
}

#[test]
fn arrows_between_subtrees_count_for_the_siblings_above() {
    let lib = ("lib.rs", "//! All.\nmod a;\nmod b;\n");
    let found = of(&[
        lib,
        ("a.rs", "mod x;\nmod y;\n"),
        ("a/x.rs", "use crate::b::B;\n"),
        ("a/y.rs", "struct Y;\n"),
        ("b.rs", "use crate::a::y::Y;\n"),
    ]);
    assert_one(&found, "crates/env/src/a.rs:1", "2 modules form a circle (a, b)");
    let found = of(&[
        lib,
        ("a.rs", "mod x;\nmod y;\n"),
        ("a/x.rs", "use super::y::Y;\n"),
        ("a/y.rs", "use super::x::X;\n"),
        ("b.rs", ""),
    ]);
    assert_one(&found, "crates/env/src/a/x.rs:1", "2 modules form a circle (a::x, a::y)");
}

#[test]
fn imports_and_globs_of_the_parent_hide_no_circle() {
    for x in ["use super::Y;\n", "use super::*;\nfn f(y: Y) {}\n", "use crate::a;\nfn f(y: a::Y) {}\n"] {
        let found = of(&[
            ("lib.rs", "//! All.\nmod a;\n"),
            ("a.rs", "mod x;\nmod y;\nuse y::Y;\n"),
            ("a/x.rs", x),
            ("a/y.rs", "use super::x::X;\npub struct Y;\n"),
        ]);
        assert_one(&found, "crates/env/src/a/x.rs:1", "a::x -> a::y: Y");
    }
}

#[test]
fn tests_and_comments_tie_nothing() {
    let a = "use crate::b::B;\n#[cfg(test)]\nmod tests;\n";
    for b in [
        "// use crate::a::A;\n",
        "#[cfg(test)]\nuse crate::a::{A, C};\n",
        "#[cfg(all(test, feature = \"x\"))]\nmod orders;\n",
        "struct B {\n    #[cfg(test)]\n    a: crate::a::A,\n    b: u8,\n}\n",
        "#[cfg(test)]\nimpl B {\n    fn f() { crate::a::g(); }\n}\n",
    ] {
        let orders = if b.contains("orders") { "use crate::a::A;\n" } else { "" };
        let mut files = vec![("lib.rs", "//! All.\nmod a;\nmod b;\n"), ("a.rs", a), ("b.rs", b)];
        files.push(("a/tests.rs", "use crate::b::B;\n"));
        files.extend((!orders.is_empty()).then_some(("b/orders.rs", orders)));
        assert_eq!(of(&files), NONE, "{b}");
    }
    let found = of(&[ABC, ("a.rs", a), ("a/tests.rs", ""), ("b.rs", "use crate::a::A;\n"), ("c.rs", "")]);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn inline_modules_are_part_of_their_file() {
    let files = [
        ABC,
        ("a.rs", "mod inner {\n    use super::own;\n    use crate::b::B;\n}\nfn own() {}\nfn f() { inner::g(); }\n"),
        ("b.rs", "use crate::c::C;\n"),
        ("c.rs", "use crate::a::inner::C;\n"),
    ];
    assert_one(&of(&files), "crates/env/src/a.rs:1", "3 modules form a circle (a, b, c)");
}

#[test]
fn imports_through_the_root_are_found() {
    let lib = ("lib.rs", "//! All.\nmod a;\nmod b;\npub use b::{B, Other as Named};\nconst OWN: u8 = 0;\n");
    for (a, name) in
        [("use crate::B;\n", "B"), ("fn f(x: crate::Named) {}\n", "Named"), ("use super::{OWN, B};\n", "B")]
    {
        let found = of(&[lib, ("a.rs", a), ("b.rs", "")]);
        assert_one(&found, "crates/env/src/a.rs:1", &format!("`{name}` is imported through the crate's root"));
    }
    let a = "use crate::OWN;\nuse crate::b::B;\nfn f() { crate::own!(); }\nmacro_rules! m { () => { $crate::B } }\n";
    assert_eq!(of(&[lib, ("a.rs", a), ("b.rs", "")]), NONE);
}

#[test]
fn the_list_of_exceptions_only_shrinks() {
    let circle = [ABC, ("a.rs", "use crate::b::B;\n"), ("b.rs", "use crate::a::A;\n"), ("c.rs", "")];
    assert_eq!(with_exceptions("circles\n", &circle), NONE);
    let clean = [ABC, ("a.rs", ""), ("b.rs", ""), ("c.rs", "")];
    let found = with_exceptions("circles\n", &clean);
    assert_eq!(found.len(), usize::from(exceptions::REPORT_CLEAN), "{found:?}");
    assert_one(&with_exceptions("\ncircle\n", &clean), "xtask/exceptions/env.txt:2", "not a rule");
    let found = findings(&[("xtask/exceptions/gone.txt", "circles\n")]);
    assert_one(&found, "xtask/exceptions/gone.txt:1", "there is no crate gone");
}

#[test]
fn parameters_that_are_tuples_are_found() {
    for (text, name) in [
        ("fn f(x: (u8, u16, u32)) {}\n", "f"),
        ("fn f<T: Fn() -> u8>(&self, x: &'a mut (u8, Vec<(u8, u8)>, u32)) -> u8 { 0 }\n", "f"),
        ("fn pair((a, b): (u8, u8)) {}\n", "pair"),
        ("fn pair(x: u8, &(a, b): &(u8, u8)) {}\n", "pair"),
    ] {
        let found = of(&[("lib.rs", &format!("//! All.\n{text}"))]);
        assert_one(&found, "crates/env/src/lib.rs:2", &format!("of `{name}`"));
    }
    for text in [
        "fn f(x: (u8, u16), y: Option<(u8, u8, u8)>) {}\n",
        "fn f(x: impl Fn(u8, u8, u8) -> (u8, u8, u8)) {}\n",
        "fn f() { let g = |(a, b): (u8, u8)| a; }\n",
        "fn f([a, b]: [u8; 2], x: ()) -> (u8, u8, u8) { g() }\n",
        "#[cfg(test)]\nmod tests;\n",
    ] {
        let tests = ("tests.rs", "fn f((a, b): (u8, u8)) {}\n");
        let mut files = vec![("lib.rs", format!("//! All.\n{text}"))];
        files.extend(text.contains("tests").then(|| (tests.0, tests.1.to_owned())));
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        assert_eq!(of(&files), NONE, "{text}");
    }
}

#[test]
fn shrinking_leaves_what_is_still_needed() {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("crates/env/Cargo.toml", MANIFEST),
        ("crates/env/src/lib.rs", "//! All.\nfn f(x: (u8, u8, u8)) {}\n// Told.\n"),
        ("xtask/exceptions/env.txt", "circles\ntuple parameters\nphrases 7\n"),
        ("xtask/exceptions/docs.txt", "phrases 2\n"),
        ("docs/PAGE.md", "# Page\n"),
        ("crates/exec/Cargo.toml", MANIFEST),
        ("crates/exec/src/lib.rs", "//! All.\n// Told.\n"),
        ("xtask/exceptions/alluvium.txt", "phrases 5\n"),
        ("crates/alluvium/Cargo.toml", MANIFEST),
        ("crates/alluvium/src/lib.rs", "//! All.\n"),
    ] {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let denied = if path.ends_with("lib.rs") { panics::DENIED } else { "" };
        fs::write(path, format!("{text}{denied}")).unwrap();
    }
    shrink(root.path()).unwrap();
    let list = fs::read_to_string(root.path().join("xtask/exceptions/env.txt")).unwrap();
    assert_eq!(list, "tuple parameters\nphrases 1\n");
    assert!(!root.path().join("xtask/exceptions/docs.txt").exists());
    assert!(!root.path().join("xtask/exceptions/alluvium.txt").exists());
    let list = fs::read_to_string(root.path().join("xtask/exceptions/exec.txt")).unwrap();
    assert_eq!(list, "phrases 1\n");
    assert_eq!(check(root.path()).unwrap(), []);
}
