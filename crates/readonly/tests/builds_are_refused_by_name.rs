//! A build or an opening that is not possible returns a named error, and changes no other file.

mod common;

use alluvium_env::mem::MemFs;
use alluvium_env::{Env, OpenMode};
use alluvium_readonly::{BuildOptions, Error, ReadOnly};
use common::{DIR, build, get, names, open, some_pairs};
use std::path::Path;
use std::sync::Arc;

#[test]
fn directories_that_hold_something() {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new(DIR)).unwrap();
    env.fs.open(Path::new("/ro/notes.txt"), OpenMode::CreateNew).unwrap();
    let error = build(&env, &some_pairs(1), BuildOptions::default()).unwrap_err();
    assert!(matches!(error, Error::NotEmpty(_)), "{error}");
    assert_eq!(names(&env), ["notes.txt"]);
    assert!(matches!(open(&env, None).map(drop), Err(Error::NotReadOnly(_))));
}

#[test]
fn a_store_is_built_once() {
    let env = Env::in_memory(1);
    build(&env, &some_pairs(3), BuildOptions::default()).unwrap();
    let before = names(&env);
    let error = build(&env, &some_pairs(4), BuildOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Exists(_)), "{error}");
    assert_eq!(names(&env), before);
    assert_eq!(open(&env, None).unwrap().len(), 3);
}

#[test]
fn one_build_at_a_time() {
    let env = Env::in_memory(1);
    let first = ReadOnly::build_in(env.clone(), DIR, BuildOptions::default()).unwrap();
    let error = ReadOnly::build_in(env.clone(), DIR, BuildOptions::default()).map(drop).unwrap_err();
    assert!(matches!(error, Error::InUse(_)), "{error}");
    assert!(matches!(open(&env, None).map(drop), Err(Error::Unfinished(_))));
    drop(first);
    assert_eq!(names(&env), Vec::<String>::new(), "a build that is given up leaves nothing");
    build(&env, &some_pairs(1), BuildOptions::default()).unwrap();
}

#[test]
fn a_directory_of_others_stays_when_a_build_is_given_up() {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new(DIR)).unwrap();
    drop(ReadOnly::build_in(env.clone(), DIR, BuildOptions::default()).unwrap());
    assert!(env.fs.exists(Path::new(DIR)).unwrap());
    assert_eq!(names(&env), Vec::<String>::new());
}

#[test]
fn a_disk_without_room_is_told_before_it_is_full() {
    let pairs = some_pairs(4000);
    let mem = Arc::new(MemFs::with_capacity(420 << 10));
    let env = Env { fs: mem.clone(), ..Env::in_memory(1) };
    let options = BuildOptions { run_bytes: Some(64 << 10), ..BuildOptions::default() };
    let error = build(&env, &pairs, options.clone()).unwrap_err();
    assert!(matches!(&error, Error::NoSpace { needed, available, .. } if needed > available), "{error}");
    assert_eq!(names(&env), Vec::<String>::new());
    mem.set_capacity(8 << 20);
    build(&env, &pairs, options).unwrap();
    assert_eq!(open(&env, None).unwrap().len(), 4000);
}

#[test]
fn pairs_that_are_too_large() {
    let env = Env::in_memory(1);
    let options = BuildOptions { run_bytes: Some(1000), ..BuildOptions::default() };
    let mut build = ReadOnly::build_in(env.clone(), DIR, options).unwrap();
    let error = build.add(b"key", &[0; 2000]).unwrap_err();
    assert!(matches!(error, Error::PairTooLarge { bytes: 2003, limit: 1000 }), "{error}");
}

#[test]
fn options_out_of_range() {
    let env = Env::in_memory(1);
    let default = BuildOptions::default;
    for (name, options) in [
        ("memory_bytes", BuildOptions { memory_bytes: 1000, ..default() }),
        ("block_bytes", BuildOptions { block_bytes: 100, ..default() }),
        ("filter_bits_per_key", BuildOptions { filter_bits_per_key: 33, ..default() }),
        ("index_intervals", BuildOptions { index_intervals: vec![10, 0], ..default() }),
        ("index_intervals", BuildOptions { index_intervals: vec![10, 1_000_001], ..default() }),
        ("merge_width", BuildOptions { merge_width: Some(1), ..default() }),
        ("label", BuildOptions { label: vec![0; 70_000], ..default() }),
    ] {
        let error = build(&env, &some_pairs(1), options).unwrap_err();
        assert!(matches!(error, Error::InvalidOption { name: found, .. } if found == name), "{error}");
        assert_eq!(names(&env), Vec::<String>::new());
    }
}

#[test]
fn the_longest_interval_is_taken() {
    let env = Env::in_memory(1);
    let options = BuildOptions { index_intervals: vec![alluvium_readonly::MAX_INTERVAL], ..BuildOptions::default() };
    build(&env, &some_pairs(30), options).unwrap();
    assert_eq!(open(&env, Some(1_000_000)).unwrap().stats().indexes[0].entries, 1);
}

#[test]
fn an_interval_that_there_is_not() {
    let env = Env::in_memory(1);
    let options = BuildOptions { index_intervals: vec![100, 10, 10], ..BuildOptions::default() };
    build(&env, &some_pairs(30), options).unwrap();
    let error = open(&env, Some(50)).map(drop).unwrap_err();
    assert_eq!(error.to_string(), "there is no index at the interval 50; this store has indexes at 10, 100");
    assert_eq!(open(&env, None).unwrap().stats().index_interval, Some(10), "the smallest by default");
    assert_eq!(open(&env, Some(0)).unwrap().stats().index_interval, None, "the file's own");
    assert_eq!(get(&open(&env, Some(0)).unwrap(), &some_pairs(1)[0].0).unwrap(), Some(some_pairs(1)[0].1.clone()));
}

#[test]
fn a_store_without_pairs() {
    let env = Env::in_memory(1);
    let options = BuildOptions { label: b"label".to_vec(), index_intervals: vec![10], ..BuildOptions::default() };
    build(&env, &Vec::new(), options).unwrap();
    let store = open(&env, None).unwrap();
    assert!(store.is_empty());
    assert_eq!(get(&store, b"").unwrap(), None);
    assert_eq!(store.label(), b"label");
    assert_eq!(store.verify().unwrap().len(), 0);
}
