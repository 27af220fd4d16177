use super::*;

const M: usize = 1 << 20;

fn used(budget: &Budget) -> usize {
    budget.used(Owner::Queries)
}

#[test]
fn charges_of_a_query_are_one_account_and_all_comes_back() {
    let budget = Budget::new(64 * M);
    let query = QueryMemory::new(&budget);
    let mut charges: Vec<QueryCharge> = (0..100).map(|_| query.charge()).collect();
    assert!(charges.iter_mut().all(|charge| charge.grow(1000)));
    let held: usize = charges.iter().map(QueryCharge::bytes).sum();
    assert_eq!(query.held(), held);
    // Each charge alone would be free.
    assert_eq!(used(&budget), drawn(held));
    assert!(held >= 100_000 && used(&budget) > 0);
    charges.iter_mut().for_each(|charge| charge.shrink(10));
    assert_eq!((query.held(), used(&budget)), (1000, 0));
    assert!(charges[0].grow(M));
    drop(charges);
    assert_eq!((query.held(), used(&budget)), (0, 0));
}

#[test]
fn a_query_that_holds_little_always_gets_it() {
    let budget = Budget::new(64 * M);
    let share = budget.query_share();
    let mut hogs: Vec<(QueryMemory, QueryCharge)> = Vec::new();
    for _ in 0..64 {
        let query = QueryMemory::new(&budget);
        let mut charge = query.charge();
        let mut bytes = 0;
        while charge.grow(bytes) {
            bytes += UNIT;
        }
        assert!(charge.bytes() >= SMALL, "a small query is refused");
        hogs.push((query, charge));
    }
    assert!(used(&budget) <= share);
    assert!(hogs[0].1.bytes() > share / 2, "one alone gets most of the memory");
    // The cache makes room.
    assert_eq!(budget.cache_capacity(), 2 * M);
    let bytes = hogs.iter().map(|hog| hog.1.bytes()).sum::<usize>();
    assert!(bytes <= share + 64 * FREE);
    // A refusal changes nothing.
    let (query, charge) = &mut hogs[0];
    let before = charge.bytes();
    assert!(!charge.grow(usize::MAX));
    assert_eq!((charge.bytes(), query.held()), (before, before));
    hogs.clear();
    assert_eq!(used(&budget), 0);
}

#[test]
#[allow(clippy::disallowed_methods, reason = "threads of the system, which take turns as they like")]
fn threads_of_a_query_return_what_they_take() {
    let budget = Budget::new(64 * M);
    let query = QueryMemory::new(&budget);
    std::thread::scope(|scope| {
        for thread in 1..5 {
            let query = &query;
            scope.spawn(move || {
                for round in 0..2000 {
                    let (mut a, mut b) = (query.charge(), query.charge());
                    let _more = a.grow(round * thread * 100) && b.grow(round * 7000);
                    a.shrink(round * 50);
                }
            });
        }
    });
    assert_eq!((query.held(), used(&budget)), (0, 0));
}
