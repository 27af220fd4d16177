use super::*;
use std::path::Path;

fn sorted(count: u32, memory: usize) -> (Env, Vec<(Vec<u8>, u32)>) {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new("db")).unwrap();
    let mut sorter = Sorter::new(&env, "db/sort-1".into(), memory);
    for n in 0..count {
        // Many keys that are equal, out of order.
        let key = (n.wrapping_mul(7919) % 97).to_be_bytes();
        sorter.add(&key, &n.to_le_bytes(), |_| Result::Ok(())).unwrap();
    }
    let mut sorted = sorter.finish(|_| Result::Ok(())).unwrap();
    let mut found = Vec::new();
    while let Some((key, value)) = sorted.next().unwrap() {
        found.push((key.to_vec(), u32::from_le_bytes(value.try_into().unwrap())));
    }
    (env, found)
}

fn expected(count: u32) -> Vec<(Vec<u8>, u32)> {
    let mut all: Vec<_> = (0..count).map(|n| ((n.wrapping_mul(7919) % 97).to_be_bytes().to_vec(), n)).collect();
    all.sort();
    all
}

#[test]
fn pairs_come_by_key_and_then_as_they_came() {
    for (count, memory) in [(0, 1000), (1, 1000), (500, 1 << 20), (500, 1000), (20_000, 2000)] {
        let (env, found) = sorted(count, memory);
        assert_eq!(found, expected(count), "{count} pairs in {memory} bytes");
        assert!(env.fs.list(Path::new("db")).unwrap().is_empty(), "no file is left");
    }
}

#[test]
fn a_sorter_that_is_given_up_leaves_no_files() {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new("db")).unwrap();
    let mut sorter = Sorter::new(&env, "db/sort-1".into(), 1000);
    for n in 0..1000u32 {
        sorter.add(&n.to_be_bytes(), b"value", |_| Result::Ok(())).unwrap();
    }
    assert_eq!(env.fs.list(Path::new("db")).unwrap().len(), 1);
    drop(sorter);
    assert!(env.fs.list(Path::new("db")).unwrap().is_empty());
}

/// Sorts `pairs` pairs in memory for a few, and fails in the `fail_at`-th call of `proceed`.
/// Returns the number of calls.
fn calls(pairs: u32, fail_at: u32) -> (u32, Result<Sorted>) {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new("db")).unwrap();
    let mut calls = 0;
    let mut proceed = |needed| {
        // Before a run is written too, and before a merge.
        calls += u32::from(needed == 0);
        if calls == fail_at { Err(Error::NotReadOnly("given up".into())) } else { Ok(()) }
    };
    let mut sorter = Sorter::with(&env, "db/sort-1".into(), 2000, 64 * BLOCKS_PER_RUN * BLOCK_BYTES);
    let added = (0..pairs).try_for_each(|n| sorter.add(&(n.wrapping_mul(7919)).to_be_bytes(), b"value", &mut proceed));
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
    // Some 700 runs are merged into ten or so, each pair once.
    let (times, sorted) = calls(30_000, u32::MAX);
    assert!((60..=30_000 / 256).contains(&times), "{times}");
    let mut sorted = sorted.unwrap();
    let mut before = None;
    for _ in 0..30_000 {
        let key = sorted.next().unwrap().unwrap().0.to_vec();
        assert!(before.as_ref() < Some(&key));
        before = Some(key);
    }
    assert!(sorted.next().unwrap().is_none());
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
        // A run's headers and index are no pairs.
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
fn long_values_are_written_once_and_leave_little_to_merge() {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new("db")).unwrap();
    let mut sorter = Sorter::new(&env, "db/sort-1".into(), 100_000);
    let value = |n: u32| vec![n as u8; if n.is_multiple_of(3) { values::STORED_MIN + n as usize } else { 100 }];
    for n in 0..300u32 {
        sorter.add(&(n * 7919 % 300).to_be_bytes(), &value(n), |_| Result::Ok(())).unwrap();
    }
    assert_eq!(sorter.stored.len(), (0..300).filter(|n| n % 3 == 0).map(|n| value(n).len() as u64).sum::<u64>());
    assert!(sorter.largest_pair < 200, "{}", sorter.largest_pair);
    let mut sorted = sorter.finish(|_| Result::Ok(())).unwrap();
    let mut wanted: Vec<(u32, u32)> = (0..300).map(|n| (n * 7919 % 300, n)).collect();
    wanted.sort();
    for (key, n) in wanted {
        assert_eq!(sorted.next().unwrap(), Some((&key.to_be_bytes()[..], &value(n)[..])));
    }
    assert_eq!(sorted.next().unwrap(), None);
    drop(sorted);
    assert!(env.fs.list(Path::new("db")).unwrap().is_empty());
}

#[test]
fn a_damaged_stored_value_is_named() {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new("db")).unwrap();
    let mut sorter = Sorter::new(&env, "db/sort-1".into(), 1000);
    sorter.add(b"a", &vec![7; values::STORED_MIN], |_| Result::Ok(())).unwrap();
    let file = env.fs.open(Path::new("db/sort-1/values"), alluvium_env::OpenMode::ReadWrite).unwrap();
    file.write_at(b"x", 5).unwrap();
    let error = sorter.finish(|_| Result::Ok(())).unwrap().next().unwrap_err();
    assert!(error.to_string().contains("a value of the sort is damaged"), "{error}");
}

#[test]
fn fewer_runs_are_merged_at_once_if_their_pairs_are_large() {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new("db")).unwrap();
    let mut sorter = Sorter::new(&env, "db/sort-1".into(), 64 * BLOCKS_PER_RUN * BLOCK_BYTES);
    assert_eq!(sorter.fan_in(), MERGE_MAX);
    sorter.add(&vec![1; 8 * BLOCK_BYTES], b"", |_| Result::Ok(())).unwrap();
    assert_eq!(sorter.fan_in(), 7);
    sorter.add(&vec![1; 100 * BLOCK_BYTES], b"", |_| Result::Ok(())).unwrap();
    assert_eq!(sorter.fan_in(), 2);
}
