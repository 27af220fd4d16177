#![cfg(not(feature = "shuttle"))]

use super::*;
use alluvium_codec::entry::{Entry, Kind};
use proptest::prelude::*;

fn check(keys: &[Vec<u8>]) {
    let mut arena = Arena::default();
    let mut items = Vec::new();
    let skip = keys.iter().skip(1).fold(keys[0].len(), |n, key| common_prefix(&keys[0][..n], key));
    for (seq, key) in keys.iter().enumerate() {
        let entry = Entry { key, seq: seq as u64, kind: Kind::Put, value: b"" };
        items.push(Item::new(key, skip, arena.push(entry, crate::arena::NONE)));
    }
    let mut expected: Vec<Place> = items.iter().map(|item| item.place).collect();
    expected.sort_by(|&a, &b| arena.compare(a, b));
    sort(&arena, &mut items);
    assert_eq!(items.iter().map(|item| item.place).collect::<Vec<_>>(), expected);
}

#[test]
fn versions_of_few_keys_sort_by_falling_number() {
    let keys: Vec<_> = (0..3000).map(|at: usize| vec![b'k', (at * 7 % 3) as u8]).collect();
    check(&keys);
}

#[test]
fn keys_that_differ_only_in_length_or_zeros_sort() {
    let keys: Vec<_> = (0..600).map(|at: usize| vec![0; at * 31 % 97]).collect();
    check(&keys);
    let keys: Vec<_> = (0..200).map(|at: usize| vec![b'a'; at * 31 % 197]).collect();
    check(&keys);
}

proptest! {
    #[test]
    fn any_keys_sort_like_comparing_them(
        keys in prop::collection::vec((0..4usize, prop::collection::vec(0..3u8, 0..40)), 1..300)
    ) {
        let keys: Vec<_> = keys.into_iter().map(|(n, tail)| [&[b'p'; 90][..n * 30], &tail].concat()).collect();
        check(&keys);
    }
}
