use super::record::decode_from;
use super::*;
use alluvium_codec::entry::Entry;

fn decode(payload: &[u8], first: Seq) -> alluvium_codec::Result<LogRecord<'_>> {
    decode_from(payload, first).map(|(found, _)| found)
}

#[test]
fn a_record_has_as_many_numbers_as_its_operations_take() {
    let mut batch = WriteBatch::new(5);
    batch.put(TreeId(7), b"a", b"1");
    batch.put_entry(TreeId(8), b"1a", b"");
    batch.delete(TreeId(7), b"b");
    let note = encode_flushed(3, std::iter::once((0, 2)));
    for (payload, numbers) in [(&batch.bytes, 2), (&note, 1)] {
        for last in 100..105 {
            let record = alluvium_wal::Record::new(100, last, payload);
            assert_eq!(decode_record(&record).is_ok(), last == 99 + numbers, "{numbers} numbers, up to {last}");
        }
    }
}

#[test]
fn a_batch_reads_back_from_its_log_record() {
    let mut batch = WriteBatch::new(5);
    batch.put(TreeId(7), b"a", b"1");
    batch.delete(TreeId(7), b"b");
    batch.put(TreeId(9), b"", &[0; 300]);
    batch.put(TreeId(0), b"system", b"x");
    let LogRecord::Batch(ops) = decode(&batch.bytes, 100).unwrap() else { panic!("a batch") };
    assert_eq!(ops.len(), 4);
    assert_eq!(ops[0].1, Entry { key: b"\0\0\0\x07a", seq: 100, kind: Kind::Put, value: b"1" });
    assert_eq!(ops[1].1, Entry { key: b"\0\0\0\x07b", seq: 101, kind: Kind::Delete, value: b"" });
    assert_eq!(ops[2].1.key, b"\0\0\0\x09");
    assert_eq!(ops[3].0, 0, "the system tree is in partition 0");
    assert_eq!(batch.trees, [7, 9, 0]);
    let mut seen = 0;
    for partition in batch.touched() {
        seen += batch.numbered(&batch.bytes, 100).entries(partition).count();
    }
    assert_eq!(seen, 4);
    for cut in 2..batch.bytes.len() {
        if let Ok(LogRecord::Batch(ops)) = decode(&batch.bytes[..cut], 100) {
            assert!(ops.len() < 4);
        }
    }
}

#[test]
fn the_bytes_of_a_deleted_range() {
    let mut batch = WriteBatch::new(2);
    batch.delete_range(TreeId(7), b"a", b"bc");
    let one = |partition| [&[4, partition, 5, 0, 0, 0, 7, b'a', 6][..], &[0, 0, 0, 7, b'b', b'c']].concat();
    assert_eq!(batch.bytes, [vec![0], one(0), one(1)].concat());
    assert!(!batch.grows && batch.ranges && batch.len() == 2);
    let LogRecord::Batch(ops) = decode(&batch.bytes, 100).unwrap() else { panic!("a batch") };
    let entry = |seq| Entry { key: b"\0\0\0\x07a", seq, kind: Kind::RangeDelete, value: b"\0\0\0\x07bc" };
    assert_eq!(ops, [(0, entry(100)), (1, entry(101))]);
    let numbered = batch.numbered(&batch.bytes, 100);
    assert_eq!((numbered.entries(1).count(), numbered.deleted_ranges(1).next()), (0, Some(entry(101))));
    batch.clear();
    batch.delete_range(TreeId(7), b"b", b"b");
    batch.delete_range(TreeId(7), b"b", b"a");
    assert!(batch.is_empty() && !batch.ranges, "there are no such keys");
}

#[test]
fn a_range_that_no_writer_writes_is_refused() {
    let record = |start: &[u8], end: &[u8]| {
        let mut bytes = vec![TAG_BATCH, 4, 0];
        varint::put_bytes(&mut bytes, start);
        varint::put_bytes(&mut bytes, end);
        bytes
    };
    assert!(decode(&record(b"\0\0\0\x07a", b"\0\0\0\x07b"), 1).is_ok());
    for (start, end) in
        [(&b"\0\0\0\x07b"[..], &b"\0\0\0\x07b"[..]), (b"\0\0\0\x07b", b"\0\0\0\x08"), (b"\0\0", b"\0\x01")]
    {
        assert!(decode(&record(start, end), 1).is_err(), "{start:?} to {end:?}");
    }
}

#[test]
fn every_hash_has_a_partition_in_range() {
    for partitions in 1..=256 {
        for hash in [0, 1, u64::MAX, 1 << 31, 1 << 32, 1 << 63, u64::MAX >> 1] {
            assert!(partition_of(hash, partitions) < partitions);
        }
    }
}

