use super::*;

fn all(bytes: &[u8]) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut reader = PairReader::new(bytes);
    let mut pairs = Vec::new();
    while reader.next_pair()? {
        pairs.push((reader.key().to_vec(), reader.value().to_vec()));
    }
    assert_eq!(reader.bytes(), bytes.len() as u64);
    Ok(pairs)
}

#[test]
fn lengths_with_bytes_that_are_escaped() {
    // The seed encodes lengths as follows: 26 is 1b 1a 1a, 27 is 1b 1b 1a, 0x1b1a is 1b 1a 1b 1b
    // 1a, 256 is 00 01 1a.
    for (len, head) in [
        (0, &b"\x1a"[..]),
        (1, b"\x01\x1a"),
        (26, b"\x1b\x1a\x1a"),
        (27, b"\x1b\x1b\x1a"),
        (256, b"\x00\x01\x1a"),
        (0x1b1a, b"\x1b\x1a\x1b\x1b\x1a"),
    ] {
        let value = vec![0x1a; len];
        let mut bytes = Vec::new();
        write_pair(b"k", &value, &mut bytes);
        assert_eq!(&bytes[..3], b"\x01\x1ak");
        assert_eq!(&bytes[3..3 + head.len()], head, "{len}");
        assert_eq!(all(&bytes).unwrap(), [(b"k".to_vec(), value)]);
    }
}

#[test]
fn any_pairs_and_cut_anywhere() {
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..50 {
        let pairs: Vec<(Vec<u8>, Vec<u8>)> = (0..random.usize(0..6))
            .map(|_| {
                let mut bytes = |most| (0..random.usize(0..most)).map(|_| random.u8(..)).collect();
                (bytes(40), bytes(700))
            })
            .collect();
        let (mut bytes, mut ends) = (Vec::new(), vec![0]);
        for (key, value) in &pairs {
            write_pair(key, value, &mut bytes);
            ends.push(bytes.len());
        }
        assert_eq!(all(&bytes).unwrap(), pairs);
        for cut in 0..bytes.len() {
            match all(&bytes[..cut]) {
                Ok(found) => assert_eq!(ends[found.len()], cut),
                Err(error) => {
                    assert!(!ends.contains(&cut), "{cut}");
                    assert!(error.to_string().contains("is incomplete"), "{error}");
                }
            }
        }
    }
}

#[test]
fn lengths_beyond_all_measure_take_no_memory() {
    for bytes in [&b"\x00\x00\x00\xff\x1a"[..], b"\x01\x01\x01\x01\x01\x1a", b"text that is no pairs at all"] {
        let error = all(bytes).unwrap_err();
        assert!(error.to_string().starts_with("pair 1 is incomplete"), "{error}");
    }
}
