use super::*;

#[test]
fn places_lie_between_the_first_and_the_last_key() {
    let (first, last) = (b"a1".as_slice(), b"a9zzz".as_slice());
    let places: Vec<Vec<u8>> = (0..PLACES).map(|place| between(first, last, place)).collect();
    assert!(places.is_sorted() && places.windows(2).all(|pair| pair[0] != pair[1]));
    assert_eq!(places[0], b"a1\0\0\0\0\0\0\0");
    assert!(places.iter().all(|place| place.as_slice() < last));
    // Keys of which one is the other's beginning, and the same key twice.
    assert!(between(b"a", b"abc", PLACES - 1).as_slice() < b"abc".as_slice());
    assert_eq!(between(b"a", b"a", 3), b"a\0\0\0\0\0\0\0\0");
    assert_eq!(between(b"", b"", 1), [0; 8]);
}