#[test]
fn polygenelubricants_has_a_partition() {
    // In Java, the hash of this word is the least integer, and the absolute value of that is negative.
    let hash = alluvium_codec::hash64(b"polygenelubricants");
    assert!(partition_of(hash, 3) < 3);
}

#[test]
fn index_entries_have_place_and_number_of_their_document() {
    let mut batch = WriteBatch::new(16);
    batch.put_entry(TreeId(8), b"of nothing", b"");
    assert!(batch.is_empty());
    for id in [b"a", b"b", b"c"] {
        batch.put(TreeId(7), id, b"1");
        batch.delete_entry(TreeId(8), &[b"old", &id[..]].concat());
        batch.put_entry(TreeId(9), &[b"new", &id[..]].concat(), b"t");
    }
    let read = |batch: &WriteBatch| {
        let LogRecord::Batch(ops) = decode(&batch.bytes, 100).unwrap() else { panic!("a batch") };
        let mut own: Vec<(u32, Seq, Kind, Vec<u8>)> = Vec::new();
        for partition in batch.touched() {
            let entries = batch.numbered(&batch.bytes, 100).entries(partition);
            own.extend(entries.map(|e| (u32::from(partition), e.seq, e.kind, e.key.to_vec())));
        }
        let mut ops: Vec<_> = ops.into_iter().map(|(p, e)| (p, e.seq, e.kind, e.key.to_vec())).collect();
        let by = |(place, seq, kind, key): &(u32, Seq, Kind, Vec<u8>)| (*place, *seq, *kind as u8, key.clone());
        ops.sort_by_key(by);
        own.sort_by_key(by);
        assert_eq!(ops, own, "the log and the memtables get the same");
        ops.sort_by_key(|(_, seq, _, _)| *seq);
        ops
    };
    assert_eq!(batch.len(), 3);
    for of_one in read(&batch).chunks(3) {
        assert!(of_one.iter().all(|(place, seq, _, _)| (*place, *seq) == (of_one[0].0, of_one[0].1)));
    }
    batch.retain(|at| at != 1);
    let left = read(&batch);
    assert_eq!((batch.len(), left.len()), (2, 6));
    assert!(left.iter().all(|(_, seq, _, key)| key.ends_with(if *seq == 100 { b"a" } else { b"c" })));
    // An index entry without an operation before it in the same partition is refused.
    let place = batch.ops[0].partition as u8;
    let entry = [ENTRY | 1, place, 5, 0, 0, 0, 8, b'x', 0];
    assert!(decode(&[&[TAG_BATCH][..], &entry].concat(), 1).is_err());
    let document = [1, place + 1, 5, 0, 0, 0, 7, b'x', 0];
    assert!(decode(&[&[TAG_BATCH][..], &document, &entry].concat(), 1).is_err());
}

#[test]
fn numbers_above_their_limits_are_refused() {
    use alluvium_codec::limits::{LAST_SEQ, MAX_NUMBER, MAX_TREE};
    let note = |needed, seq| decode(&encode_flushed(needed, std::iter::once((0, seq))), 1).is_ok();
    assert!(note(MAX_NUMBER, LAST_SEQ));
    assert!(!note(MAX_NUMBER + 1, 1) && !note(1, LAST_SEQ + 1) && !note(u64::MAX, 1) && !note(1, u64::MAX));
    let put = |tree: u32| {
        let mut bytes = vec![TAG_BATCH, Kind::Put as u8, 0];
        varint::put_bytes(&mut bytes, &tree.to_be_bytes());
        varint::put_bytes(&mut bytes, b"value");
        decode(&bytes, 1).is_ok()
    };
    assert!(put(MAX_TREE) && !put(MAX_TREE + 1));
}

/// The operations of a finished batch, as the log has them.
fn finished(mut batch: WriteBatch, first: Seq) -> Vec<(Seq, Vec<u8>, Vec<u8>)> {
    let unstamped = batch.take_unstamped().unwrap();
    assert!(unstamped.bytes().is_empty(), "the number is not known yet");
    unstamped.finish(&batch, first, 1234);
    assert_eq!(unstamped.bytes().len(), unstamped.len);
    let LogRecord::Batch(ops) = decode(unstamped.bytes(), first).unwrap() else { panic!("a batch") };
    let in_memory: usize = batch
        .touched()
        .into_iter()
        .map(|partition| batch.numbered(unstamped.bytes(), first).entries(partition).count())
        .sum();
    assert_eq!(in_memory, ops.len());
    ops.into_iter().map(|(_, entry)| (entry.seq, entry.key.to_vec(), entry.value.to_vec())).collect()
}

