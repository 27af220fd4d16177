#![cfg(not(feature = "shuttle"))]

use super::*;
use std::collections::HashMap;

#[test]
fn finds_what_was_filled_and_nothing_else() {
    let mut rng = fastrand::Rng::with_seed(7);
    let entries = if cfg!(miri) { 500 } else { 5000 };
    for bits in [2, 8, 32] {
        let (mut index, mut model) = (Index::default(), HashMap::<u32, Vec<Place>>::new());
        assert_eq!(index.find(1, |_| true), Slot::None);
        for place in 0..entries as u32 {
            // Few hashes: long runs of slots, and many places with the same hash.
            let hash = rng.u32(..) >> (32 - bits);
            index.reserve();
            let Slot::Free(at) = index.find(hash, |_| false) else { panic!() };
            index.fill(at, hash, place);
            model.entry(hash).or_default().push(place);
        }
        for (&hash, places) in &model {
            for &place in places {
                assert!(matches!(index.find(hash, |p| p == place), Slot::Of(_, found) if found == place));
            }
            let mut seen = Vec::new();
            assert!(matches!(
                index.find(hash, |p| {
                    seen.push(p);
                    false
                }),
                Slot::Free(_)
            ));
            seen.sort_unstable();
            assert_eq!(&seen, places, "only places with this hash are asked about");
        }
        assert!(index.bytes() >= entries * 8 * 4 / 3 && index.bytes() <= entries * 8 * 3);
    }
}

#[test]
fn a_replaced_place_is_found_in_the_old_ones_stead() {
    let mut index = Index::default();
    index.reserve();
    let Slot::Free(at) = index.find(9, |_| true) else { panic!() };
    index.fill(at, 9, 3);
    index.replace(at, 9, 4);
    assert_eq!(index.find(9, |place| place == 4), Slot::Of(at, 4));
}
