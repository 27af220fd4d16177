use super::*;
use std::cell::Cell;

const M: usize = 1 << 20;

#[test]
fn memory_is_returned_once_much_more_is_resident_than_used() {
    let mut returner = Returner::default();
    let resident = Cell::new(100 * M);
    let mut look = |seconds: u64, resident_bytes: usize, used: usize| {
        resident.set(resident_bytes);
        returner.look(Duration::from_secs(seconds), || Some(resident.get()), || used)
    };
    assert!(!look(0, 100 * M, 60 * M), "as much as is usual");
    assert!(look(1, 300 * M, 60 * M));
    assert!(!look(1, 900 * M, 60 * M), "it looks once a second");
    // If an attempt returned no memory, it is not repeated at each check.
    assert!(!look(2, 301 * M, 60 * M));
    assert!(look(3, 340 * M, 60 * M), "there is more of it");
    assert!(!look(62, 340 * M, 60 * M));
    assert!(look(63, 340 * M, 60 * M), "a minute later");
    assert!(!look(200, 340 * M, 300 * M), "it is used");
}
