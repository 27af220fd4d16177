//! Scans over partitions with long values. The scan releases the values that are not next, and reads them again.

use alluvium_env::Env;
use alluvium_store::{Bounds, Durability, Options, Store};
use std::collections::BTreeMap;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// A long value for one key in three, and a short one for the others.
fn value_of(n: u8, round: u8) -> Vec<u8> {
    let len = if n.is_multiple_of(3) { 400_000 } else { 20 };
    (0..len).map(|at| (at as u8).wrapping_mul(n) ^ round).collect()
}

#[test]
fn long_values_are_read_in_both_directions() {
    let options = Options { partitions: Some(4), memory_bytes: 8 << 20, background: false, ..Options::default() };
    let store = Store::open(Env::in_memory(7), "db".as_ref(), options).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let mut wanted = BTreeMap::new();
    for round in 0..3 {
        for n in (round..60u8).step_by(usize::from(round) + 1) {
            let (key, value) = (vec![n], value_of(n, round));
            let mut batch = store.batch();
            batch.put(tree, &key, &value);
            store.write(batch, Durability::Bulk).unwrap();
            wanted.insert(key, value);
        }
        store.flush().unwrap();
    }
    let mut wanted: Pairs = wanted.into_iter().collect();
    for (reverse, pauses) in [(false, false), (false, true), (true, true), (true, false)] {
        let mut scan = store.scan(tree, Bounds { reverse, ..Bounds::all() }, None).unwrap();
        let mut found = Pairs::new();
        while let Some((key, value)) = scan.next().unwrap() {
            found.push((key.to_vec(), value.to_vec()));
            if pauses && found.len().is_multiple_of(7) {
                scan.pause();
            }
        }
        if reverse {
            found.reverse();
        }
        assert!(found == wanted, "reverse: {reverse}, pauses: {pauses}");
    }
    // A key and value that were released are not lost when the scan begins again within other bounds.
    wanted.retain(|(key, _)| key[0] >= 30);
    let mut scan = store.scan(tree, Bounds::all(), None).unwrap();
    scan.next().unwrap();
    scan.restart(&Bounds { lower: std::ops::Bound::Included(vec![30]), ..Bounds::all() });
    for (key, value) in &wanted {
        assert_eq!(scan.next().unwrap(), Some((key.as_slice(), value.as_slice())));
    }
    assert_eq!(scan.next().unwrap(), None);
}
