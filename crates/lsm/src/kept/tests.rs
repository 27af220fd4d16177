use super::*;

#[test]
fn shadowed_bytes_count_from_their_last_reader_down() {
    let mut kept = Kept { shadowed: vec![(30, 4), (10, 1), (20, 2), (20, 8)], ..Kept::default() };
    kept.accumulate();
    for (seq, bytes) in [(0, 15), (10, 15), (11, 14), (20, 14), (21, 4), (30, 4), (31, 0), (u64::MAX, 0)] {
        assert_eq!(kept.shadowed_from(seq), bytes, "from {seq}");
    }
    assert_eq!(Kept::default().shadowed_from(0), 0);
}
