use super::*;

#[test]
fn byte_strings_keep_their_order_also_as_prefixes() {
    let mut all: Vec<Vec<u8>> = vec![vec![]];
    for a in [0u8, 1, 2, 0x7f, 0xfe, 0xff] {
        all.push(vec![a]);
        for b in [0u8, 1, 0xff] {
            all.push(vec![a, b]);
            all.push(vec![a, b, 0]);
        }
    }
    for a in &all {
        for b in &all {
            let (mut ka, mut kb) = (Vec::new(), Vec::new());
            put_bytes(&mut ka, a);
            put_bytes(&mut kb, b);
            assert_eq!(ka.cmp(&kb), a.cmp(b), "{a:?} {b:?}");
            // The bytes after a string do not change its order.
            ka.push(0xff);
            kb.push(0);
            if a != b {
                assert_eq!(ka.cmp(&kb), a.cmp(b), "{a:?} {b:?}");
            }
        }
        let mut key = Vec::new();
        put_bytes(&mut key, a);
        let mut back = Vec::new();
        get_bytes(&mut key.as_slice(), &mut back).unwrap();
        assert_eq!(&back, a);
        for cut in 0..key.len() {
            assert!(get_bytes(&mut &key[..cut], &mut Vec::new()).is_err());
        }
    }
}

#[test]
fn doubles_keep_their_order() {
    let all = [f64::NEG_INFINITY, f64::MIN, -1.5, -1.0, -5e-324, 0.0, 5e-324, 1.0, 1.5, f64::MAX, f64::INFINITY];
    for pair in all.windows(2) {
        assert!(f64_bits(pair[0]) < f64_bits(pair[1]), "{pair:?}");
    }
    for value in all {
        assert_eq!(f64_from_bits(f64_bits(value)), value);
    }
    assert_eq!(f64_bits(-0.0), f64_bits(0.0));
}
