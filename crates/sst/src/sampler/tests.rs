use super::*;
use alluvium_codec::entry::Kind;

fn feed(sampler: &mut Sampler, rows: u32, value_len: usize) {
    for n in 0..rows {
        let (key, mut value) = (n.to_be_bytes(), format!("row {n} of some words, ").into_bytes());
        value.resize(value_len, b'0' + (n % 10) as u8);
        sampler.add(Entry { key: &key, seq: 5, kind: Kind::Put, value: &value });
    }
}

#[test]
fn samples_are_bounded_and_spread_over_the_stream() {
    let mut sampler = Sampler::new(4096);
    feed(&mut sampler, 60_000, 100);
    assert!((MAX_BYTES / 3..=MAX_BYTES).contains(&sampler.bytes), "{}", sampler.bytes);
    assert_eq!(sampler.stride, 4);
    let has = |n: u32| {
        let row = format!("row {n} of");
        sampler.samples.iter().any(|sample| sample.windows(row.len()).any(|window| window == row.as_bytes()))
    };
    // Every fourth block of 38 rows is sampled, from the first to the last.
    for start in (0..59_000).step_by(4 * 38) {
        assert!(has(start) && !has(start + 39), "around row {start}");
    }
}

#[test]
fn what_it_trains_fits_the_blocks() {
    let mut sampler = Sampler::new(4096);
    feed(&mut sampler, 5000, 100);
    assert!(sampler.train(4096).unwrap().bytes().len() <= 4096);
    assert!(Sampler::new(4096).train(4096).is_none());
    let mut large = Sampler::new(4096);
    feed(&mut large, 500, 5000);
    assert_eq!(large.bytes, 0);
    assert!(large.train(4096).is_none());
}
