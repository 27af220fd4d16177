use super::*;

fn hash(n: u64) -> u64 {
    alluvium_codec::hash64(&n.to_le_bytes())
}

#[test]
fn every_key_passes_and_one_absent_key_in_a_hundred() {
    for (bits, percent) in [(5, 12.0), (8, 3.0), (10, 1.3), (16, 0.25)] {
        let hashes: Vec<u64> = (0..20_000).map(hash).collect();
        let mut filter = Vec::new();
        build(&hashes, bits, &mut filter);
        assert!(is_sound(&filter));
        assert!(filter.len() <= 20_000 * bits as usize / 8 + 65);
        assert!(hashes.iter().all(|&hash| contains(&filter, hash)));
        let passed = (20_000..120_000).filter(|&n| contains(&filter, hash(n))).count();
        let rate = passed as f64 / 1000.0;
        assert!(rate < percent, "{bits} bits: {rate}%");
        assert!(rate > percent / 4.0, "{bits} bits: {rate}% is too good to be true");
    }
}

#[test]
fn few_keys_have_one_line() {
    let mut filter = vec![9; 3];
    build(&[hash(1)], 10, &mut filter);
    assert_eq!(filter.len(), 3 + 65);
    assert!(contains(&filter[3..], hash(1)));
    assert_eq!((2..1000).filter(|&n| contains(&filter[3..], hash(n))).count(), 0);
}

#[test]
fn no_filter_lets_all_pass() {
    let mut filter = Vec::new();
    build(&[1, 2], 0, &mut filter);
    build(&[], 10, &mut filter);
    assert!(filter.is_empty());
    assert!(is_sound(&filter));
    assert!(contains(&filter, 77));
}

#[test]
fn unsound_bytes_are_told() {
    let mut filter = Vec::new();
    build(&[hash(1)], 10, &mut filter);
    assert!(!is_sound(&filter[1..]));
    assert!(!is_sound(&filter[..64]));
    assert!(!is_sound(&[6]));
    let end = filter.len() - 1;
    for probes in [0, 17, 255] {
        filter[end] = probes;
        assert!(!is_sound(&filter));
    }
}
