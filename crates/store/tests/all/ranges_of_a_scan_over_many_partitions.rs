//! Scans of ranges over 256 partitions, in both directions, including empty and inverted ranges.

use alluvium_env::Env;
use alluvium_store::{Bounds, Durability, Options, Store, TreeId};
use std::ops::Bound;

fn scan(store: &Store, tree: TreeId, lower: Bound<u16>, upper: Bound<u16>, reverse: bool) -> Vec<u16> {
    let key = |bound: Bound<u16>| bound.map(|n| n.to_be_bytes().to_vec());
    let mut scan = store.scan(tree, Bounds { lower: key(lower), upper: key(upper), reverse }, None).unwrap();
    let mut found = Vec::new();
    while let Some((key, _)) = scan.next().unwrap() {
        found.push(u16::from_be_bytes(key.try_into().unwrap()));
    }
    found
}

#[test]
fn ranges_hold_what_they_say() {
    let options = Options { partitions: Some(256), memory_bytes: 64 << 20, background: false, ..Options::default() };
    let store = Store::open(Env::in_memory(6), "db".as_ref(), options).unwrap();
    let trees = store.create_trees(&[b"before", b"tree", b"after"]).unwrap();
    let mut batch = store.batch();
    for n in (0..3000u16).step_by(3) {
        trees.iter().for_each(|tree| batch.put(*tree, &n.to_be_bytes(), b"v"));
    }
    store.write(batch, Durability::Bulk).unwrap();
    for flushed in [false, true] {
        if flushed {
            store.flush().unwrap();
        }
        let bounds =
            [Bound::Unbounded, Bound::Included(30), Bound::Excluded(30), Bound::Included(31), Bound::Included(2997)];
        for lower in bounds {
            for upper in bounds {
                let inside = |n: &u16| {
                    let above = match lower {
                        Bound::Included(l) => *n >= l,
                        Bound::Excluded(l) => *n > l,
                        Bound::Unbounded => true,
                    };
                    let below = match upper {
                        Bound::Included(u) => *n <= u,
                        Bound::Excluded(u) => *n < u,
                        Bound::Unbounded => true,
                    };
                    above && below
                };
                let mut wanted: Vec<u16> = (0..3000).step_by(3).filter(inside).collect();
                assert_eq!(scan(&store, trees[1], lower, upper, false), wanted, "{lower:?} {upper:?}");
                wanted.reverse();
                assert_eq!(scan(&store, trees[1], lower, upper, true), wanted, "{lower:?} {upper:?} reversed");
            }
        }
    }
}
