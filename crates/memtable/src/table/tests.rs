#![cfg(not(feature = "shuttle"))]

use super::*;
use crate::iter::MemtableIter;
use alluvium_codec::entry::EntryIter;
use std::time::Duration;

fn put<'a>(key: &'a [u8], seq: Seq, value: &'a [u8]) -> Entry<'a> {
    Entry { key, seq, kind: Kind::Put, value }
}

fn get(table: &Memtable, key: &[u8], seq: Seq) -> Option<(Seq, Vec<u8>)> {
    let mut value = b"unchanged".to_vec();
    let found = table.get(key, seq, &mut value);
    if found.is_none() {
        assert_eq!(value, b"unchanged");
    }
    found.map(|(seq, _)| (seq, value))
}

#[test]
fn an_empty_memtable_is_small_and_has_nothing() {
    let table = Arc::new(Memtable::new(7));
    assert_eq!((table.first_seq(), table.last_seq(), table.len(), table.is_empty()), (7, None, 0, true));
    assert!(table.charged_bytes() < 1024);
    assert_eq!(get(&table, b"", Seq::MAX), None);
    table.apply([put(b"", 7, b"")].into_iter());
    assert!(table.charged_bytes() < 80 << 10);
    assert_eq!(get(&table, b"", 7), Some((7, vec![])));
    assert_eq!(get(&table, b"", 6), None);
}

#[test]
fn versions_may_arrive_in_any_order_of_numbers() {
    let table = Memtable::new(1);
    for seq in [5, 9, 1, 7, 3] {
        table.apply([put(b"k", seq, &[seq as u8])].into_iter());
    }
    for seq in 1..12 {
        let newest = if seq > 9 { 9 } else { (seq - 1) / 2 * 2 + 1 };
        assert_eq!(get(&table, b"k", seq), Some((newest, vec![newest as u8])));
    }
    assert_eq!(get(&table, b"k", 0), None);
}

#[test]
fn of_two_entries_with_one_key_and_number_the_last_stays() {
    for seal in [false, true] {
        let table = Arc::new(Memtable::new(1));
        table.apply([put(b"k", 1, b"a"), put(b"k", 3, b"b"), put(b"k", 2, b"c")].into_iter());
        let mut before = table.iter();
        let mut between = Vec::new();
        // Two rounds: in the second, the entries that replaced others are themselves replaced.
        for values in [[b"x"; 3], [b"d", b"e", b"f"]] {
            let [one, three, two] = values;
            table.apply([put(b"k", 1, one), put(b"k", 3, three), put(b"k", 2, two)].into_iter());
            between.push(table.iter());
        }
        if seal {
            table.seal(3);
        }
        assert_eq!(table.len(), 3);
        let now = [(3, b"e".to_vec()), (2, b"f".to_vec()), (1, b"d".to_vec())];
        for (seq, value) in &now {
            assert_eq!(get(&table, b"k", *seq), Some((*seq, value.clone())));
        }
        // An iterator created before a replacement shows the replacing entry once.
        for iter in between.iter_mut().chain([&mut before, &mut table.iter()]) {
            assert_eq!(iter_all(iter), now);
            iter.seek_last().unwrap();
            let mut back = Vec::new();
            while iter.valid() {
                back.push((iter.seq(), iter.value().to_vec()));
                iter.prev().unwrap();
            }
            back.reverse();
            assert_eq!(back, now);
        }
    }
}

#[test]
fn entries_between_two_keys_are_counted() {
    let keys: [&[u8]; 6] = [b"", b"a", b"ab", b"b", b"b\0", b"c"];
    for frozen in [false, true] {
        let table = Arc::new(Memtable::new(1));
        let mut seq = 0;
        // In two parts, so that there are several sorted runs. Each key is added three times, and the keys in the
        // middle a fourth time.
        for round in 0..4 {
            let of_round = keys.iter().rev().filter(|key| round < 3 || key.starts_with(b"b"));
            let entries: Vec<Entry<'_>> = of_round
                .map(|key| {
                    seq += 1;
                    put(key, seq, b"v")
                })
                .collect();
            table.apply(entries.into_iter());
            assert!(table.entries_between(b"a", b"b") > 0);
        }
        if frozen {
            table.seal(seq);
        }
        let bounds: Vec<&[u8]> = keys.iter().copied().chain([b"aa".as_slice(), b"z"]).collect();
        for (&lower, &upper) in bounds.iter().flat_map(|lower| bounds.iter().map(move |upper| (lower, upper))) {
            let times = |key: &&[u8]| if key.starts_with(b"b") { 4 } else { 3 };
            let within = keys.iter().copied().filter(|&key| lower <= key && key < upper);
            let expected: u64 = within.map(|key| times(&key)).sum();
            assert_eq!(table.entries_between(lower, upper), expected, "{lower:?} to {upper:?} frozen {frozen}");
        }
    }
}

