//! Many threads apply and read at once.
#![cfg(not(feature = "shuttle"))]
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod common;

use alluvium_codec::entry::EntryIter;
use alluvium_memtable::Memtable;
use common::{Model, Owned, collect, random_entry, seed, wander};
use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};

const WRITERS: usize = 4;
const BATCHES: usize = 200;

/// Writers apply batches whose numbers are interleaved, while readers get and iterate. An entry that a reader has seen
/// stays visible to it, and at the end all entries exist.
#[test]
fn many_threads_apply_and_read() {
    let seed = seed();
    for round in 0..4 {
        one_life(seed + round);
    }
}

fn one_life(seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut seq = 0;
    let mut batches: Vec<Vec<Vec<Owned>>> = vec![Vec::new(); WRITERS];
    for at in 0..BATCHES * WRITERS {
        let batch = (0..rng.usize(1..10)).map(|_| {
            seq += 1;
            random_entry(&mut rng, seq)
        });
        batches[at % WRITERS].push(batch.collect());
    }
    let model: Model = batches
        .iter()
        .flatten()
        .flatten()
        .map(|e| ((e.key.clone(), Reverse(e.seq)), (e.kind, e.value.clone())))
        .collect();
    let table = Arc::new(Memtable::new(1));
    let (start, stop) = (Barrier::new(WRITERS + 2), AtomicBool::new(false));
    // All batches are registered before the seal, as the commit leader does when it numbers them.
    (0..WRITERS * BATCHES).for_each(|_| table.register_writer());
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2u64)
            .map(|at| {
                let (table, start, stop, model) = (&table, &start, &stop, &model);
                scope.spawn(move || {
                    start.wait();
                    read(table, model, stop, fastrand::Rng::with_seed(seed ^ at));
                })
            })
            .collect();
        let writers = batches.iter().map(|batches| {
            let (table, start) = (&table, &start);
            scope.spawn(move || {
                start.wait();
                for (at, batch) in batches.iter().enumerate() {
                    if at == BATCHES / 2 {
                        table.seal(seq);
                    }
                    table.apply(batch.iter().map(Owned::entry));
                    table.finish_writer();
                }
            })
        });
        writers.collect::<Vec<_>>().into_iter().for_each(|w| w.join().unwrap());
        table.wait_for_writers();
        stop.store(true, Ordering::Release);
        readers.into_iter().for_each(|r| r.join().unwrap());
    });
    assert!(collect(&mut table.iter()) == model);
    wander(&mut table.iter(), &model, &mut rng, 500);
}

fn read(table: &Arc<Memtable>, model: &Model, stop: &AtomicBool, mut rng: fastrand::Rng) {
    let mut value = Vec::new();
    let mut seen = Model::new();
    while !stop.load(Ordering::Acquire) {
        for ((key, seq), expected) in &seen {
            if rng.u8(0..16) == 0 {
                let (found, kind) = table.get(key, seq.0, &mut value).expect("what was seen stays");
                assert!(found == seq.0 && (kind, &value) == (expected.0, &expected.1));
            }
        }
        let mut iter = table.iter();
        let now = collect(&mut iter);
        assert!(seen.keys().all(|key| now.contains_key(key)), "an iterator sees what was applied before it");
        assert!(now.iter().all(|(key, entry)| model.get(key) == Some(entry)), "nothing is torn");
        iter.seek(&[0, 0, 0, 2], 100).unwrap();
        seen = now;
    }
}
