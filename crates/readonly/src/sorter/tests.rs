use super::*;
use std::path::Path;

fn proceed(_: u64) -> Result<()> {
    Ok(())
}

/// A sorter with this memory, in a file system in memory.
fn sorter(memory_bytes: usize) -> (Env, Sorter) {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new("db")).unwrap();
    let sorter = Sorter::new(&env, "db/sort-1".into(), memory_bytes);
    (env, sorter)
}

/// The sorted values, each converted by `value`.
fn values<T>(sorter: Sorter, value: impl Fn(&[u8]) -> T) -> Vec<T> {
    let mut sorted = sorter.finish(proceed).unwrap();
    let mut found = Vec::new();
    while let Some(bytes) = sorted.next(proceed).unwrap() {
        found.push(value(bytes));
    }
    found
}

fn number(value: &[u8]) -> u32 {
    u32::from_le_bytes(*value.first_chunk().unwrap())
}

fn key_of(n: u32) -> [u8; 4] {
    // Many keys are equal, and they are not in order.
    (n.wrapping_mul(7919) % 97).to_be_bytes()
}

#[test]
fn values_come_by_key_and_then_as_they_came() {
    for (count, memory) in [(0, 1000), (1, 1000), (500, 1 << 20), (500, 1000), (20_000, 2000)] {
        let (env, mut sorter) = sorter(memory);
        (0..count).for_each(|n| sorter.add(&key_of(n), &n.to_le_bytes(), proceed).unwrap());
        let mut expected: Vec<u32> = (0..count).collect();
        expected.sort_by_key(|n| key_of(*n));
        assert_eq!(values(sorter, number), expected, "{count} pairs in {memory} bytes");
        assert!(env.fs.list(Path::new("db")).unwrap().is_empty(), "no file is left");
    }
}

#[test]
fn long_keys_are_compared_to_their_ends() {
    let max = KEY_BYTES_MAX;
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for len in [0, 1, max - 1, max, max + 1, max + 63, max + 64, max + 65, max + 1000, 3 * max, 50 * max] {
        for (at, byte) in [(0, 0), (max - 1, 0), (max, 0), (max + 63, 9), (max + 64, 0), (2 * max, 0), (40 * max, 9)] {
            let mut key = vec![5; len];
            if let Some(place) = key.get_mut(at) {
                *place = byte;
            }
            keys.push(key);
        }
    }
    // Each key is added twice. 300 more keys share a beginning: too many for parts above the least
    // length.
    keys = keys.iter().chain(&keys).cloned().collect();
    keys.extend((0..300u32).map(|n| [&vec![5; max + 200][..], &key_of(n)].concat()));
    for memory in [8000, 100_000, 64 << 20] {
        let (env, mut sorter) = sorter(memory);
        let mut expected: Vec<u32> = (0..keys.len() as u32).collect();
        for n in &expected {
            let value = [&n.to_le_bytes()[..], &vec![1; if n % 5 == 0 { STORED_MIN } else { 10 }]].concat();
            sorter.add(&keys[*n as usize], &value, proceed).unwrap();
        }
        expected.sort_by_key(|n| &keys[*n as usize]);
        assert_eq!(values(sorter, number), expected, "{memory} bytes");
        assert!(env.fs.list(Path::new("db")).unwrap().is_empty());
    }
}

#[test]
fn reading_long_keys_ends_when_it_is_told_to() {
    let (_env, mut sorter) = sorter(1 << 20);
    for n in 0..1000u32 {
        sorter.add(&[&[7; 2 * KEY_BYTES_MAX][..], &n.to_be_bytes()].concat(), b"value", proceed).unwrap();
    }
    let mut sorted = sorter.finish(proceed).unwrap();
    let mut calls = 0;
    let stopped = sorted.next(|_| {
        calls += 1;
        if calls == 1010 { Err(Error::NotReadOnly("given up".into())) } else { Ok(()) }
    });
    assert!(matches!(stopped, Err(Error::NotReadOnly(_))), "{stopped:?}");
}

#[test]
fn a_sorter_that_is_given_up_leaves_no_files() {
    let (env, mut sorter) = sorter(1000);
    for n in 0..1000u32 {
        sorter.add(&n.to_be_bytes(), b"value", proceed).unwrap();
    }
    assert_eq!(env.fs.list(Path::new("db")).unwrap().len(), 1);
    drop(sorter);
    assert!(env.fs.list(Path::new("db")).unwrap().is_empty());
}

