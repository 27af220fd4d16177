#![allow(clippy::disallowed_methods)]

use super::*;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn exclusive_excludes_and_shared_shares() {
    let table = LockTable::new();
    let a = table.acquire(vec![(5, LockMode::Shared), (5, LockMode::Shared), (9, LockMode::Shared)]);
    let b = table.acquire(vec![(5, LockMode::Shared)]);
    let inside = Arc::new(AtomicU32::new(0));
    let waiter = {
        let (table, inside) = (table.clone(), inside.clone());
        std::thread::spawn(move || {
            let _x = table.acquire(vec![(5, LockMode::Exclusive)]);
            inside.store(1, Ordering::SeqCst);
        })
    };
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(inside.load(Ordering::SeqCst), 0);
    drop(a);
    drop(b);
    waiter.join().unwrap();
    assert!(table.parts.iter().all(|p| p.held.lock().is_empty()), "nothing is left behind");
}

#[test]
fn overlapping_sets_in_any_order_never_deadlock_and_exclude() {
    let table = LockTable::new();
    let counters: Arc<Vec<AtomicU32>> = Arc::new((0..8).map(|_| AtomicU32::new(0)).collect());
    let threads: Vec<_> = (0..4u64)
        .map(|t| {
            let (table, counters) = (table.clone(), counters.clone());
            std::thread::spawn(move || {
                for i in 0..2000u64 {
                    let keys = [(i * 7 + t) % 8, (i * 3 + t * 5) % 8, (t + i) % 8];
                    let wanted = keys.iter().map(|k| (k << 60, LockMode::Exclusive)).collect();
                    let _guard = table.acquire(wanted);
                    let mut keys = keys.to_vec();
                    keys.sort_unstable();
                    keys.dedup();
                    for k in &keys {
                        assert_eq!(counters[*k as usize].fetch_add(1, Ordering::SeqCst), 0);
                    }
                    for k in &keys {
                        counters[*k as usize].fetch_sub(1, Ordering::SeqCst);
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}
