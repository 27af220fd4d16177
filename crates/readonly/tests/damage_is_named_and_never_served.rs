//! If any byte of a store is changed, or a file is cut at any length, each read returns the right result or a named
//! error, and `verify` finds the damage.

mod common;

use alluvium_env::{Env, File, OpenMode};
use alluvium_readonly::{Bounds, BuildOptions, Error};
use common::{Pairs, build, get, open, some_pairs, walk};
use std::path::Path;
use std::sync::Arc;

fn is_named(error: &Error, what: &str) {
    assert!(matches!(error, Error::Storage(alluvium_env::Error::Corrupt { .. })), "{what}: {error}");
    assert!(error.to_string().contains("/ro/"), "{what}: {error}");
}

/// Reads the whole store by every index; returns true if damage was noticed.
fn read_all(env: &Env, pairs: &Pairs, what: &str) -> bool {
    let mut sorted = pairs.clone();
    sorted.sort();
    let mut noticed = false;
    let mut note = |error: Error| {
        is_named(&error, what);
        noticed = true;
    };
    for interval in [Some(4), Some(16)] {
        let store = match open(env, interval) {
            Ok(store) => store,
            Err(error) => {
                note(error);
                continue;
            }
        };
        for (key, value) in pairs {
            match get(&store, key) {
                Ok(found) => assert_eq!(found.as_ref(), Some(value), "{what}"),
                Err(error) => note(error),
            }
        }
        match get(&store, b"absent") {
            Ok(found) => assert_eq!(found, None, "{what}"),
            Err(error) => note(error),
        }
        match walk(&store, &Bounds::all()) {
            Ok(found) => assert_eq!(found, sorted, "{what}"),
            Err(error) => note(error),
        }
        match store.aux() {
            Ok(aux) => assert_eq!(aux, b"aux", "{what}"),
            Err(error) => note(error),
        }
        store.verify().unwrap().into_iter().for_each(&mut note);
    }
    noticed
}

fn content(file: &Arc<dyn File>) -> Vec<u8> {
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

#[test]
fn every_byte_and_every_length_of_every_file() {
    let env = Env::in_memory(1);
    let pairs = some_pairs(40);
    let options = BuildOptions { index_intervals: vec![4, 16], block_bytes: 512, ..BuildOptions::default() };
    build(&env, &pairs, options).unwrap();
    assert!(!read_all(&env, &pairs, "whole"));
    for name in ["READONLY", "data.sst", "index-4.idx", "index-16.idx"] {
        let file = env.fs.open(&Path::new("/ro").join(name), OpenMode::ReadWrite).unwrap();
        let whole = content(&file);
        assert!(whole.len() > 50, "{name}");
        for at in 0..whole.len() {
            file.write_at(&[whole[at] ^ 1 << (at % 8)], at as u64).unwrap();
            let what = format!("byte {at} of {name}");
            assert!(read_all(&env, &pairs, &what), "{what} was not noticed");
            file.write_at(&whole[at..=at], at as u64).unwrap();
        }
        for len in 0..whole.len() {
            file.set_len(len as u64).unwrap();
            let what = format!("{name} cut at {len}");
            assert!(read_all(&env, &pairs, &what), "{what} was not noticed");
            file.write_at(&whole[len..], len as u64).unwrap();
        }
    }
    assert!(!read_all(&env, &pairs, "mended"));
}

#[test]
fn files_of_another_store_are_not_taken() {
    let (one, other) = (Env::in_memory(1), Env::in_memory(2));
    let options = || BuildOptions { index_intervals: vec![4, 16], ..BuildOptions::default() };
    build(&one, &some_pairs(40), options()).unwrap();
    build(&other, &some_pairs(41), options()).unwrap();
    for name in ["data.sst", "index-4.idx"] {
        let path = Path::new("/ro").join(name);
        let bytes = content(&other.fs.open(&path, OpenMode::Read).unwrap());
        let file = one.fs.open(&path, OpenMode::ReadWrite).unwrap();
        let before = content(&file);
        file.set_len(0).unwrap();
        file.write_at(&bytes, 0).unwrap();
        is_named(&open(&one, Some(4)).map(drop).unwrap_err(), name);
        file.set_len(0).unwrap();
        file.write_at(&before, 0).unwrap();
    }
    open(&one, Some(4)).unwrap();
}

#[test]
fn a_missing_file_is_named() {
    let env = Env::in_memory(1);
    let options = BuildOptions { index_intervals: vec![4], ..BuildOptions::default() };
    build(&env, &some_pairs(40), options).unwrap();
    env.fs.remove(Path::new("/ro/index-4.idx")).unwrap();
    let error = open(&env, None).map(drop).unwrap_err();
    assert!(error.to_string().contains("index-4.idx"), "{error}");
}

#[test]
fn each_damaged_or_missing_file_is_named_once() {
    let env = Env::in_memory(1);
    let options = || BuildOptions { index_intervals: vec![4, 16], block_bytes: 512, ..BuildOptions::default() };
    build(&env, &some_pairs(40), options()).unwrap();
    let flip = |name: &str, at: u64| {
        let file = env.fs.open(&Path::new("/ro").join(name), OpenMode::ReadWrite).unwrap();
        let byte = content(&file)[at as usize];
        file.write_at(&[byte ^ 1], at).unwrap();
    };
    // Opens the store without an index file, as a check does.
    let found =
        || -> Vec<String> { open(&env, Some(0)).unwrap().verify().unwrap().iter().map(ToString::to_string).collect() };
    flip("data.sst", 100);
    let damage = found();
    assert!(damage.len() == 1 && damage[0].contains("data.sst"), "{damage:?}");
    // Damage of an index is reported as well.
    flip("index-16.idx", 20);
    let damage = found();
    assert!(damage.len() == 2 && damage[1].contains("index-16.idx"), "{damage:?}");
    flip("data.sst", 100);
    env.fs.remove(Path::new("/ro/index-4.idx")).unwrap();
    let damage = found();
    assert!(damage.len() == 2 && damage[0].contains("index-4.idx") && damage[0].contains("missing"), "{damage:?}");
    is_named(&open(&env, Some(4)).map(drop).unwrap_err(), "a missing index");
}
