//! A memtable returns the same results as a sorted map, while it grows and when it is frozen.
#![cfg(not(feature = "shuttle"))]

mod common;

use alluvium_codec::entry::EntryIter;
use alluvium_memtable::Memtable;
use common::{Model, Owned, collect, model_get, random_entry, random_key, seed, wander};
use std::cmp::Reverse;
use std::sync::Arc;

#[test]
fn behaves_like_a_sorted_map() {
    let mut rng = fastrand::Rng::with_seed(seed());
    for round in 0..60 {
        one_life(&mut rng, if round % 10 == 0 { 200 } else { 20 });
    }
}

fn one_life(rng: &mut fastrand::Rng, batches: usize) {
    let table = Arc::new(Memtable::new(1));
    let mut model = Model::new();
    let mut seq = 0;
    for _ in 0..batches {
        let mut batch: Vec<Owned> = Vec::new();
        let most = if rng.u8(..) < 10 { 3000 } else { 30 };
        for _ in 0..rng.usize(0..most) {
            seq += 1;
            batch.push(random_entry(rng, seq));
        }
        if rng.bool() {
            rng.shuffle(&mut batch);
        }
        table.apply(batch.iter().map(Owned::entry));
        model.extend(batch.into_iter().map(|e| ((e.key, Reverse(e.seq)), (e.kind, e.value))));
        check(&table, &model, rng);
    }
    let mut from_before = table.iter();
    from_before.seek_last().unwrap();
    from_before.next().unwrap();
    table.seal(seq);
    check(&table, &model, rng);
    assert!(collect(&mut table.iter()) == model, "frozen");
    wander(&mut from_before, &model, rng, 300);
    assert!(collect(&mut from_before) == model, "an iterator from before the freeze");
}

fn check(table: &Arc<Memtable>, model: &Model, rng: &mut fastrand::Rng) {
    assert_eq!(table.len(), model.len());
    let mut value = Vec::new();
    for _ in 0..10 {
        let (key, seq) = (random_key(rng), rng.u64(0..3000));
        let found = table.get(&key, seq, &mut value).map(|(seq, kind)| (seq, kind, value.clone()));
        assert_eq!(found, model_get(model, &key, seq));
    }
    if rng.u8(0..4) == 0 {
        wander(&mut table.iter(), model, rng, 100);
    }
    if rng.u8(0..16) == 0 {
        assert!(collect(&mut table.iter()) == *model);
    }
}
