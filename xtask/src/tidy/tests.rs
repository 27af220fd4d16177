use super::*;
use std::fs;

const MANIFEST: &str = "[package]\nname = \"x\"\n\n[lints]\nworkspace = true\n\n[dependencies]\n";

/// The findings in a repository with these files, as text. The line that denies panics is added to roots of crates.
fn findings(files: &[(&str, &str)]) -> Vec<String> {
    let denied = |path: &str| if path.ends_with("src/lib.rs") { panics::DENIED } else { "" };
    let files: Vec<_> = files.iter().map(|(path, text)| (*path, format!("{text}{}", denied(path)))).collect();
    let files: Vec<_> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    findings_as_given(&files)
}

fn findings_as_given(files: &[(&str, &str)]) -> Vec<String> {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    check(root.path()).unwrap().iter().map(Finding::to_string).collect()
}

/// The findings in a crate `env` with these files.
fn in_env(files: &[(&str, &str)]) -> Vec<String> {
    let mut all = vec![("crates/env/Cargo.toml", MANIFEST), ("crates/env/src/lib.rs", "//! All.\nmod a;\n")];
    all.retain(|(path, _)| !files.iter().any(|(other, _)| other == path));
    all.extend_from_slice(files);
    findings(&all)
}

#[track_caller]
fn assert_one(found: &[String], place: &str, part: &str) {
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].starts_with(&format!("{place}: ")) && found[0].contains(part), "{found:#?}");
}

const A: &str = "crates/env/src/a.rs";

#[test]
fn a_tidy_crate_has_no_findings() {
    let function = format!("fn f() {{\n{}}}\n", "    g();\n".repeat(68));
    let lines = format!("{function}{}", "// A line.\n".repeat(530));
    assert_eq!(lines.lines().count(), 600);
    assert_eq!(in_env(&[(A, &lines)]), [] as [&str; 0]);
}

#[test]
fn inner_crates_are_not_named_to_users() {
    let of = |line: &str| {
        let text = format!("//! All.\n{line}\n");
        findings(&[("crates/alluvium/Cargo.toml", MANIFEST), ("crates/alluvium/src/lib.rs", text.as_str())])
    };
    for line in ["/// let env = alluvium_env::Env::os();", "pub fn f() -> alluvium_store::Stats {"] {
        assert_one(&of(line), "crates/alluvium/src/lib.rs:2", "name the path in `alluvium`");
    }
    for line in ["/// let env = alluvium::env::Env::os();", "use alluvium_store::Stats;"] {
        assert_eq!(of(line), [] as [&str; 0]);
    }
}

#[test]
fn a_crate_that_allows_panics_is_found() {
    let crate_of = |name: &str, root: &str, line: &str| {
        let [manifest, root] = ["Cargo.toml", root].map(|file| format!("crates/{name}/{file}"));
        findings_as_given(&[(manifest.as_str(), MANIFEST), (root.as_str(), &format!("//! All.\n\n{line}\n"))])
    };
    for root in ["src/lib.rs", "src/main.rs"] {
        assert_one(&crate_of("env", root, ""), &format!("crates/env/{root}:1"), "clippy::unwrap_used");
        assert_eq!(crate_of("env", root, panics::DENIED), [] as [&str; 0]);
    }
    assert_eq!(crate_of("testkit", "src/lib.rs", ""), [] as [&str; 0]);
}

#[test]
fn a_long_file_is_found() {
    let found = in_env(&[(A, &"// A line.\n".repeat(601))]);
    assert_one(&found, "crates/env/src/a.rs:601", "601 lines");
}

#[test]
fn a_long_function_is_found_where_it_starts() {
    let body = "    g(\"}\"); // }\n".repeat(69);
    let text = format!(
        "const X: &str = \"fn g() {{\";\n\nfn short() {{}}\n\npub fn long<const N: usize>(x: [u8; 4]) {{\n{body}}}\n"
    );
    assert_one(&in_env(&[(A, &text)]), "crates/env/src/a.rs:5", "long is long (71 lines");
}