#[test]
fn keys_are_spread_over_a_range() {
    for frozen in [false, true] {
        let table = Arc::new(Memtable::new(1));
        let key = |n: u32| n.to_be_bytes().to_vec();
        // The keys are in two runs.
        for part in 0..2 {
            let keys: Vec<_> = (0..1000).filter(|n| n % 2 == part).map(key).collect();
            table
                .apply(keys.iter().enumerate().map(|(at, key)| put(key, u64::from(part) * 1000 + at as Seq + 1, b"v")));
            assert!(table.entries_between(&key(0), &key(2000)) > 0);
        }
        if frozen {
            table.seal(1500);
        }
        let spread = table.spread_keys(&key(100), &key(900), 16);
        assert!((16..=18).contains(&spread.len()), "{spread:?}");
        for part in 0..8 {
            let (from, to) = (key(100 + part * 100), key(200 + part * 100));
            let within = spread.iter().filter(|key| from <= **key && **key < to).count();
            assert!((1..=4).contains(&within), "{within} in the part {part}, frozen {frozen}");
        }
        assert_eq!(table.spread_keys(&key(5), &key(8), 16), [key(5), key(6), key(7)]);
        assert!(table.spread_keys(&key(8), &key(5), 16).is_empty());
    }
}

fn iter_all(iter: &mut MemtableIter) -> Vec<(Seq, Vec<u8>)> {
    let mut all = Vec::new();
    iter.seek_first().unwrap();
    while iter.valid() {
        all.push((iter.seq(), iter.value().to_vec()));
        iter.next().unwrap();
    }
    all
}

#[test]
fn a_memtable_freezes_when_sealed_and_left() {
    let table = Arc::new(Memtable::new(1));
    table.register_writer();
    table.register_writer();
    table.finish_writer();
    table.seal(10);
    assert!(table.is_sealed() && table.last_seq() == Some(10) && table.contents().frozen().is_none());
    table.apply([put(b"late", 10, b"v")].into_iter());
    table.finish_writer();
    assert!(table.contents().frozen().is_some());
    table.wait_for_writers();
    assert_eq!(get(&table, b"late", 10), Some((10, b"v".to_vec())));

    let idle = Memtable::new(1);
    idle.seal(1);
    idle.wait_for_writers();
    assert!(idle.contents().frozen().is_some());
}

#[test]
fn waiting_ends_with_the_last_writer() {
    for seal in [false, true] {
        let table = Arc::new(Memtable::new(1));
        table.register_writer();
        table.register_writer();
        if seal {
            table.seal(2);
        }
        let waiting = Arc::clone(&table);
        let (sender, receiver) = std::sync::mpsc::channel();
        let waiter = alluvium_env::thread::spawn("waiter", move || {
            waiting.wait_for_writers();
            sender.send(waiting.len()).unwrap();
        });
        table.apply([put(b"a", 1, b"")].into_iter());
        table.finish_writer();
        assert!(receiver.recv_timeout(Duration::from_millis(20)).is_err());
        table.apply([put(b"b", 2, b"")].into_iter());
        table.finish_writer();
        assert_eq!(receiver.recv_timeout(Duration::from_secs(10)), Ok(2));
        waiter.join().unwrap();
    }
}

#[test]
fn charged_bytes_hold_what_was_applied() {
    let table = Arc::new(Memtable::new(1));
    let entries = if cfg!(miri) { 1000 } else { 20_000 };
    let mut last = table.charged_bytes();
    for seq in 1..entries as u64 {
        table.apply([put(&seq.to_be_bytes(), seq, &[0; 100])].into_iter());
        let charged = table.charged_bytes();
        assert!(charged >= last && charged as u64 >= seq * 108);
        last = charged;
    }
    assert!(last < entries * 200, "{last}");
    drop(table.iter());
    assert!(table.charged_bytes() >= last + entries * 24 - 24, "the runs are charged");
    table.seal(entries as u64);
    table.iter().seek_first().unwrap();
    assert!(table.charged_bytes() < last + entries * 8, "the runs are given back");
}
