use super::*;
use crate::block::{BlockBuilder, PADDING, Shape};
use alluvium_codec::entry::{Entry, Kind};

pub(super) fn block(bytes: usize) -> Arc<Block> {
    let mut builder = BlockBuilder::new(1);
    builder.add(Entry { key: b"k", seq: 1, kind: Kind::Put, value: &vec![7; bytes] });
    let mut content = Vec::new();
    builder.finish(&mut content);
    content.resize(content.len() + PADDING, 0);
    Arc::new(Block::decode(content, Shape::Entries).unwrap())
}

pub(super) fn held(held: &Held) -> Vec<usize> {
    (0..held.slots.len()).filter(|&at| held.slots[at].block.load().is_some()).collect()
}

#[test]
fn no_more_is_held_than_may_be() {
    let block = block(1000);
    let each = block.weight();
    let holder = Holder::new(3 * each);
    let file = Held::new(10, Some(holder.clone()));
    for at in 0..3 {
        assert!(file.put(at, &block));
    }
    assert_eq!((holder.bytes(), held(&file)), (3 * each, vec![0, 1, 2]));
    // The new partition replaces a partition that was not used.
    let _used = (file.get(0), file.get(2));
    assert!(file.put(5, &block));
    assert_eq!((holder.bytes(), held(&file)), (3 * each, vec![0, 2, 5]));
    // Holding it a second time changes nothing.
    assert!(file.put(5, &block));
    assert_eq!(holder.bytes(), 3 * each);
    assert!(!file.put(6, &self::block(4000)), "more than all that may be held");
    assert_eq!(held(&file), [0, 2, 5]);
}

#[test]
fn what_is_beyond_a_lower_limit_is_given_back_at_once() {
    let block = block(1000);
    let each = block.weight();
    let holder = Holder::new(100 * each);
    let files: Vec<_> = (0..4).map(|_| Held::new(10, Some(holder.clone()))).collect();
    for file in &files {
        (0..10).for_each(|at| assert!(file.put(at, &block)));
        (0..10).for_each(|at| assert!(file.get(at).is_some()));
    }
    assert_eq!(holder.bytes(), 40 * each);
    holder.set_limit(7 * each);
    assert_eq!(holder.bytes(), 7 * each, "though all were used");
    assert_eq!(files.iter().map(|file| held(file).len()).sum::<usize>(), 7);
    holder.clear();
    assert_eq!(holder.bytes(), 0);
    assert!(files[0].put(0, &block), "the limit is as it was");
}

#[test]
fn a_file_that_goes_gives_back_what_it_held() {
    let block = block(100);
    let holder = Holder::new(1 << 20);
    for _ in 0..100 {
        let file = Held::new(3, Some(holder.clone()));
        assert!(file.put(1, &block) && file.get(1).is_some() && file.get(0).is_none() && file.get(3).is_none());
    }
    assert_eq!(holder.bytes(), 0);
    assert!(holder.ring.lock().files.len() < 10, "files that have gone are kept in the ring");
}

#[test]
fn without_a_holder_nothing_is_held() {
    let file = Held::new(3, None);
    assert!(!file.put(1, &block(10)) && file.get(1).is_none());
}

#[test]
fn threads_that_hold_the_same_count_it_once() {
    let block = block(500);
    let holder = Holder::new(20 * block.weight());
    let files: Vec<_> = (0..4).map(|_| Held::new(16, Some(holder.clone()))).collect();
    alluvium_env::thread::scope(|scope| {
        for thread in 0..4 {
            let (files, block, holder) = (&files, &block, &holder);
            scope.spawn(move || {
                for round in 0..2000 {
                    let (file, at) = (&files[round % 4], round * 7 % 16);
                    if file.get(at).is_none() {
                        file.put(at, block);
                    }
                    if thread == 0 && round % 100 == 0 {
                        holder.set_limit((round / 100) * block.weight());
                    }
                }
            });
        }
    });
    let slots = files.iter().map(|file| held(file).len()).sum::<usize>();
    assert_eq!(holder.bytes(), slots * block.weight());
    assert!(slots <= 19);
}
