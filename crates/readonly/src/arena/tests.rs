use super::*;

fn sorted(pairs: &[(&[u8], &[u8])], on_duplicate: OnDuplicate) -> Vec<(Vec<u8>, Vec<u8>, u64)> {
    let mut arena = Arena::new(1 << 16);
    for (position, (key, value)) in (1..).zip(pairs) {
        assert!(arena.fits(Arena::size_of(key, value)));
        arena.push(key, value, position);
    }
    arena.sort(on_duplicate);
    let owned = |pair: Pair<'_>| (pair.key.to_vec(), pair.value.to_vec(), position(pair.rank, on_duplicate));
    arena.pairs(on_duplicate).map(owned).collect()
}

#[test]
fn keys_that_differ_behind_their_first_bytes_or_only_in_length() {
    let keys: [&[u8]; 7] = [b"12345678b", b"12345678a", b"1234567", b"", b"\0", b"\0\0\0\0\0\0\0\0\0", b"12345678"];
    let pairs: Vec<(&[u8], &[u8])> = keys.iter().map(|key| (*key, *key)).collect();
    let found = sorted(&pairs, OnDuplicate::Skip);
    let mut expected = keys.to_vec();
    expected.sort_unstable();
    assert_eq!(found.iter().map(|(key, ..)| key.as_slice()).collect::<Vec<_>>(), expected);
    assert!(found.iter().all(|(key, value, _)| key == value));
}

#[test]
fn of_one_key_the_winner_comes_first() {
    let pairs: [(&[u8], &[u8]); 4] = [(b"k", b"1"), (b"a", b"2"), (b"k", b"3"), (b"k", b"4")];
    let order = |on_duplicate| -> Vec<u64> {
        sorted(&pairs, on_duplicate).into_iter().map(|(_, _, position)| position).collect()
    };
    assert_eq!(order(OnDuplicate::Replace), [2, 4, 3, 1]);
    assert_eq!(order(OnDuplicate::Skip), [2, 1, 3, 4]);
    assert_eq!(order(OnDuplicate::Error), [2, 1, 3, 4]);
}

#[test]
fn ranks_fall_in_the_order_of_winning() {
    assert!(rank(2, OnDuplicate::Replace) > rank(1, OnDuplicate::Replace));
    assert!(rank(1, OnDuplicate::Skip) > rank(2, OnDuplicate::Skip));
    for on_duplicate in [OnDuplicate::Error, OnDuplicate::Replace, OnDuplicate::Skip] {
        assert_eq!(position(rank(77, on_duplicate), on_duplicate), 77);
    }
}
