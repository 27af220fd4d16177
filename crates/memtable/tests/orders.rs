//! Writers, a sealer, a waiter and a reader under all orders that the memory model allows: there is
//! no deadlock, and all applied entries are found. Run with `--features loom`.
#![cfg(feature = "loom")]

use alluvium_codec::entry::{Entry, EntryIter, Kind, Seq};
use alluvium_env::thread::spawn;
use alluvium_memtable::Memtable;
use std::sync::Arc;

fn put(table: &Memtable, seq: Seq) {
    table.apply([Entry { key: b"key", seq, kind: Kind::Put, value: b"value" }].into_iter());
    table.finish_writer();
}

fn newest(table: &Memtable) -> Seq {
    table.get(b"key", Seq::MAX, &mut Vec::new()).map_or(0, |(seq, _)| seq)
}

fn count(table: &Arc<Memtable>) -> usize {
    let mut iter = table.iter();
    iter.seek_first().unwrap();
    let mut count = 0;
    while iter.valid() {
        count += 1;
        iter.next().unwrap();
    }
    count
}

#[test]
fn a_waiter_for_a_sealed_memtable_sees_all_of_it() {
    alluvium_env::orders::check(|| {
        let table = Arc::new(Memtable::new(1));
        (0..2).for_each(|_| table.register_writer());
        let writers = [1, 2].map(|seq| {
            let table = table.clone();
            spawn("writer", move || put(&table, seq))
        });
        table.seal(2);
        table.wait_for_writers();
        assert_eq!((table.len(), count(&table), table.last_seq()), (2, 2, Some(2)));
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
}

#[test]
fn two_wait_for_writers_before_the_seal() {
    alluvium_env::orders::check(|| {
        let table = Arc::new(Memtable::new(1));
        table.register_writer();
        let writing = table.clone();
        let writer = spawn("writer", move || put(&writing, 1));
        let waiting = table.clone();
        let waiter = spawn("waiter", move || {
            waiting.wait_for_writers();
            assert_eq!(newest(&waiting), 1);
        });
        table.wait_for_writers();
        assert_eq!(newest(&table), 1);
        writer.join().unwrap();
        waiter.join().unwrap();
    });
}

#[test]
fn a_reader_loses_nothing_to_the_freeze() {
    alluvium_env::orders::check(|| {
        let table = Arc::new(Memtable::new(1));
        table.register_writer();
        let (writing, reading) = (table.clone(), table.clone());
        let writer = spawn("writer", move || put(&writing, 1));
        let reader = spawn("reader", move || {
            let (first, sealed) = (newest(&reading), reading.last_seq());
            assert!(sealed.is_none_or(|last| last == 1), "{sealed:?}");
            assert!(newest(&reading) >= first && count(&reading) as Seq >= first);
        });
        table.seal(1);
        writer.join().unwrap();
        reader.join().unwrap();
        assert_eq!((newest(&table), count(&table)), (1, 1));
    });
}
