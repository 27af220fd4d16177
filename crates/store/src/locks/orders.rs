//! Batches lock overlapping keys, under all orders of their steps. The test checks that no thread waits forever, that
//! an exclusive holder is alone, and that no lock remains. Run with `--features loom`.

use super::LockMode::{Exclusive, Shared};
use super::*;
use alluvium_env::sync::atomic::{AtomicU32, Ordering};
use alluvium_env::thread::spawn;

/// Keys in two parts of the table. The first and the last are in the same part.
const KEYS: [u64; 3] = [1, 5 << 58, 2];

/// Added to the count of holders by an exclusive holder.
const ALONE: u32 = 1000;

/// Runs batches that take these locks, each batch in its own thread.
fn run(batches: &'static [&'static [(usize, LockMode)]]) {
    alluvium_env::orders::check(move || {
        let (table, inside) = (LockTable::new(), Arc::<[AtomicU32; 3]>::default());
        let hold = |table: Arc<LockTable>, inside: Arc<[AtomicU32; 3]>, wanted: &[(usize, LockMode)]| {
            let _held = table.acquire(wanted.iter().map(|(key, mode)| (KEYS[*key], *mode)).collect());
            for (key, mode) in wanted {
                let weight = if *mode == Exclusive { ALONE } else { 1 };
                let before = inside[*key].fetch_add(weight, Ordering::Relaxed);
                let alone = if *mode == Exclusive { before == 0 } else { before < ALONE };
                assert!(alone, "key {key} is held by {before}, and now by {weight} more");
            }
            for (key, mode) in wanted {
                inside[*key].fetch_sub(if *mode == Exclusive { ALONE } else { 1 }, Ordering::Relaxed);
            }
        };
        let (first, others) = batches.split_first().unwrap();
        let threads: Vec<_> = others
            .iter()
            .map(|wanted| {
                let (table, inside) = (table.clone(), inside.clone());
                spawn("batch", move || hold(table, inside, wanted))
            })
            .collect();
        hold(table.clone(), inside, first);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(table.parts.iter().all(|part| part.held.lock().is_empty()), "no lock remains");
    });
}

#[test]
fn locks_in_two_orders() {
    run(&[&[(0, Exclusive), (1, Exclusive)], &[(1, Exclusive), (0, Exclusive)]]);
}

#[test]
fn two_share_what_a_third_wants_alone() {
    run(&[&[(0, Shared)], &[(0, Exclusive)], &[(0, Shared)]]);
}

#[test]
fn three_want_to_be_alone() {
    run(&[&[(0, Exclusive)], &[(0, Exclusive)], &[(0, Exclusive)]]);
}

#[test]
fn two_wait_for_two_keys_of_one_part() {
    run(&[&[(0, Exclusive), (2, Exclusive)], &[(0, Exclusive)], &[(2, Exclusive)]]);
}