#[test]
fn comments_do_not_make_a_function_long_and_a_reason_allows_it() {
    let comments = format!("fn f() {{\n{}{}}}\n", "    g();\n".repeat(68), "    // Why.\n".repeat(20));
    assert_eq!(in_env(&[(A, &comments)]), [] as [&str; 0]);
    let long = format!("#[inline]\nfn f() {{\n{}}}\n", "    g();\n".repeat(80));
    assert_eq!(in_env(&[(A, &format!("// long: one table of cases\n{long}"))]), [] as [&str; 0]);
    assert_eq!(in_env(&[(A, &format!("// long: \n{long}"))]).len(), 1);
    assert_eq!(in_env(&[(A, &format!("// long: the other\nconst A: u8 = 0;\n{long}"))]).len(), 1);
    assert_one(&in_env(&[(A, "fn a() {}\n\n// long: no more\nfn f() {}\n")]), "crates/env/src/a.rs:4", "is not long");
    let file = format!("//! A.\n// long: it is a table\n\n{}", "const A: u8 = 0;\n".repeat(700));
    assert_eq!(in_env(&[(A, &file)]), [] as [&str; 0]);
}

#[test]
fn functions_without_a_body_are_not_measured() {
    let text = format!("trait T {{\n    fn f(&self, x: [u8; 3]);\n{}}}\ntype F = fn(u8) -> u8;\n", "\n".repeat(80));
    assert_eq!(in_env(&[(A, &text)]), [] as [&str; 0]);
}

#[test]
fn tests_within_a_file_are_found() {
    for text in ["#[cfg(test)]\nmod tests {\n}\n", "fn f() {}\nmod tests {}\n", "#[cfg(test)]\npub mod checks {}\n"] {
        let found = in_env(&[(A, text)]);
        assert_one(&found, "crates/env/src/a.rs:2", "crates/env/src/a/tests.rs");
    }
    let beside = [(A, "#[cfg(test)]\nmod tests;\nmod plain { fn f() {} }\n"), ("crates/env/src/a/tests.rs", "")];
    assert_eq!(in_env(&beside), [] as [&str; 0]);
}

#[test]
fn banned_words_are_found_in_code_comments_and_pages() {
    let later = concat!("TO", "DO");
    for (text, word) in [
        (format!("// {later}: more\n"), later),
        ("fn f() { todo!() }\n".to_owned(), "todo!"),
        ("fn f() { unimplemented!() }\n".to_owned(), "unimplemented!"),
        ("fn f() { dbg!(1); }\n".to_owned(), "dbg!"),
        ("#[ignore]\n#[test]\nfn f() {}\n".to_owned(), "#[ignore"),
        ("#[ignore = \"slow\"]\nfn f() {}\n".to_owned(), "#[ignore"),
        (format!("// The {}.\n", concat!("Jour", "nal")), "WAL"),
        (format!("fn {}_open() {{}}\n", concat!("jour", "nal")), "WAL"),
        (format!("/// Each {}.\nfn f() {{}}\n", concat!("sha", "rd")), "partition"),
        (format!("// In {}x.\n", concat!("/wo", "rk/")), "machine"),
    ] {
        assert_one(&in_env(&[(A, &text)]), "crates/env/src/a.rs:1", word);
    }
    let page = format!("# Page\n\nEach {} has it.\n", concat!("key", "space"));
    assert_one(&in_env(&[(A, ""), ("docs/PAGE.md", &page)]), "docs/PAGE.md:3", "partition");
}

#[test]
fn words_that_are_meant_or_other_peoples_are_not_found() {
    let text = format!(
        "fn f() {{ g(\"{0}\", \"todo!\"); }}\n// The {0} of others, tidy: allow (their word).\n/// A {1}ed lock table.\nfn h() {{}}\n",
        concat!("jour", "nal"),
        concat!("sha", "rd"),
    );
    assert_eq!(in_env(&[(A, &text)]), [] as [&str; 0]);
}

