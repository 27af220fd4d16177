use super::*;
use crate::block::PADDING;

fn padded(mut content: Vec<u8>) -> Vec<u8> {
    content.extend_from_slice(&[0; PADDING]);
    content
}

#[test]
fn bounds_are_as_short_as_they_can_be() {
    assert_eq!(bound(b"abc", 5, b"abd"), (&b"abd"[..], MAX_SEQ));
    assert_eq!(bound(b"abc", 5, b"axyz"), (&b"ax"[..], MAX_SEQ));
    assert_eq!(bound(b"abc", 5, b"abcde"), (&b"abcd"[..], MAX_SEQ));
    assert_eq!(bound(b"", 5, b"b"), (&b"b"[..], MAX_SEQ));
    assert_eq!(bound(b"abc", 5, b"abc"), (&b"abc"[..], 4));
}

/// An index of three partitions with two blocks each. Blocks have 10 bytes, partitions 7.
fn index() -> (TopIndex, Vec<Block>, u64) {
    let mut builder = IndexBuilder::new(2, 1 << 20, 10);
    let mut partitions = Vec::new();
    let mut offset = 0;
    for n in 0..6u8 {
        builder.add_hash(u64::from(n));
        builder.add_block((&[b'a' + n], MAX_SEQ), Handle { offset, len: 0 });
        offset += 10;
        if builder.is_full(offset) {
            let mut content = Vec::new();
            builder.finish_partition(&mut content);
            partitions.push(Block::decode(padded(content), Shape::Partition).unwrap());
            builder.add_partition(Handle { offset, len: 7 });
            offset += 7;
        }
    }
    let mut content = Vec::new();
    builder.finish(&mut content);
    (TopIndex::decode(padded(content), offset).unwrap(), partitions, offset)
}

#[test]
fn every_key_leads_to_its_block() {
    let (top, partitions, _) = index();
    assert_eq!(top.len(), 3);
    assert_eq!(top.find(b"A", 1), None);
    for n in 0..6u8 {
        let key = [b'a' + n, b'x'];
        let at = top.find(&key, 1).unwrap();
        assert_eq!(at, n as usize / 2);
        let index = partitions[at].floor(&key, 1).unwrap();
        let handle = data_block(&partitions[at], index, top.region_start(at), top.partition(at).offset).unwrap();
        assert_eq!(handle, Handle { offset: u64::from(n) * 10 + u64::from(n / 2) * 7, len: 10 });
    }
}

#[test]
fn places_that_cannot_be_are_refused() {
    let (_, partitions, end) = index();
    assert!(data_block(&partitions[0], 2, 0, 20).is_none(), "no such block");
    assert!(data_block(&partitions[0], 1, 0, 9).is_none(), "a block that begins beyond its partition");
    assert!(data_block(&partitions[0], 0, 0, 5).is_none(), "a block that ends beyond its partition");
    for wrong in [0, end - 1, end + 1] {
        let mut builder = IndexBuilder::new(2, 100, 10);
        builder.add_block((b"a", MAX_SEQ), Handle { offset: 0, len: 0 });
        builder.add_partition(Handle { offset: end - 7, len: 7 });
        let mut content = Vec::new();
        builder.finish(&mut content);
        assert!(TopIndex::decode(padded(content), wrong).is_err());
    }
    for (second, good) in [(17, false), (27, true)] {
        let mut builder = IndexBuilder::new(2, 100, 10);
        for offset in [10, second] {
            builder.add_block((&[offset as u8], MAX_SEQ), Handle { offset: offset - 10, len: 0 });
            builder.finish_partition(&mut Vec::new());
            builder.add_partition(Handle { offset, len: 7 });
        }
        let mut content = Vec::new();
        builder.finish(&mut content);
        assert_eq!(TopIndex::decode(padded(content), second + 7).is_ok(), good, "nothing between partitions");
    }
    let mut short = BlockBuilder::new(1);
    short.add(index_entry((b"a", 1), b"short"));
    let mut content = Vec::new();
    short.finish(&mut content);
    assert!(TopIndex::decode(padded(content), 5).is_err());
}
