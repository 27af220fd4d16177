use super::*;

#[test]
fn the_reservation_follows_the_size_of_recent_changes() {
    let typical = ChangeSize::default();
    assert_eq!(typical.reserve(), RESERVED_MIN_BYTES);
    typical.note(300);
    assert_eq!(typical.reserve(), RESERVED_MIN_BYTES);
    typical.note(100_000);
    assert_eq!(typical.reserve(), 125_000);
    for _ in 0..10 {
        typical.note(95_000);
    }
    assert!((95_000..100_000).contains(&typical.0.load(Ordering::Relaxed)));
    // One large document does not make all later reservations large.
    for _ in 0..200 {
        typical.note(300);
    }
    assert_eq!(typical.reserve(), RESERVED_MIN_BYTES);
}
