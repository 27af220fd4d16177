//! Writers, a sealer, a waiter and a reader under many schedules: there is no deadlock, and
//! all applied entries are found. Run with `--features shuttle`.
#![cfg(feature = "shuttle")]

use alluvium_codec::entry::{Entry, EntryIter, Kind, Seq};
use alluvium_env::sync::Arc;
use alluvium_memtable::Memtable;

const SCHEDULES: u64 = 1000;
const WRITERS: u64 = 3;

fn put(key: &[u8], seq: Seq) -> Entry<'_> {
    Entry { key, seq, kind: Kind::Put, value: b"value" }
}

fn count(table: &Arc<Memtable>) -> usize {
    let mut iter = table.iter();
    iter.seek_first().unwrap();
    let mut seqs = Vec::new();
    while iter.valid() {
        assert_eq!(iter.value(), b"value");
        seqs.push(iter.seq());
        iter.next().unwrap();
    }
    assert!(seqs.is_sorted_by(|a, b| a > b), "versions of one key, newest first");
    seqs.len()
}

#[test]
fn writers_a_sealer_a_waiter_and_a_reader() {
    let scenario = || {
        let table = Arc::new(Memtable::new(1));
        // The leader numbers all batches before it may seal the memtable.
        (0..WRITERS).for_each(|_| table.register_writer());
        let writers: Vec<_> = (1..=WRITERS)
            .map(|seq| {
                let table = Arc::clone(&table);
                alluvium_env::thread::spawn("writer", move || {
                    table.apply([put(b"key", seq)].into_iter());
                    table.finish_writer();
                })
            })
            .collect();
        let (reading, waiting) = (Arc::clone(&table), Arc::clone(&table));
        let reader = alluvium_env::thread::spawn("reader", move || {
            let first = count(&reading);
            let mut value = Vec::new();
            let newest = reading.get(b"key", Seq::MAX, &mut value);
            assert!(first == 0 || newest.is_some());
            assert!(count(&reading) >= first);
        });
        let waiter = alluvium_env::thread::spawn("waiter", move || {
            waiting.wait_for_writers();
            assert_eq!(count(&waiting) as u64, WRITERS);
        });
        table.seal(WRITERS);
        table.wait_for_writers();
        assert_eq!((table.len() as u64, count(&table) as u64), (WRITERS, WRITERS));
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        reader.join().unwrap();
        waiter.join().unwrap();
    };
    let test = "-p alluvium-memtable --test schedules writers_a_sealer_a_waiter_and_a_reader";
    alluvium_env::schedules::check(test, 2 * SCHEDULES, scenario);
}

#[test]
fn waiting_without_a_seal() {
    let scenario = || {
        let table = Arc::new(Memtable::new(1));
        (0..2).for_each(|_| table.register_writer());
        let writers: Vec<_> = (1..3)
            .map(|seq| {
                let table = Arc::clone(&table);
                alluvium_env::thread::spawn("writer", move || {
                    table.apply([put(b"key", seq)].into_iter());
                    table.finish_writer();
                })
            })
            .collect();
        table.wait_for_writers();
        assert_eq!(table.len(), 2);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    };
    alluvium_env::schedules::check("-p alluvium-memtable --test schedules waiting_without_a_seal", SCHEDULES, scenario);
}
