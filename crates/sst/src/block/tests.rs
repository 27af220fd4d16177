use super::*;
use alluvium_codec::entry::{Entry, Kind, MAX_SEQ};
use proptest::prelude::*;

type Row = (Vec<u8>, u64, Kind, Vec<u8>);

fn pack(rows: &[Row], interval: u32) -> Vec<u8> {
    let mut builder = BlockBuilder::new(interval);
    for (key, seq, kind, value) in rows {
        builder.add(Entry { key, seq: *seq, kind: *kind, value });
    }
    let mut bytes = Vec::new();
    builder.finish(&mut bytes);
    assert!(builder.is_empty());
    bytes
}

fn decode(mut content: Vec<u8>, shape: Shape) -> alluvium_codec::Result<Block> {
    content.extend_from_slice(&[0; PADDING]);
    Block::decode(content, shape)
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let key = proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xff), Just(b'k')], 0..6);
    let row = (key, 0u64..20, any::<bool>(), proptest::collection::vec(any::<u8>(), 0..20)).prop_map(
        |(key, seq, put, value)| match put {
            true => (key, seq, Kind::Put, value),
            false => (key, seq, Kind::Delete, Vec::new()),
        },
    );
    proptest::collection::vec(row, 1..80).prop_map(|mut rows| {
        rows.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        rows.dedup_by(|a, b| a.0 == b.0 && a.1 == b.1);
        rows
    })
}