#[test]
fn operations_are_stamped_together_or_one_by_one() {
    let (mut together, mut apart) = (WriteBatch::new(4), WriteBatch::new(4));
    let stamp = |batch: &mut WriteBatch, from| {
        batch.stamp_each(TreeId(9), from, |place, write| {
            let event = [write.key(), &[place as u8]].concat();
            Ok::<_, ()>(Some(event).filter(|_| write.key() != b"e"))
        })
    };
    stamp(&mut apart, 0).unwrap();
    assert!(apart.take_unstamped().is_none(), "nothing to stamp");
    for (place, id) in [b"a", b"b", b"c", b"d", b"e", b"f"].into_iter().enumerate() {
        for batch in [&mut together, &mut apart] {
            match id {
                b"b" => batch.delete(TreeId(7), id),
                b"d" => batch.delta(TreeId(7), id, b"more"),
                _ => batch.put(TreeId(7), id, id),
            }
            batch.put_entry(TreeId(8), id, b"");
            batch.put_entry(TreeId(8), id, b"2");
        }
        stamp(&mut apart, place).unwrap();
    }
    let failed = apart.stamp_each(TreeId(9), 5, |_, _| Err("no"));
    assert_eq!(failed, Err("no"));
    stamp(&mut together, 0).unwrap();
    let (together, apart) = (finished(together, 5), finished(apart, 5));
    assert_eq!(together, apart);
    assert_eq!(apart.iter().filter(|(_, key, _)| key.starts_with(&9u32.to_be_bytes())).count(), 5);
}

#[test]
fn stamped_entries_get_the_numbers_of_their_operation_and_batch() {
    let mut batch = WriteBatch::new(300);
    batch.put_stamped(TreeId(9), b"of nothing", b"");
    assert!(batch.is_empty() && batch.take_unstamped().is_none());
    for id in [b"a", b"b", b"c"] {
        batch.put(TreeId(7), id, &[0; 200]);
        batch.put_entry(TreeId(8), id, b"");
        batch.put_stamped(TreeId(9), id, b"first");
        batch.put_stamped(TreeId(9), &[b'x'; 200], b"second");
    }
    let owners: Vec<u64> = batch.ops.iter().map(|op| op.hash).collect();
    assert!(owners.chunks(4).all(|of_one| of_one == [of_one[0]; 4]), "only documents are locked");
    let key = |tree: u32, stamp: &[Seq], rest: &[u8]| {
        let stamp: Vec<u8> = stamp.iter().flat_map(|number| number.to_be_bytes()).collect();
        [&tree.to_be_bytes()[..], &stamp, rest].concat()
    };
    let check = |found: &[(Seq, Vec<u8>, Vec<u8>)], ids: &[&[u8; 1]], first: Seq| {
        assert_eq!(found.len(), ids.len() * 4);
        let last = first + ids.len() as Seq - 1;
        for ((of_one, id), number) in found.chunks(4).zip(ids).zip(first..) {
            assert!(of_one.iter().all(|(seq, ..)| *seq == number));
            assert_eq!(of_one[1].1, key(8, &[], &id[..]));
            assert_eq!((&of_one[2].1, &of_one[2].2[..]), (&key(9, &[number, last, 1234], &id[..]), &b"first"[..]));
            assert_eq!(
                (&of_one[3].1, &of_one[3].2[..]),
                (&key(9, &[number, last, 1234], &[b'x'; 200]), &b"second"[..])
            );
        }
    };
    check(&finished(batch.clone(), 1 << 40), &[b"a", b"b", b"c"], 1 << 40);
    let mut joined = WriteBatch::new(300);
    joined.append(&batch);
    batch.retain(|at| at != 1);
    joined.append(&batch);
    check(&finished(batch, 7), &[b"a", b"c"], 7);
    check(&finished(joined.clone(), 7), &[b"a", b"b", b"c", b"a", b"c"], 7);
    let unstamped = |partition| joined.numbered(&joined.bytes, 7).unstamped_entries(partition).count();
    assert_eq!(joined.touched().into_iter().map(unstamped).sum::<usize>(), 10);
    joined.clear();
    joined.put(TreeId(7), b"a", b"");
    assert!(joined.clone().take_unstamped().is_none());
    joined.put_stamped(TreeId(9), b"", b"");
    joined.put_entry(TreeId(9), &[0; 16], &[0; 16]);
    let found = finished(joined, 7);
    assert_eq!(
        (&found[2].1, &found[2].2),
        (&key(9, &[], &[0; 16]), &vec![0; 16]),
        "an entry after a stamped one is not stamped"
    );
}
