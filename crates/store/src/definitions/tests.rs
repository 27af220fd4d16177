use super::*;

#[test]
fn what_is_packed_is_unpacked_and_anything_else_is_refused() {
    let mut defined = Defined::new();
    defined.entry(7).or_default().extend([(1, b"one".to_vec()), (300, vec![])]);
    defined.entry(9).or_default();
    let packed = pack(&defined);
    assert_eq!(unpack(&packed), Some(defined));
    assert_eq!(unpack(&[]), Some(Defined::new()));
    // The bytes may end where a tree ends: at the start, before the two bytes of the last tree, and after them.
    let whole = [0, packed.len() - 2, packed.len()];
    for cut in 0..packed.len() {
        assert_eq!(unpack(&packed[..cut]).is_some(), whole.contains(&cut), "cut at {cut}");
    }
    assert_eq!(unpack(&[7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]), None);
}