#[test]
fn dead_files_are_found() {
    let found = in_env(&[(A, "// mod dead;\n"), ("crates/env/src/dead.rs", "")]);
    assert_one(&found, "crates/env/src/dead.rs:1", "no `mod`");
    let found = in_env(&[(A, ""), ("crates/env/tests/common/dead.rs", "")]);
    assert_one(&found, "crates/env/tests/common/dead.rs:1", "no `mod`");
    let found = in_env(&[(A, ""), ("loose.rs", "")]);
    assert_one(&found, "loose.rs:1", "no `mod`");
}

#[test]
fn files_that_something_leads_to_are_alive() {
    let named = format!("{MANIFEST}\n[[bin]]\nname = \"b\"\npath = \"odd/place.rs\"\n");
    let found = in_env(&[
        ("crates/env/Cargo.toml", &named),
        ("crates/env/odd/place.rs", ""),
        (A, "mod b;\nmod inner {\n    mod deep;\n}\n#[path = \"../other/there.rs\"]\nmod c;\ninclude!(\"d.rs\");\n"),
        ("crates/env/src/a/b.rs", "mod e;\n"),
        ("crates/env/src/a/b/e/mod.rs", "mod f;\n"),
        ("crates/env/src/a/b/e/f.rs", ""),
        ("crates/env/src/a/inner/deep.rs", ""),
        ("crates/env/other/there.rs", ""),
        ("crates/env/src/d.rs", ""),
        ("crates/env/src/bin/tool.rs", ""),
        ("crates/env/tests/scenario.rs", "mod common;\n"),
        ("crates/env/tests/common/mod.rs", ""),
        ("crates/env/examples/e.rs", ""),
        ("crates/env/benches/b/main.rs", ""),
        ("crates/env/build.rs", ""),
    ]);
    assert_eq!(found, [] as [&str; 0]);
}

#[test]
fn a_crate_says_what_it_is_for() {
    for text in ["mod a;\n", "//! No sentence\nmod a;\n", "\n//! Late.\nmod a;\n"] {
        let found = in_env(&[(A, ""), ("crates/env/src/lib.rs", text)]);
        assert_one(&found, "crates/env/src/lib.rs:1", "sentence");
    }
    let text = "//! A sentence over\n//! two lines.\n//!\n//! And more\nmod a;\n";
    assert_eq!(in_env(&[(A, ""), ("crates/env/src/lib.rs", text)]), [] as [&str; 0]);
}

#[test]
fn lints_are_the_workspaces() {
    for text in ["[package]\n[dependencies]\n", "[package]\n[lints]\n# workspace = true\n"] {
        let found = in_env(&[(A, ""), ("crates/env/Cargo.toml", text)]);
        assert_one(&found, "crates/env/Cargo.toml:1", "[lints]");
    }
}

/// The findings in the manifest of one crate, with these lines at its end.
fn manifest_of(name: &str, lines: &str) -> Vec<String> {
    let path = format!("crates/{name}/Cargo.toml");
    findings(&[(&path, &format!("{MANIFEST}{lines}"))])
}

#[test]
fn an_upward_import_is_found() {
    assert_one(&manifest_of("env", "store.workspace = true\n"), "crates/env/Cargo.toml:8", "env must not use store");
    for line in [
        "lsm = { workspace = true }\n",
        "alluvium-lsm = { path = \"../lsm\" }\n",
        "odd = { path = \"../lsm\", package = \"alluvium-lsm\" }\n",
        "\n[dev-dependencies]\nlsm = { workspace = true }\n",
        "\n[target.'cfg(unix)'.dependencies]\nlsm = { workspace = true }\n",
        "\n[dependencies.lsm]\nworkspace = true\n",
        "testkit = { workspace = true }\n",
    ] {
        let found = manifest_of("wal", line);
        assert!(found.len() == 1 && found[0].contains("wal must not use"), "{line}: {found:?}");
    }
    assert_eq!(manifest_of("document", "store = { workspace = true }\n").len(), 1, "beside, not below");
    assert_one(&manifest_of("stranger", ""), "crates/stranger/Cargo.toml:1", "not in the table");
}

