use super::*;

/// Returns a function that counts the keys between two keys.
fn counter(keys: &[Vec<u8>]) -> impl Fn(&[u8], &[u8]) -> std::result::Result<u64, alluvium_store::Error> + '_ {
    |from, to| Ok(keys.iter().filter(|key| key.as_slice() >= from && key.as_slice() < to).count() as u64)
}

#[test]
fn the_middle_divides_entries_and_not_bytes() {
    // Nearly all keys are close to the last key.
    let keys = (0..1000u64).map(|n| [b"same", &(u64::MAX - (1 << 20) + n).to_be_bytes()[..]].concat());
    let first = [b"same", &[0; 8][..]].concat();
    let keys: Vec<Vec<u8>> = std::iter::once(first).chain(keys).collect();
    let found = middle(&keys[0], &keys[1000], counter(&keys)).expect("nothing fails");
    let below = keys.iter().filter(|key| **key < found).count();
    assert!((430..=570).contains(&below), "{below}");
}

#[test]
fn keys_that_are_nearly_the_same_have_a_middle_too() {
    for (first, last) in [(&b"a"[..], &b"a"[..]), (b"a", b"a\0"), (b"a", b"abc"), (b"", b""), (b"\xff", b"\xff\xff")] {
        let found = middle(first, last, |_, _| Ok(7)).expect("nothing fails");
        assert!(found.as_slice() >= first, "{first:?} {last:?} {found:?}");
    }
}
