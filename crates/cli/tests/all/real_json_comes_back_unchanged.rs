//! Published JSON data is loaded, read, exported and loaded again: every field, the order, and every number are
//! unchanged.
//!
//! `tests/data/fetch` (called by `make test`) downloads the packages; `tests/data/packages` lists
//! them.

use crate::common::Place;
use crate::json_text::Json;
use crate::packages::folder as package;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The path of a package's file as an argument, and the content of the file.
fn file(path: &Path) -> (String, Json) {
    (path.to_str().expect("UTF-8").to_owned(), Json::read(&text(path)))
}

/// Documents as text, without generated `_id`s.
fn documents(lines: &str, ids_are_made: bool) -> Vec<String> {
    let document = |line: &str| {
        let mut fields = Json::read(line).fields();
        assert_eq!(fields[0].0, "_id", "{line}");
        if ids_are_made {
            fields.remove(0);
        }
        Json::Object(fields).to_text()
    };
    sorted(lines.lines().map(document))
}

fn sorted(documents: impl Iterator<Item = String>) -> Vec<String> {
    let mut documents: Vec<String> = documents.collect();
    documents.sort_unstable();
    documents
}

/// Panics at the first document that differs, and prints only the text around the difference.
fn same(what: &str, found: &[String], expected: &[String]) {
    for (found, expected) in found.iter().zip(expected) {
        if found != expected {
            let differ = |(a, b): &(char, char)| a != b;
            let at = found.chars().zip(expected.chars()).position(|pair| differ(&pair)).unwrap_or(0);
            let show = |text: &str| text.chars().skip(at.saturating_sub(60)).take(120).collect::<String>();
            panic!("{what}:\n found    …{}…\n expected …{}…", show(found), show(expected));
        }
    }
    assert_eq!(found.len(), expected.len(), "{what}");
}

/// Loads with these arguments, and compares the documents with the source: before and after files are merged, after
/// exports in each format, and after loads from these exports.
fn check(name: &str, load: &[&str], expected: &[String], ids_are_made: bool) {
    let place = Place::new();
    let arguments = [&["load", "db", "a"], load].concat();
    place.good(&arguments);
    let scanned = place.good(&["scan", "db", "a"]);
    same(name, &documents(&scanned, ids_are_made), expected);
    place.good(&["compact", "db"]);
    assert!(place.good(&["scan", "db", "a"]) == scanned, "{name}: merged");
    let typed = place.good(&["export", "db", "a", "--canonical"]);
    let exports: [(&str, &[&str]); 5] = [
        ("relaxed.jsonl", &[]),
        ("canonical.jsonl.zst", &["--canonical"]),
        ("relaxed.json", &[]),
        ("canonical.json", &["--canonical"]),
        ("plain.bson.gz", &[]),
    ];
    for (file, options) in exports {
        place.good(&[&["export", "db", "a", "-o", file], options].concat());
        place.good(&["load", "other", file, file]);
        assert!(place.good(&["scan", "other", file]) == scanned, "{name} by {file}");
        assert!(place.good(&["export", "other", file, "--canonical"]) == typed, "{name} by {file}: types");
    }
    place.good(&["verify", "db"]);
    place.good(&["verify", "other"]);
}

/// The fields of one object as documents, each with the name of the field as its `_id`.
fn split(object: &Json) -> Vec<String> {
    let document = |(name, value): (String, Json)| {
        let mut fields = value.fields();
        fields.insert(0, ("_id".to_owned(), Json::String(name)));
        Json::Object(fields).to_text()
    };
    sorted(object.clone().fields().into_iter().map(document))
}

#[test]
fn browser_compatibility_one_object_deeply_nested() {
    let (path, data) = file(&package("mdn-browser-compat-data-8.0.0").join("data.json"));
    check("browser-compat-data", &[&path, "--split-object"], &split(&data), false);
    // The largest part of the data is checked once more, with one document for each web interface.
    let (_, api) = data.fields().into_iter().find(|(name, _)| name == "api").expect("interfaces");
    let interfaces = split(&api);
    assert!(interfaces.len() > 1000);
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("api.json");
    std::fs::write(&path, api.to_text()).expect("space");
    check("browser-compat-data, api", &[path.to_str().expect("UTF-8"), "--split-object"], &interfaces, false);
}

#[test]
fn licences_one_object_of_long_texts() {
    let (path, data) = file(&package("spdx-license-list-6.11.0").join("spdx-full.json"));
    check("spdx-license-list", &[&path, "--split-object"], &split(&data), false);
}

#[test]
fn countries_an_array_with_coordinates_and_many_scripts() {
    let (path, data) = file(&package("world-countries-5.1.0").join("countries.json"));
    let with_id = |country: Json| {
        let mut fields = country.fields();
        let (_, code) = fields.iter().find(|(name, _)| name == "cca3").cloned().expect("a code");
        fields.insert(0, ("_id".to_owned(), code));
        Json::Object(fields).to_text()
    };
    let expected = sorted(data.elements().into_iter().map(with_id));
    check("world-countries", &[&path, "--id-field", "cca3"], &expected, false);
}

#[test]
fn borders_numbers_by_the_hundred_thousand() {
    let folder = package("world-countries-5.1.0").join("data");
    let (paths, expected) = whole_files(&folder, |name| name.ends_with(".geo.json"));
    assert!(paths.len() > 200);
    let numbers: usize = expected.iter().map(|text| text.matches(',').count()).sum();
    assert!(numbers > 100_000, "{numbers}");
    let arguments: Vec<&str> = paths.iter().map(String::as_str).chain(["--format", "json-object"]).collect();
    check("world-countries, borders", &arguments, &expected, true);
}

#[test]
fn locales_many_files_of_many_names_in_many_scripts() {
    let folder = package("cldr-numbers-full-48.0.0").join("main");
    let locales: BTreeSet<PathBuf> =
        std::fs::read_dir(folder).expect("locales").map(|entry| entry.expect("an entry").path()).collect();
    let (mut paths, mut expected) = (Vec::new(), Vec::new());
    // Only every third one is used, because the files are similar, and each is a separate input.
    for locale in locales.iter().step_by(3) {
        let (more, documents) = whole_files(locale, |name| name.ends_with(".json"));
        paths.extend(more);
        expected.extend(documents);
    }
    assert!(paths.len() > 200, "{}", paths.len());
    expected.sort_unstable();
    let arguments: Vec<&str> = paths.iter().map(String::as_str).chain(["--format", "json-object"]).collect();
    check("cldr-numbers-full", &arguments, &expected, true);
}

/// The files of a folder, each of which is one document.
fn whole_files(folder: &Path, wanted: impl Fn(&str) -> bool) -> (Vec<String>, Vec<String>) {
    let names: BTreeSet<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    let wanted = |path: &&PathBuf| path.file_name().is_some_and(|name| wanted(&name.to_string_lossy()));
    let (paths, documents): (Vec<_>, Vec<_>) =
        names.iter().filter(wanted).map(|path| file(path)).map(|(path, value)| (path, value.to_text())).unzip();
    (paths, sorted(documents.into_iter()))
}
