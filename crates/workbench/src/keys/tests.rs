use std::collections::{HashMap, HashSet};

use super::{Generator, KEY_BYTES};

const SEED: u64 = 3;

#[test]
fn keys_at_different_places_differ() {
    let generator = Generator::new(SEED, 100_000, 8);
    let keys: HashSet<[u8; KEY_BYTES]> = (0..100_000).map(|place| generator.key(place)).collect();
    assert_eq!(keys.len(), 100_000);
    assert_eq!(generator.key(5), generator.key(100_005), "places wrap around");
    assert_ne!(generator.key(5), Generator::new(SEED + 1, 100_000, 8).key(5));
}

#[test]
fn keys_are_drawn_evenly_from_their_space() {
    let mut generator = Generator::new(SEED, 16, 0);
    let (mut counts, mut value) = (HashMap::new(), Vec::new());
    for _ in 0..16_000 {
        *counts.entry(generator.next_pair(&mut value)).or_insert(0) += 1;
    }
    let known: HashSet<_> = (0..16).map(|place| generator.key(place)).collect();
    assert_eq!(counts.keys().copied().collect::<HashSet<_>>(), known);
    assert!(counts.values().all(|count| (800..1_200).contains(count)), "{counts:?}");
}

#[test]
fn a_line_is_the_key_a_tab_and_the_value() {
    for value_bytes in [0, 1, 7, 8, 100] {
        let (mut pairs, mut lines) =
            (Generator::new(SEED, 1_000, value_bytes), Generator::new(SEED, 1_000, value_bytes));
        let (mut value, mut again, mut out) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..50 {
            let key = pairs.next_pair(&mut value);
            assert_eq!(value.len(), value_bytes);
            out.clear();
            lines.write_line(&mut again, &mut out);
            let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            assert_eq!(out, format!("{}\t{}\n", hex(&key), hex(&value)).into_bytes());
        }
    }
}

#[test]
fn values_are_random() {
    let mut generator = Generator::new(SEED, 1, 1_000);
    let (mut all, mut value) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        generator.next_pair(&mut value);
        all.extend_from_slice(&value);
    }
    assert!(zstd::bulk::compress(&all, 3).unwrap().len() >= all.len(), "random bytes do not compress");
}

#[test]
fn the_stream_never_changes() {
    let mut generator = Generator::new(SEED, 1 << 40, 4);
    let (mut value, mut out) = (Vec::new(), Vec::new());
    generator.write_line(&mut value, &mut out);
    assert_eq!(String::from_utf8(out).unwrap(), "f78a268c27e6c20da0c72d8e19a04300\t0ad707ac\n");
}
