use super::*;
use std::path::Path;

fn sorted(count: u32, memory: usize) -> (Env, Vec<(Vec<u8>, u32)>) {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new("db")).unwrap();
    let mut sorter = Sorter::new(&env, "db/sort-1".into(), memory);
    for n in 0..count {
        // Many keys that are equal, out of order.
        let key = (n.wrapping_mul(7919) % 97).to_be_bytes();
        sorter.add(&key, &n.to_le_bytes()).unwrap();
    }
    let mut sorted = sorter.finish().unwrap();
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
        sorter.add(&n.to_be_bytes(), b"value").unwrap();
    }
    assert_eq!(env.fs.list(Path::new("db")).unwrap().len(), 1);
    drop(sorter);
    assert!(env.fs.list(Path::new("db")).unwrap().is_empty());
}
