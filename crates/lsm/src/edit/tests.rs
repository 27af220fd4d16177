#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use proptest::prelude::*;

fn meta() -> impl Strategy<Value = FileMeta> {
    let keys = (prop::collection::vec(any::<u8>(), 0..20), prop::collection::vec(any::<u8>(), 0..20));
    (keys, any::<(u64, u64, u64, u64)>(), 0..1u64 << 56, 0..1u64 << 56).prop_map(|((a, b), n, s, t)| FileMeta {
        number: n.0,
        bytes: n.1,
        footer_checksum: n.2,
        smallest: a.clone().min(b.clone()),
        largest: a.max(b),
        min_seq: s.min(t),
        max_seq: s.max(t),
        entries: n.3,
        tombstones: n.3 / 3,
        raw_bytes: n.1 / 2,
        dictionary_id: n.2 / 7,
    })
}

/// Range tombstones in any order, some of them empty.
fn ranges() -> impl Strategy<Value = RangeSet> {
    let one = (prop::collection::vec(0..4u8, 0..4), prop::collection::vec(0..4u8, 0..4), 1..9u64);
    prop::collection::vec(one, 0..4).prop_map(|ranges| {
        RangeSet::union(ranges.iter().map(|(start, end, seq)| RangeSet::one(start, end, *seq)).collect(), &[])
    })
}

fn edit() -> impl Strategy<Value = VersionEdit> {
    let added = (any::<u64>(), meta(), prop::collection::btree_set(any::<u32>(), 0..5), any::<(u64, u64)>());
    let added = added.prop_map(|(run, meta, trees, (shadowed, clean))| AddedFile {
        run,
        meta,
        trees: trees.into_iter().collect(),
        shadowed,
        clean: if clean % 3 == 0 { 0 } else { clean },
        readers: Vec::new(),
    });
    let numbers = (any::<Option<u64>>(), any::<Option<u64>>(), any::<Option<u64>>());
    let lists = (
        prop::collection::vec(added, 0..4),
        prop::collection::vec(any::<u64>(), 0..4),
        prop::collection::vec(any::<(u64, u64)>(), 0..4),
    );
    let ranges = (ranges(), ranges(), any::<Option<u64>>());
    (numbers, lists, ranges).prop_map(|((flushed_seq, next_file, next_run), (added, removed, moved), r)| VersionEdit {
        flushed_seq,
        next_file,
        next_run,
        added,
        removed,
        moved,
        ranges: r.0,
        forgotten: r.1,
        thinned: r.2,
    })
}

proptest! {
    #[test]
    fn an_edit_survives_its_encoding(edit in edit()) {
        let mut bytes = Vec::new();
        edit.encode(&mut bytes);
        prop_assert_eq!(VersionEdit::decode(&bytes).unwrap(), edit);
    }

    #[test]
    fn a_cut_edit_is_refused_or_shorter(edit in edit(), at in any::<prop::sample::Index>()) {
        let mut bytes = Vec::new();
        edit.encode(&mut bytes);
        if !bytes.is_empty() {
            // A cut between two fields is a valid, shorter edit; frames guard against it.
            if let Ok(shorter) = VersionEdit::decode(&bytes[..at.index(bytes.len())]) {
                prop_assert_ne!(shorter, edit);
            }
        }
    }

    #[test]
    fn any_bytes_decode_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = VersionEdit::decode(&bytes);
    }
}

#[test]
fn what_no_encoder_writes_is_refused() {
    assert!(VersionEdit::decode(&[99, 1]).is_err(), "an unknown tag");
    let mut backwards = Vec::new();
    let meta = FileMeta { smallest: vec![2], largest: vec![1], ..FileMeta::default() };
    VersionEdit { added: vec![AddedFile { meta, ..AddedFile::default() }], ..VersionEdit::default() }
        .encode(&mut backwards);
    assert!(VersionEdit::decode(&backwards).is_err(), "a key range the wrong way round");
    // A file whose list of trees claims 2^40 of them.
    let mut huge = Vec::new();
    varint::put_u64(&mut huge, TAG_ADDED);
    varint::put_u64(&mut huge, 0);
    FileMeta::default().encode(&mut huge);
    varint::put_u64(&mut huge, 0);
    varint::put_u64(&mut huge, 1 << 40);
    assert!(VersionEdit::decode(&huge).is_err());
    assert!(VersionEdit::decode(&[7, 1, b'b', 1, b'a', 5]).is_err(), "a range the wrong way round");
    assert!(VersionEdit::decode(&[8, 1, b'a', 1, b'b', 0]).is_err(), "number 0 is none");
    assert!(VersionEdit::decode(&[10, 3, 5]).is_err(), "no such file is added");
}

#[test]
fn the_bytes_of_range_tombstones() {
    let edit = VersionEdit {
        ranges: RangeSet::one(b"ab", b"b", 300),
        forgotten: RangeSet::one(b"a", b"ab", 5),
        thinned: Some(7),
        ..VersionEdit::default()
    };
    let mut bytes = Vec::new();
    edit.encode(&mut bytes);
    assert_eq!(bytes, [9, 7, 7, 2, b'a', b'b', 1, b'b', 0xac, 2, 8, 1, b'a', 2, b'a', b'b', 5]);
}

#[test]
fn ranges_are_added_then_thinned_then_forgotten() {
    let before = RangeSet::one(b"a", b"z", 5);
    let edit = VersionEdit {
        ranges: RangeSet::one(b"c", b"m", 9),
        forgotten: RangeSet::one(b"a", b"d", 6),
        thinned: Some(9),
        ..VersionEdit::default()
    };
    let after = edit.apply_ranges(&before);
    let expected = [(&b"c"[..], &b"m"[..], 9), (b"m", b"z", 5)].map(|(a, b, seq)| RangeSet::one(a, b, seq));
    assert_eq!(after, RangeSet::union(expected.to_vec(), &[]));
}
