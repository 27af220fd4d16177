//! Batches lock overlapping keys, under many schedules. The test checks that no thread waits forever, that an exclusive
//! holder is alone, that shared holders are not, and that no lock remains. Run with `--features shuttle`.

use super::LockMode::{Exclusive, Shared};
use super::*;
use alluvium_env::sync::atomic::{AtomicU32, Ordering};
use alluvium_env::thread::spawn;

/// Keys in three parts of the table. The first two are in the same part.
const KEYS: [u64; 4] = [1, 2, 5 << 58, 9 << 58];
/// Added to the count of holders by an exclusive holder.
const ALONE: u32 = 1000;

/// The locks that each thread takes, one batch after the other. They occur in all orders, and some occur twice.
const WANTED: [&[&[(usize, LockMode)]]; 4] = [
    &[&[(0, Exclusive), (2, Exclusive)], &[(1, Shared)]],
    &[&[(2, Exclusive), (0, Exclusive), (0, Shared)], &[(1, Exclusive)]],
    &[&[(3, Shared), (0, Shared), (1, Shared)], &[(2, Exclusive)]],
    &[&[(0, Shared), (3, Shared)], &[(3, Exclusive), (1, Shared)]],
];

fn hold(inside: &[AtomicU32], held: &LockGuard, wanted: &[(usize, LockMode)]) {
    let mut keys: Vec<usize> = wanted.iter().map(|(key, _)| *key).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(held.len(), keys.len());
    let weight = |key: usize| if wanted.contains(&(key, Exclusive)) { ALONE } else { 1 };
    for &key in &keys {
        let before = inside[key].fetch_add(weight(key), Ordering::SeqCst);
        let alone = if weight(key) == ALONE { before == 0 } else { before < ALONE };
        assert!(alone, "key {key} is held by {before}, and now by {} more", weight(key));
    }
    for &key in &keys {
        inside[key].fetch_sub(weight(key), Ordering::SeqCst);
    }
}

#[test]
fn locks_exclude_and_no_thread_waits_for_ever() {
    alluvium_env::schedules::check("-p alluvium-store --lib locks_exclude_and_no_thread_waits_for_ever", 2000, || {
        let table = LockTable::new();
        let inside: Arc<[AtomicU32; 4]> = Arc::default();
        let threads = WANTED.map(|batches| {
            let (table, inside) = (table.clone(), inside.clone());
            spawn("batch", move || {
                for wanted in batches {
                    let held = table.acquire(wanted.iter().map(|(key, mode)| (KEYS[*key], *mode)).collect());
                    hold(&inside[..], &held, wanted);
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(table.parts.iter().all(|part| part.held.lock().is_empty()), "no lock remains");
    });
}
