use super::*;

#[test]
fn ranges_become_half_open_internal_ranges() {
    let range = |lower, upper| internal_range(TreeId(7), &Bounds { lower, upper, reverse: false });
    let key = |k: &[u8]| [&7u32.to_be_bytes()[..], k].concat();
    assert_eq!(range(Bound::Unbounded, Bound::Unbounded), (key(b""), 8u32.to_be_bytes().to_vec()));
    assert_eq!(range(Bound::Included(b"a".to_vec()), Bound::Included(b"b".to_vec())), (key(b"a"), key(b"b\0")));
    assert_eq!(range(Bound::Excluded(b"a".to_vec()), Bound::Excluded(b"b".to_vec())), (key(b"a\0"), key(b"b")));
    let (_, high) = internal_range(TreeId(u32::MAX), &Bounds::all());
    assert!(high.as_slice() > &[0xff; 4][..], "the last tree ends too");
}
