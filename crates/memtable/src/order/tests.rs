#![cfg(not(feature = "shuttle"))]

use super::*;
use crate::table::Memtable;
use alluvium_codec::entry::{Entry, Kind};

fn apply(table: &Memtable, seqs: std::ops::Range<u64>) {
    for seq in seqs {
        let key = alluvium_codec::hash64(&seq.to_le_bytes()).to_be_bytes();
        table.apply([Entry { key: &key, seq, kind: Kind::Put, value: b"" }].into_iter());
    }
}

fn check(runs: &[Arc<Run>], entries: usize) {
    assert_eq!(runs.iter().map(|run| run.len()).sum::<usize>(), entries);
    for pair in runs.windows(2) {
        assert!(pair[0].len() >= SMALL.max(RATIO * pair[1].len()), "few runs, each much longer than the next");
    }
    for run in runs {
        assert!(run.is_sorted_by(|a, b| (a.high, a.low) < (b.high, b.low)));
    }
}

#[test]
fn runs_stay_few() {
    let table = Memtable::new(1);
    let mut entries = 0;
    let steps = if cfg!(miri) { 8 } else { 100 };
    for step in [1, 1, 1, 1, 1, 100, 7, 1, 5000, 3, 20_000, 2, 2, 2, 100, 500, 1].into_iter().cycle().take(steps) {
        apply(&table, entries + 1..entries + 1 + step);
        entries += step;
        check(&table.runs().runs, entries as usize);
    }
}

#[test]
fn an_iterators_runs_stay_as_they_were() {
    let table = Memtable::new(1);
    apply(&table, 1..1001);
    let before = table.runs().runs;
    let end = if cfg!(miri) { 2000 } else { 9000 };
    apply(&table, 1001..end);
    check(&table.runs().runs, end as usize - 1);
    check(&before, 1000);
}

#[test]
fn freezing_frees_the_runs() {
    let table = Memtable::new(1);
    apply(&table, 1..1001);
    let run = Arc::downgrade(&table.runs().runs[0]);
    table.seal(1000);
    assert!(run.upgrade().is_some());
    let frozen = table.contents().frozen().unwrap();
    assert_eq!(table.frozen_order(frozen).places.len(), 1000);
    assert!(run.upgrade().is_none());
}
