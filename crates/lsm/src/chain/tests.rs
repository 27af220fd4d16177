use super::*;

struct Appends;

impl DeltaFold for Appends {
    fn fold(&self, _key: &[u8], base: &[u8], deltas: &[&[u8]], out: &mut Vec<u8>) -> Result<Option<u64>> {
        out.extend_from_slice(base);
        out.extend(deltas.concat());
        Ok(Some(0))
    }
}

#[test]
fn a_chain_is_read_oldest_first() {
    let mut chain = Chain::default();
    assert!(chain.is_empty());
    for (seq, delta) in [(9, "c"), (7, ""), (4, "ab")] {
        chain.push(seq, delta.as_bytes());
    }
    assert_eq!(chain.newest(), 9);
    let all: Vec<(Seq, &[u8])> = chain.iter().collect();
    assert_eq!(all, [(9, b"c".as_slice()), (7, b""), (4, b"ab")]);
    let mut out = b"junk".to_vec();
    assert!(chain.read(&Appends, b"key", Base::Value(3, b"x"), &mut out).unwrap());
    assert_eq!(out, b"xabc");
    assert!(!chain.read(&Appends, b"key", Base::Absent, &mut out).unwrap());
    chain.clear();
    assert!(chain.is_empty() && chain.newest() == 0);
}

#[test]
fn the_number_of_the_full_write_stays() {
    let mut content = Vec::new();
    entry::put_folded(&mut content, 300, 7);
    content.extend_from_slice(b"value");
    match Base::of(300, Kind::Folded, &content).unwrap() {
        Base::Value(full, value) => assert_eq!((full, value), (7, b"value".as_slice())),
        Base::Absent => panic!(),
    }
    assert!(matches!(Base::of(5, Kind::Put, b"v").unwrap(), Base::Value(5, b"v")));
    assert!(matches!(Base::of(5, Kind::Delete, b"").unwrap(), Base::Absent));
    // The number of the full write would be negative, then 0.
    assert!(Base::of(100, Kind::Folded, &content).is_err());
    assert!(Base::of(293, Kind::Folded, &content).is_err());
    assert!(Base::of(294, Kind::Folded, &content).is_ok());
    assert!(Base::of(100, Kind::Folded, b"").is_err());
}