#[test]
fn what_is_below_may_be_used() {
    let lines = "env = { workspace = true }\nsst = { workspace = true }\nserde = { workspace = true }\n\
                 # bench = { workspace = true }\n\n[dev-dependencies]\ntestkit = { workspace = true }\n\n\
                 [features]\nbench = []\n";
    assert_eq!(manifest_of("store", lines), [] as [&str; 0]);
    assert_eq!(manifest_of("testkit", "cli = { workspace = true }\nenv.workspace = true\n"), [] as [&str; 0]);
}

#[test]
fn a_promise_without_its_test_is_found() {
    let a = "#[cfg(test)]\nmod tests;\n\nfn helper() {}\n";
    let tests = "#[test]\nfn it_holds() {}\n\nfn no_test() {}\n";
    let page = "It holds (`env::a::tests::it_holds`, `env::it_holds`, `tests/scenario.rs`,\n\
                `crates/env/tests/scenario.rs`, `env::scenario::whole`; see `env::Fs::sync` and `Fs::sync`).\n";
    let on = |path: &str, page: &str| {
        in_env(&[
            (A, a),
            ("crates/env/src/a/tests.rs", tests),
            ("crates/env/tests/scenario.rs", "#[test]\nfn whole() {}\n"),
            (path, page),
        ])
    };
    let with = |page: &str| on("docs/DURABILITY.md", page);
    assert_eq!(with(page), [] as [&str; 0]);
    assert_one(&on("docs/PROMISES.md", "`env::gone`\n"), "docs/PROMISES.md:1", "env::gone");
    for gone in
        ["env::a::tests::it_fell", "env::a::tests::no_test", "env::b::it_holds", "env::s::it_holds", "tests/gone.rs"]
    {
        let found = with(&format!("{page}\nAnd `{gone}`.\n"));
        assert_one(&found, "docs/DURABILITY.md:4", gone);
    }
}

#[test]
fn findings_are_sorted_and_name_their_place() {
    let found = in_env(&[(A, "fn f() { dbg!(1) }\nmod tests {}\n"), ("crates/env/src/z.rs", "")]);
    let places: Vec<&str> = found.iter().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["crates/env/src/a.rs:1", "crates/env/src/a.rs:2", "crates/env/src/z.rs:1"]);
}

const ERRORS: &str = "//! Errors.\n\n/// All.\npub enum Error {\n    /// One.\n    #[error(\"cannot {op} {{}}: \\\n      {}\", path.display())]\n    Io {\n        path: PathBuf,\n    },\n    Corrupt(String),\n}\n";

#[test]
fn an_error_without_its_line_and_a_line_without_its_error_are_found() {
    let page = |rows: &str| format!("# Errors\n\n## `env::Error`\n\n| error | cause |\n|---|---|\n{rows}\n## Other\n");
    let found = |rows: &str| {
        let files = [("crates/env/src/lib.rs", "//! All.\nmod error;\n"), ("crates/env/src/error.rs", ERRORS)];
        in_env(&[files[0], files[1], ("docs/ERRORS.md", &page(rows))])
    };
    let io = "### `Io`\n`cannot … {}: …`\n";
    let both = format!("{io}### `Corrupt`\n");
    assert_eq!(found(&both), [] as [&str; 0]);
    let message = "write the line `cannot … {}: …`";
    assert_one(&found(&both.replace("cannot", "can")), "docs/ERRORS.md:7", message);
    assert_one(&found(io), "crates/env/src/error.rs:11", "Corrupt has no place");
    assert_one(&found(&format!("{both}| `Io` | Once more. |\n")), "docs/ERRORS.md:10", "has a place above");
    assert_one(&found(&format!("{both}| `Old` | Gone. |\n")), "docs/ERRORS.md:10", "env::Error has no Old");
}

