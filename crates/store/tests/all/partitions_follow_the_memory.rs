//! The number of partitions of a new store depends on its memory budget, and stays what it was.

use alluvium_env::Env;
use alluvium_store::{Options, Store};
use std::path::Path;

/// The number of partitions of the store in `env` after it was opened, or created, with `memory_bytes`.
fn partitions(env: &Env, memory_bytes: usize) -> u32 {
    let options = Options { memory_bytes, background: false, ..Options::default() };
    let store = Store::open(env.clone(), Path::new("db"), options).unwrap();
    let partitions = store.partitions();
    store.close().unwrap();
    partitions
}

#[test]
fn a_small_budget_has_few_partitions() {
    for (memory, expected) in [(8, 1), (63, 1), (64, 4), (256, 4), (4096, 4)] {
        assert_eq!(partitions(&Env::in_memory(1), memory << 20), expected, "{memory} MiB");
    }
}

#[test]
fn another_budget_leaves_the_partitions_of_a_store() {
    let env = Env::in_memory(1);
    assert_eq!(partitions(&env, 8 << 20), 1);
    assert_eq!(partitions(&env, 2 << 30), 1);
}
