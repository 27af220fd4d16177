use super::*;
use std::sync::atomic::AtomicUsize;

#[test]
fn the_cache_gets_what_the_others_leave() {
    let budget = Budget::with_shares(1000, 300, 100);
    assert_eq!(budget.cache_capacity(), 475);
    let charge = budget.charge(Owner::Pinned, 50);
    budget.set(Owner::Dictionaries, 20);
    assert_eq!(budget.cache_capacity(), 405);
    // An owner that stays within its share or reserve takes no further bytes from the cache.
    budget.set(Owner::Memtables, 299);
    let job = budget.charge(Owner::Jobs, 90);
    assert_eq!(budget.cache_capacity(), 405);
    budget.set(Owner::Memtables, 400);
    assert_eq!(budget.cache_capacity(), 305);
    drop((charge, job));
    assert_eq!(budget.used(Owner::Jobs), 0);
    assert_eq!(budget.cache_capacity(), 355);
    budget.set(Owner::Memtables, 5000);
    assert_eq!(budget.cache_capacity(), 1000 / 32, "never nothing");
}

#[test]
fn the_cache_has_what_sealed_memtables_may_need_while_there_are_none() {
    const M: usize = 1 << 20;
    let budget = Budget::with_shares(1000 * M, 300 * M, 100 * M);
    budget.set_memtables(0, 0);
    assert_eq!(budget.cache_capacity(), 734 * M);
    budget.set_memtables(140 * M, 0);
    assert_eq!((budget.cache_capacity(), budget.used(Owner::Memtables)), (734 * M, 140 * M));
    // After sealing, as many bytes may be written again before the next memtable is sealed.
    budget.set_memtables(60 * M, 90 * M);
    assert_eq!(budget.cache_capacity(), 644 * M);
    budget.set_memtables(180 * M, 90 * M);
    assert_eq!((budget.cache_capacity(), budget.used(Owner::Memtables)), (614 * M, 270 * M));
    budget.set_memtables(10 * M, 0);
    assert_eq!(budget.cache_capacity(), 734 * M);
}

#[test]
fn a_small_budget_lends_nothing() {
    const M: usize = 1 << 20;
    for (total, capacity) in [(64, 32), (128, 88), (138, 108), (160, 132)] {
        let budget = Budget::with_shares(total * M, 24 * M, 0);
        budget.set_memtables(0, 0);
        assert_eq!(budget.cache_capacity(), capacity * M, "{total}");
        budget.set_memtables(12 * M, 12 * M);
        assert_eq!(budget.cache_capacity(), (total - 24 - total.min(128) / 8) * M, "{total}");
    }
}

#[test]
fn a_charge_can_be_resized() {
    let budget = Budget::new(1 << 20);
    let mut charge = budget.charge(Owner::Jobs, 10);
    charge.resize(500);
    assert_eq!((charge.bytes(), budget.used(Owner::Jobs)), (500, 500));
    charge.resize(5);
    assert_eq!(budget.used(Owner::Jobs), 5);
}

#[test]
fn the_listener_hears_of_large_changes_only() {
    static HEARD: AtomicUsize = AtomicUsize::new(0);
    let budget = Budget::with_shares(1 << 20, 0, 0);
    budget.listen(Box::new(|capacity| HEARD.store(capacity, Ordering::Relaxed)));
    let _small = budget.charge(Owner::Pinned, 100);
    assert_eq!(HEARD.load(Ordering::Relaxed), 0);
    let _large = budget.charge(Owner::Pinned, 100_000);
    assert_eq!(HEARD.load(Ordering::Relaxed), (1 << 20) / 8 * 7 - 100_100);
}