/// Sorts `pairs` pairs with memory for only a few, and fails in the `fail_at`-th call of `proceed`.
/// Returns the number of calls.
fn calls(pairs: u32, fail_at: u32) -> (u32, Result<Sorted>) {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new("db")).unwrap();
    let mut calls = 0;
    let mut proceed = |needed| {
        // Counts calls with 0 only; `proceed` is also called before a run is written and before a
        // merge.
        calls += u32::from(needed == 0);
        if calls == fail_at { Err(Error::NotReadOnly("given up".into())) } else { Ok(()) }
    };
    let mut sorter = Sorter::with(&env, "db/sort-1".into(), 2000, 64 * RUN_BYTES);
    let added = (0..pairs).try_for_each(|n| {
        sorter.add(&(n * 7919 % pairs).to_be_bytes(), &(n * 7919 % pairs).to_le_bytes(), &mut proceed)
    });
    let sorted = match added {
        Ok(()) => sorter.finish(&mut proceed),
        Err(error) => {
            drop(sorter);
            Err(error)
        }
    };
    if sorted.is_err() {
        assert!(env.fs.list(Path::new("db")).unwrap().is_empty(), "no file is left");
    }
    (calls, sorted)
}

#[test]
fn a_pair_is_merged_once_for_each_64_times_as_many() {
    // Some 700 runs are merged into about ten, so each pair is merged once.
    let (times, sorted) = calls(30_000, u32::MAX);
    assert!((60..=30_000 / 256).contains(&times), "{times}");
    let mut sorted = sorted.unwrap();
    for n in 0..30_000u32 {
        assert_eq!(sorted.next(proceed).unwrap(), Some(&n.to_le_bytes()[..]));
    }
    assert!(sorted.next(proceed).unwrap().is_none());
}

#[test]
fn it_says_what_it_is_about_to_write() {
    let env = Env::in_memory(1);
    let dir = Path::new("db/sort-1");
    env.fs.create_dir_all(Path::new("db")).unwrap();
    let on_disk = || -> u64 {
        let files = env.fs.list(dir).unwrap_or_default();
        files
            .iter()
            .map(|file| env.fs.open(&dir.join(&file.name), alluvium_env::OpenMode::Read).unwrap().len().unwrap())
            .sum()
    };
    let (mut promised, mut most) = (0, 0);
    let mut proceed = |needed: u64| {
        if needed > 0 {
            promised = on_disk() + needed;
            most = most.max(needed);
        }
        // The headers and the index of a run are not announced.
        assert!(on_disk() <= promised + 1000, "{} on disk, {promised} were announced", on_disk());
        Result::Ok(())
    };
    let mut sorter = Sorter::new(&env, dir.to_owned(), 2000);
    for n in 0..10_000u32 {
        sorter.add(&n.wrapping_mul(7919).to_be_bytes(), &n.to_le_bytes(), &mut proceed).unwrap();
    }
    let _sorted = sorter.finish(&mut proceed).unwrap();
    assert!(most > 20_000, "{most} bytes for a merge of 64 runs");
}

#[test]
fn a_merge_ends_when_it_is_told_to() {
    assert!(matches!(calls(30_000, 3), (3, Err(Error::NotReadOnly(_)))));
}

#[test]
fn long_values_are_written_once() {
    let (env, mut sorter) = sorter(100_000);
    let value = |n: u32| vec![n as u8; if n.is_multiple_of(3) { STORED_MIN + n as usize } else { 100 }];
    for n in 0..300u32 {
        sorter.add(&(n * 7919 % 300).to_be_bytes(), &value(n), proceed).unwrap();
    }
    assert_eq!(sorter.stored.len(), (0..300).filter(|n| n % 3 == 0).map(|n| value(n).len() as u64).sum::<u64>());
    let mut expected: Vec<u32> = (0..300).collect();
    expected.sort_by_key(|n| n * 7919 % 300);
    assert_eq!(values(sorter, <[u8]>::to_vec), expected.into_iter().map(value).collect::<Vec<_>>());
    assert!(env.fs.list(Path::new("db")).unwrap().is_empty());
}

#[test]
fn damage_of_what_is_stored_is_named() {
    // Damage of a value, and of one of two keys.
    for (keys, bad) in [(vec![b"a".to_vec()], 5), (vec![vec![1; 2 * KEY_BYTES_MAX]; 2], 7)] {
        let (env, mut sorter) = sorter(1000);
        keys.iter().for_each(|key| sorter.add(key, &vec![7; STORED_MIN], proceed).unwrap());
        let file = env.fs.open(Path::new("db/sort-1/values"), alluvium_env::OpenMode::ReadWrite).unwrap();
        file.write_at(b"x", bad).unwrap();
        let error = sorter.finish(proceed).unwrap().next(proceed).unwrap_err();
        assert!(error.to_string().contains("a value of the sort is damaged"), "{error}");
    }
}

#[test]
fn fewer_runs_are_merged_at_once_if_memory_is_small() {
    for (memory, most) in [(64 * RUN_BYTES, MERGE_MAX), (7 * RUN_BYTES, 7), (1000, 2)] {
        let (_env, mut sorter) = sorter(memory);
        sorter.add(&vec![1; 100 * BLOCK_BYTES], &vec![1; 100 * BLOCK_BYTES], proceed).unwrap();
        assert_eq!(sorter.fan_in(), most);
        assert!(sorter.arena.used() <= KEY_BYTES_MAX + 100, "{}", sorter.arena.used());
    }
}
