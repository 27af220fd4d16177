use super::*;

#[test]
fn pairs_are_sorted_and_keep_their_order_of_arrival() {
    let mut packed = Packed::new();
    let mut pairs: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for n in 0..20_000_u32 {
        // Keys differ within their first eight bytes, after these, in the zeros at their ends, or not at all. Some
        // pairs are larger than a chunk.
        let mut key = format!("{}key {}", n % 3, n * 7919 % 997).into_bytes();
        key.extend(vec![0; n as usize / 7000]);
        let padding = if n % 7001 == 7000 { 300_000 } else { (n % 90) as usize };
        pairs.push((key, [n.to_be_bytes().as_slice(), &vec![7; padding]].concat()));
    }
    for (key, value) in &pairs {
        packed.push(key, value);
    }
    let counted: usize = pairs.iter().map(|(key, value)| key.len() + value.len() + size_of::<Slot>()).sum();
    assert!((counted..2 * counted).contains(&packed.bytes()), "{} for {counted}", packed.bytes());
    packed.sort();
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    for (_, value) in &pairs {
        assert_eq!(packed.next_value(), Some(&value[..]));
    }
    assert_eq!(packed.next_value(), None);
}

#[test]
fn drained_pairs_come_in_the_order_of_arrival() {
    let mut packed = Packed::new();
    let pairs: Vec<_> = (0..9000_u32).map(|n| (n.reverse_bits().to_be_bytes().repeat(9), n.to_be_bytes())).collect();
    for (key, value) in &pairs {
        packed.push(key, value);
    }
    let mut drained = Vec::new();
    let whole: Result<(), ()> = packed.drain(|key, value| {
        drained.push((key.to_vec(), <[u8; 4]>::try_from(value).unwrap()));
        Ok(())
    });
    assert_eq!((whole, drained), (Ok(()), pairs));
}
