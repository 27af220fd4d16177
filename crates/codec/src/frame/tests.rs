use super::*;

#[test]
fn a_frame_is_found_whole_or_not_at_all() {
    let mut out = Vec::new();
    put(&mut out, b"payload", 7, 100).unwrap();
    assert_eq!(get(&mut out.as_slice(), 7, 100), Ok(&b"payload"[..]));
    assert!(get(&mut out.as_slice(), 8, 100).is_err(), "another file");
    assert!(get(&mut out.as_slice(), 7, 101).is_err(), "another place");
    for cut in 0..out.len() {
        assert!(get(&mut &out[..cut], 7, 100).is_err());
    }
    for bit in 0..out.len() * 8 {
        let mut bad = out.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(get(&mut bad.as_slice(), 7, 100).is_err(), "bit {bit}");
    }
}
