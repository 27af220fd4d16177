use super::*;
use proptest::prelude::*;

/// Numbers up to a limit, often the limit itself.
fn up_to(most: u64) -> BoxedStrategy<u64> {
    prop_oneof![3 => 0..=most, 1 => Just(most)].boxed()
}

fn number() -> BoxedStrategy<u64> {
    up_to(MAX_NUMBER)
}

fn seq() -> BoxedStrategy<u64> {
    up_to(LAST_SEQ)
}

fn meta() -> impl Strategy<Value = FileMeta> {
    let keys = (prop::collection::vec(any::<u8>(), 0..20), prop::collection::vec(any::<u8>(), 0..20));
    let numbers = (number(), number(), any::<u64>(), number());
    (keys, numbers, seq(), seq()).prop_map(|((a, b), n, s, t)| FileMeta {
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
    let trees = prop::collection::btree_set(0..=MAX_TREE, 0..5);
    let added = (number(), meta(), trees, (0..9u64, number())).prop_map(|(run, meta, trees, (part, clean))| {
        let shadowed = meta.entries / (part + 1);
        let clean = if clean % 3 == 0 { 0 } else { clean };
        AddedFile { run, meta, trees: trees.into_iter().collect(), shadowed, clean, readers: Vec::new() }
    });
    let maybe = prop::option::of::<BoxedStrategy<u64>>;
    let numbers = (maybe(seq()), maybe(number()), maybe(number()));
    let lists = (
        prop::collection::vec(added, 0..4),
        prop::collection::vec(number(), 0..4),
        prop::collection::vec((number(), number()), 0..4),
    );
    let superseded = prop::collection::vec((0..=MAX_TREE, seq()), 0..4).prop_map(|notes| {
        let mut superseded = Superseded::default();
        notes.into_iter().for_each(|(tree, seq)| superseded.note(tree, seq));
        superseded
    });
    let rest = (ranges(), ranges(), maybe(number()), superseded);
    (numbers, lists, rest).prop_map(|((flushed_seq, next_file, next_run), (added, removed, moved), r)| VersionEdit {
        flushed_seq,
        next_file,
        next_run,
        added,
        removed,
        moved,
        ranges: r.0,
        forgotten: r.1,
        thinned: r.2,
        superseded: r.3,
    })
}

proptest! {
    #[test]
    fn an_edit_survives_its_encoding(edit in edit()) {
        let mut bytes = Vec::new();
        edit.encode(&mut bytes);
        prop_assert_eq!(edit.check(), Ok(()));
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
    assert!(VersionEdit::decode(&[8, 1, b'a', 1, b'b', 0]).is_err(), "number 0 is not valid");
    assert!(VersionEdit::decode(&[10, 3, 5]).is_err(), "no such file is added");
}

type Change = fn(&mut AddedFile);

/// The bytes of an edit that adds a file, after a change of the file.
fn added_bytes(change: Change) -> Vec<u8> {
    let meta =
        FileMeta { number: 1, bytes: 9, min_seq: 1, max_seq: 2, entries: 3, tombstones: 1, ..FileMeta::default() };
    let mut file = AddedFile { run: 1, meta, trees: vec![1], shadowed: 1, ..AddedFile::default() };
    change(&mut file);
    let mut bytes = Vec::new();
    VersionEdit { added: vec![file], ..VersionEdit::default() }.encode(&mut bytes);
    bytes
}

#[test]
fn numbers_above_their_limits_are_refused() {
    let field = |tag: u64, numbers: &[u64]| {
        let mut bytes = Vec::new();
        varint::put_u64(&mut bytes, tag);
        numbers.iter().for_each(|number| varint::put_u64(&mut bytes, *number));
        VersionEdit::decode(&bytes)
    };
    for (tag, most) in [(TAG_FLUSHED_SEQ, LAST_SEQ), (TAG_NEXT_FILE, MAX_NUMBER), (TAG_NEXT_RUN, MAX_NUMBER)] {
        assert!(field(tag, &[most]).is_ok());
        assert!(field(tag, &[most + 1]).is_err() && field(tag, &[u64::MAX]).is_err(), "tag {tag}");
    }
    for tag in [TAG_REMOVED, TAG_THINNED] {
        assert!(field(tag, &[MAX_NUMBER]).is_ok());
        assert!(field(tag, &[MAX_NUMBER + 1]).is_err() && field(tag, &[u64::MAX]).is_err(), "tag {tag}");
    }
    assert!(field(TAG_MOVED, &[3, MAX_NUMBER]).is_ok());
    assert!(field(TAG_MOVED, &[3, MAX_NUMBER + 1]).is_err() && field(TAG_MOVED, &[MAX_NUMBER + 1, 3]).is_err());
    let changes: [(&str, Change); 10] = [
        ("run", |file| file.run = MAX_NUMBER + 1),
        ("number", |file| file.meta.number = u64::MAX),
        ("bytes", |file| file.meta.bytes = MAX_NUMBER + 1),
        ("min_seq", |file| (file.meta.min_seq, file.meta.max_seq) = (u64::MAX, u64::MAX)),
        ("max_seq", |file| file.meta.max_seq = LAST_SEQ + 1),
        ("entries", |file| file.meta.entries = u64::MAX),
        ("tombstones", |file| file.meta.tombstones = 4),
        ("raw_bytes", |file| file.meta.raw_bytes = MAX_NUMBER + 1),
        ("shadowed", |file| file.shadowed = 4),
        ("trees", |file| file.trees = vec![MAX_TREE + 1]),
    ];
    assert!(VersionEdit::decode(&added_bytes(|_| {})).is_ok());
    for (name, change) in changes {
        assert!(VersionEdit::decode(&added_bytes(change)).is_err(), "{name}");
    }
}

fn superseded(tree: u32, seq: Seq) -> VersionEdit {
    let mut edit = VersionEdit::default();
    edit.superseded.note(tree, seq);
    edit
}

#[test]
fn the_bytes_of_a_superseded_number() {
    let mut bytes = Vec::new();
    superseded(7, 300).encode(&mut bytes);
    assert_eq!(bytes, [11, 7, 0xac, 2]);
    for bad in [&[11, 7][..], &[11], &[11, 0xff, 0xff, 0xff, 0xff, 0x0f, 1]] {
        assert!(VersionEdit::decode(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn what_could_not_be_read_is_not_written() {
    let edits = [
        VersionEdit { flushed_seq: Some(LAST_SEQ + 1), ..VersionEdit::default() },
        VersionEdit { next_file: Some(MAX_NUMBER + 1), ..VersionEdit::default() },
        VersionEdit { next_run: Some(MAX_NUMBER + 1), ..VersionEdit::default() },
        VersionEdit { moved: vec![(1, MAX_NUMBER + 1)], ..VersionEdit::default() },
        VersionEdit { ranges: RangeSet::one(b"a", b"b", LAST_SEQ + 1), ..VersionEdit::default() },
        superseded(1, LAST_SEQ + 1),
    ];
    for edit in edits {
        assert!(edit.check().is_err(), "{edit:?}");
    }
}

#[test]
fn ranges_within_each_other_take_memory_by_their_bytes_alone() {
    // No encoder writes these ranges, because fragments do not overlap.
    let nested = |count: u8| {
        let one = |n: u8| vec![7, 1, n, 1, 255 - n, n + 1];
        (0..count).flat_map(one).collect::<Vec<u8>>()
    };
    assert!(VersionEdit::decode(&nested(1)).is_ok());
    assert!(VersionEdit::decode(&nested(2)).is_err());
    assert!(VersionEdit::decode(&[7, 1, b'a', 1, b'b', 5, 7, 1, b'a', 1, b'b', 6]).is_err(), "rising numbers");
    assert!(VersionEdit::decode(&[7, 1, b'c', 1, b'd', 5, 7, 1, b'a', 1, b'b', 4]).is_err(), "backwards");
    let falling = VersionEdit::decode(&[7, 1, b'a', 1, b'b', 6, 7, 1, b'a', 1, b'b', 5]).unwrap();
    assert_eq!(falling.ranges.fragments()[0].seqs(), [6, 5]);
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
    let after = edit.apply_ranges(&before).unwrap();
    let expected = [(&b"c"[..], &b"m"[..], 9), (b"m", b"z", 5)].map(|(a, b, seq)| RangeSet::one(a, b, seq));
    assert_eq!(after, RangeSet::union(expected.to_vec(), &[]));
}