#[test]
fn what_is_public_without_an_example_is_found() {
    let with =
        "    /// Opens.\n    ///\n    /// ```\n    /// open();\n    /// ```\n    #[must_use]\n    pub fn open() {}\n";
    let hidden = "    /// For tests.\n    #[doc(hidden)]\n    pub fn hidden() {}\n    fn own() {}\n";
    let without = "    /// Closes.\n    pub fn close(&self, at: u8) {\n        a();\n        b();\n    }\n";
    let getter = "    /// Of it.\n    pub fn one(&self, at: u8) -> u8 {\n        self.0\n    }\n    pub fn f(&self) {\n        a();\n        b();\n    }\n";
    let found = |methods: &str, public: &str| {
        let types = "pub struct Base<T>;\npub(crate) struct Other;\n";
        let text = format!("//! A.\n{types}\nimpl<T> Base<T> {{\n{methods}}}\n\nimpl Other {{\n{without}}}\n");
        let lib = "//! All.\nmod a;\npub mod b;\n";
        findings(&[
            ("crates/alluvium/Cargo.toml", MANIFEST),
            ("crates/alluvium/src/lib.rs", lib),
            ("crates/alluvium/src/a.rs", &text),
            ("crates/alluvium/src/b.rs", public),
        ])
    };
    let function = "/// Reads.\npub fn read(at: u8) {\n    a();\n    b();\n}\n";
    assert_eq!(found(&format!("{with}{hidden}{getter}"), ""), [] as [&str; 0]);
    assert_one(&found(&format!("{with}{without}"), ""), "crates/alluvium/src/a.rs:14", "has an example");
    assert_one(&found(getter, ""), "crates/alluvium/src/a.rs:2", "the type Base has methods and no example");
    assert_one(&found(with, function), "crates/alluvium/src/b.rs:2", "has an example");
    assert_eq!(found(with, &format!("/// ```\n/// read();\n/// ```\n{function}")), [] as [&str; 0]);
    let below = |name: &str| {
        let lib = format!("//! All.\npub struct Base;\n\nimpl Base {{\n{with}{without}}}\n");
        let [manifest, file] = ["Cargo.toml", "src/lib.rs"].map(|file| format!("crates/{name}/{file}"));
        findings(&[(manifest.as_str(), MANIFEST), (file.as_str(), lib.as_str())])
    };
    assert_one(&below("store"), "crates/store/src/lib.rs:13", "has an example");
    assert_one(&below("readonly"), "crates/readonly/src/lib.rs:13", "has an example");
    assert_eq!(below("lsm"), [] as [&str; 0]);
}

mod english;
mod pages;
mod structure;

#[test]
fn a_fuzz_target_without_its_program_is_found() {
    let list = "//! All.\n    (\"json\", documents::json),\n";
    let manifest = "[package]\nname = \"fuzz\"\n\n[[bin]]\nname = \"json\"\npath = \"targets/json.rs\"\n";
    let run =
        |name: &str| format!("#![no_main]\n\nfuzz_target!(|data: &[u8]| testkit::fuzz::run(\"{name}\", data));\n");
    let found = |program: &str| {
        let lib = ("crates/testkit/src/lib.rs", "//! All.\nmod fuzz;\n");
        let mut files = vec![("crates/testkit/Cargo.toml", MANIFEST), lib];
        files.extend([("crates/testkit/src/fuzz.rs", list), ("fuzz/Cargo.toml", manifest)]);
        files.extend((!program.is_empty()).then_some(("fuzz/targets/json.rs", program)));
        findings(&files)
    };
    assert_eq!(found(&run("json")), [] as [&str; 0]);
    assert_one(&found(""), "crates/testkit/src/fuzz.rs:2", "has no program");
    assert_one(&found(&run("bson")), "fuzz/targets/json.rs:1", "does not run");
}
