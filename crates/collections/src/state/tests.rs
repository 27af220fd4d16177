use super::*;

#[test]
fn what_is_reserved_follows_what_is_written() {
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
    // One large document is not paid for by all that follow.
    for _ in 0..200 {
        typical.note(300);
    }
    assert_eq!(typical.reserve(), RESERVED_MIN_BYTES);
}
