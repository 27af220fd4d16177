//! Shared by the memtable's tests: a model, and random moves of an iterator that is compared with it.
#![allow(dead_code, clippy::disallowed_methods)]

use alluvium_codec::entry::{Entry, EntryIter, Kind, Seq};
use alluvium_memtable::MemtableIter;
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub type Model = BTreeMap<(Vec<u8>, Reverse<Seq>), (Kind, Vec<u8>)>;

#[derive(Debug, Clone)]
pub struct Owned {
    pub key: Vec<u8>,
    pub seq: Seq,
    pub kind: Kind,
    pub value: Vec<u8>,
}

impl Owned {
    pub fn entry(&self) -> Entry<'_> {
        Entry { key: &self.key, seq: self.seq, kind: self.kind, value: &self.value }
    }
}

/// A seed that is printed when the test fails.
pub fn seed() -> u64 {
    let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    println!("SEED={seed}");
    seed
}

/// Keys with few different bytes, of several trees. Some have a long common prefix.
pub fn random_key(rng: &mut fastrand::Rng) -> Vec<u8> {
    let mut key = vec![0, 0, 0, rng.u8(1..4)];
    if rng.u8(..) < 80 {
        key.extend_from_slice(b"a long prefix that many keys have");
    }
    key.extend((0..rng.usize(0..4)).map(|_| rng.u8(0..6)));
    key
}

pub fn random_entry(rng: &mut fastrand::Rng, seq: Seq) -> Owned {
    let delete = rng.u8(0..10) == 0;
    let len = if rng.u8(..) == 0 { rng.usize(0..50_000) } else { rng.usize(0..100) };
    let value = if delete { vec![] } else { vec![rng.u8(..); len] };
    Owned { key: random_key(rng), seq, kind: if delete { Kind::Delete } else { Kind::Put }, value }
}

pub fn model_get(model: &Model, key: &[u8], seq: Seq) -> Option<(Seq, Kind, Vec<u8>)> {
    let (found, (kind, value)) = model.range((key.to_vec(), Reverse(seq))..).next()?;
    (found.0 == key).then(|| (found.1.0, *kind, value.clone()))
}

/// Makes `moves` random moves of `iter` and compares each position with the model.
pub fn wander(iter: &mut MemtableIter, model: &Model, rng: &mut fastrand::Rng, moves: usize) {
    let entries: Vec<_> = model.iter().collect();
    let mut at: Option<usize> = None;
    for _ in 0..moves {
        match rng.u8(0..20) {
            0 => {
                iter.seek_first().unwrap();
                at = Some(0);
            }
            1 => {
                iter.seek_last().unwrap();
                at = entries.len().checked_sub(1);
            }
            2 | 3 => {
                let (key, seq) = (random_key(rng), rng.u64(0..3000));
                iter.seek(&key, seq).unwrap();
                at = Some(entries.partition_point(|e| *e.0 < (key.clone(), Reverse(seq))));
            }
            4 => {
                let key = random_key(rng);
                iter.seek_before(&key).unwrap();
                at = entries.partition_point(|e| e.0.0 < key).checked_sub(1);
            }
            5..13 => {
                iter.next().unwrap();
                at = at.map(|at| at + 1);
            }
            _ => {
                iter.prev().unwrap();
                at = at.and_then(|at| at.checked_sub(1));
            }
        }
        at = at.filter(|&at| at < entries.len());
        check(iter, at.map(|at| entries[at]));
    }
}

type Expected<'a> = (&'a (Vec<u8>, Reverse<Seq>), &'a (Kind, Vec<u8>));

fn check(iter: &MemtableIter, expected: Option<Expected<'_>>) {
    assert_eq!(iter.valid(), expected.is_some());
    match expected {
        Some(((key, seq), (kind, value))) => {
            assert_eq!((iter.key(), iter.seq(), iter.kind()), (&key[..], seq.0, *kind));
            assert!(iter.value() == value);
        }
        None => assert!(iter.key().is_empty() && iter.value().is_empty()),
    }
}

/// Collects all entries of `iter` forwards, and checks that the same entries are returned backwards.
pub fn collect(iter: &mut MemtableIter) -> Model {
    let mut all = Vec::new();
    iter.seek_first().unwrap();
    while iter.valid() {
        all.push(((iter.key().to_vec(), Reverse(iter.seq())), (iter.kind(), iter.value().to_vec())));
        iter.next().unwrap();
    }
    assert!(all.is_sorted_by(|a, b| a.0 < b.0), "forwards in order, nothing twice");
    let mut back = Vec::new();
    iter.seek_last().unwrap();
    while iter.valid() {
        back.push((iter.key().to_vec(), Reverse(iter.seq())));
        iter.prev().unwrap();
    }
    assert!(back.is_sorted_by(|a, b| a > b), "backwards in order, nothing twice");
    assert_eq!(back.len(), all.len());
    all.into_iter().collect()
}