proptest! {
    #[test]
    fn every_search_agrees_with_the_rows(rows in rows(), interval in 0u32..20, key in proptest::collection::vec(
        prop_oneof![Just(0u8), Just(1), Just(0xff), Just(b'k')], 0..7), seq in 0u64..20) {
        let block = decode(pack(&rows, interval), Shape::Entries).unwrap();
        prop_assert_eq!(block.len(), rows.len());
        let expected = rows.partition_point(|row| alluvium_codec::entry::compare(&row.0, row.1, &key, seq).is_lt());
        prop_assert_eq!(block.lower_bound(&key, seq).index, expected);
        let floor = rows.partition_point(|row| alluvium_codec::entry::compare(&row.0, row.1, &key, seq).is_le());
        prop_assert_eq!(block.floor(&key, seq), floor.checked_sub(1));
        let mut value = Vec::new();
        let found = block.get(&key, seq, &mut value);
        let row = rows.get(expected).filter(|row| row.0 == key);
        prop_assert_eq!(found, row.map(|row| (row.1, row.2)));
        prop_assert!(found.is_none() || Some(&value) == row.map(|row| &row.3));
        for (index, row) in rows.iter().enumerate() {
            prop_assert_eq!(block.entry(index), (row.0.clone(), row.1));
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(
        rows in rows(),
        interval in 0u32..20,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in proptest::option::of(any::<prop::sample::Index>()),
        partition: bool,
    ) {
        let mut bytes = pack(&rows, interval);
        if partition {
            bytes.extend_from_slice(&[0; 65]);
            bytes.extend_from_slice(&65u32.to_le_bytes());
        }
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let shape = if partition { Shape::Partition } else { Shape::Entries };
        if let Ok(block) = decode(bytes, shape) {
            // The damaged bytes may still decode to other entries; reading these must be safe.
            let mut cursor = Cursor::new();
            cursor.move_to(&block, block.len() - 1);
            while cursor.prev(&block) {}
            let mut index = 0;
            while cursor.next(&block) {
                index += 1;
                let key_len = block.prefix().len() + block.shared(index) + block.suffix_len(index);
                prop_assert_eq!(cursor.key().len(), key_len);
                prop_assert_eq!(cursor.value(&block).len(), block.value_len(index));
                let _ = cursor.kind();
            }
            let mut value = Vec::new();
            for (key, seq, ..) in &rows {
                block.get(key, *seq, &mut value);
                block.floor(key, *seq);
                block.direct_value(*seq as usize);
            }
            prop_assert!(block.weight() > 0 && block.filter().len() < block.weight());
        }
    }

    #[test]
    fn noise_is_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let _ = decode(bytes.clone(), Shape::Entries);
        let _ = decode(bytes, Shape::Partition);
    }
}

#[test]
fn every_byte_of_a_group_changed_is_refused_or_consistent() {
    let rows: Vec<Row> = (0..20u32).map(|n| (format!("key{:04}", n * n).into_bytes(), 9, Kind::Put, vec![])).collect();
    let packed = pack(&rows, 16);
    for at in 0..packed.len() {
        for change in [1, 2, 4, 0x10, 0xff] {
            let mut bytes = packed.clone();
            bytes[at] ^= change;
            let Ok(block) = decode(bytes, Shape::Entries) else { continue };
            let mut cursor = Cursor::new();
            cursor.move_to(&block, 0);
            for index in 1..block.len() {
                assert!(cursor.next(&block));
                let key_len = block.prefix().len() + block.shared(index) + block.suffix_len(index);
                assert_eq!(cursor.key().len(), key_len, "byte {at} ^ {change:#x}, entry {index}");
                assert_eq!(cursor.key(), block.entry(index).0, "byte {at} ^ {change:#x}, entry {index}");
            }
        }
    }
    let longer = [&packed[..], &[0]].concat();
    assert!(decode(longer, Shape::Entries).is_err(), "a byte that belongs to no entry");
}

#[test]
fn one_entry_has_only_a_prefix() {
    let rows = vec![(b"a long key".to_vec(), MAX_SEQ, Kind::Put, b"v".to_vec())];
    let block = decode(pack(&rows, 0), Shape::Entries).unwrap();
    assert_eq!(block.prefix(), b"a long key");
    assert_eq!(block.lower_bound(b"a long", 1).index, 0);
    assert_eq!(block.lower_bound(b"a long kez", 1).index, 1);
    assert_eq!(block.lower_bound(b"a long key", MAX_SEQ).index, 0);
    assert_eq!(block.lower_bound(b"a long key", 1).index, 1);
    assert_eq!(block.lower_bound(b"a long key!", MAX_SEQ).index, 1);
}

#[test]
fn small_entries_share_and_large_ones_stand_alone() {
    let small: Vec<Row> = (0..100u32).map(|n| (format!("key{n:05}").into_bytes(), 9, Kind::Put, vec![])).collect();
    let block = decode(pack(&small, 0), Shape::Entries).unwrap();
    assert_eq!(block.restarts.len(), 7);
    let large: Vec<Row> = small.iter().map(|row| (row.0.clone(), 9, Kind::Put, vec![1; 64])).collect();
    let block = decode(pack(&large, 0), Shape::Entries).unwrap();
    assert_eq!(block.restarts.len(), 100);
}

#[test]
fn what_small_entries_share_is_not_reckoned() {
    let reckoned = |rows: &[Row]| {
        let mut builder = BlockBuilder::new(0);
        rows.iter().for_each(|(key, seq, kind, value)| builder.add(Entry { key, seq: *seq, kind: *kind, value }));
        builder.raw_len()
    };
    let key = |n: u32| format!("a key that is mostly the same {n:05}").into_bytes();
    let small: Vec<Row> = (0..300u32).map(|n| (key(n), 9, Kind::Put, vec![])).collect();
    let (packed, reckoned_len) = (pack(&small, 0).len(), reckoned(&small));
    assert!((packed..packed * 5 / 2).contains(&reckoned_len), "{reckoned_len} reckoned, {packed} packed");
    // Each key of large entries is stored whole.
    let large: Vec<Row> = small.iter().map(|row| (row.0.clone(), 9, Kind::Put, vec![1; 64])).collect();
    assert_eq!(reckoned(&large), 300 * (35 + 64 + 4));
    // Only some entries are large.
    let mixed: Vec<Row> =
        small.iter().map(|row| (row.0.clone(), 9, Kind::Put, vec![1; row.0[34] as usize % 2 * 40])).collect();
    assert!(reckoned(&mixed) < mixed.iter().map(|row| row.0.len() + row.3.len()).sum::<usize>());
}

#[test]
fn an_unknown_kind_is_refused() {
    {
        let kind = Kind::RangeDelete;
        let alone = vec![(b"a".to_vec(), 1, kind, vec![])];
        assert!(decode(pack(&alone, 1), Shape::Entries).is_err());
        let mixed = vec![(b"a".to_vec(), 1, Kind::Put, vec![]), (b"b".to_vec(), 1, kind, vec![])];
        assert!(decode(pack(&mixed, 1), Shape::Entries).is_err());
    }
}

#[test]
fn common_beginnings() {
    let a: Vec<u8> = (0..40).collect();
    for at in 0..40 {
        let mut b = a.clone();
        b[at] ^= 1;
        assert_eq!(builder::common_len(&a, &b), at);
        assert_eq!(builder::common_len(&a, &a[..at]), at);
    }
    assert_eq!(builder::common_len(&a, &a), 40);
}

/// The content of a block of entries with empty values, whose numbers are `base + step * i + residual(i)`.
fn with_numbers(base: i64, step: i64, width: u8, residuals: &[u64]) -> Vec<u8> {
    let mut out = vec![residuals.len() as u8, 0, 0];
    out.extend([0, 2, 0, 0, 0, 2]);
    out.push(width | if step == 0 { 0 } else { 0x10 });
    alluvium_codec::varint::put_i64(&mut out, base);
    if step != 0 {
        alluvium_codec::varint::put_i64(&mut out, step);
    }
    out.extend([0, 0]);
    for residual in residuals {
        out.extend_from_slice(&residual.to_le_bytes()[..usize::from(width)]);
    }
    out.extend(0..residuals.len() as u8);
    out
}

#[test]
fn numbers_above_those_that_are_given_out_are_refused() {
    let last = MAX_SEQ as i64;
    let good: [(i64, i64, u8, &[u64]); 8] = [
        (last, 0, 0, &[0; 3]),
        (last - 2, 1, 0, &[0; 3]),
        (last, -1, 0, &[0; 3]),
        (0, 0, 7, &[0, MAX_SEQ]),
        (last - 255, 0, 1, &[0, 255]),
        // The line alone gives values that are too high or too low, and the residuals correct them.
        (last - 200, 0, 1, &[0, 200]),
        (-5, 0, 1, &[5, 255]),
        (last, 1, 8, &[0, u64::MAX, u64::MAX - 1]),
    ];
    for (base, step, width, residuals) in good {
        let block = decode(with_numbers(base, step, width, residuals), Shape::Entries).unwrap();
        for (index, residual) in residuals.iter().enumerate() {
            let number = (base as u64).wrapping_add((step as u64).wrapping_mul(index as u64)).wrapping_add(*residual);
            assert_eq!(block.entry(index), (vec![index as u8], number));
        }
    }
    let bad: [(i64, i64, u8, &[u64]); 8] = [
        (last + 1, 0, 0, &[0]),
        (i64::MIN, 0, 0, &[0; 3]),
        (-1, 0, 0, &[0; 3]),
        (last - 1, 1, 0, &[0; 3]),
        (1, -1, 0, &[0; 3]),
        (0, 0, 8, &[0, MAX_SEQ + 1]),
        (last - 200, 0, 1, &[0, 201]),
        (i64::MAX, i64::MAX, 8, &[0, 0, 0]),
    ];
    for (base, step, width, residuals) in bad {
        let error = decode(with_numbers(base, step, width, residuals), Shape::Entries).map(drop).unwrap_err();
        assert!(error.to_string().contains("the number of an entry"), "{base} {step} {residuals:?}: {error}");
    }
}
