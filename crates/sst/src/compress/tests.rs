use super::*;

fn text(len: usize) -> Vec<u8> {
    (0..).flat_map(|n: u32| format!("row {} of many, ", n * n % 1000).into_bytes()).take(len).collect()
}

fn noise(len: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(5);
    (0..len).map(|_| random.u8(..)).collect()
}

#[test]
fn every_method_gives_back_what_it_was_given() {
    let dictionary = Arc::new(Dictionary::from_bytes(text(5000)));
    let ways = [
        (Compression::None, None, Method::Raw),
        (Compression::Lz4, None, Method::Lz4),
        (Compression::Zstd { level: 1 }, None, Method::Zstd),
        (Compression::Zstd { level: 3 }, Some(&dictionary), Method::ZstdDictionary),
        (Compression::Zstd { level: 9 }, Some(&dictionary), Method::ZstdDictionary),
    ];
    let mut decoder = Decoder::default();
    for (compression, with, expected) in ways {
        let mut encoder = Encoder::new(compression, with);
        for len in [1000, 4000, 100, 70_000, 300_000] {
            let raw = text(len);
            let mut body = b"before".to_vec();
            assert_eq!(encoder.encode(&raw, &mut body), expected, "{compression:?} {len}");
            assert_eq!(&body[..6], b"before");
            let body = &body[6..];
            let back = decoder.decode(expected, body, len, 8, Some(&dictionary)).unwrap();
            assert_eq!(&back[..len], &raw[..]);
            assert_eq!(&back[len..], &[0; 8]);
            assert!(decoder.decode(expected, body, len - 1, 8, Some(&dictionary)).is_err());
            assert!(decoder.decode(expected, body, len + 1, 8, Some(&dictionary)).is_err());
        }
    }
}

#[test]
fn what_does_not_shrink_is_stored_raw() {
    let dictionary = Arc::new(Dictionary::from_bytes(text(5000)));
    for (compression, with) in [
        (Compression::Lz4, None),
        (Compression::Zstd { level: 3 }, None),
        (Compression::Zstd { level: 3 }, Some(&dictionary)),
    ] {
        let mut encoder = Encoder::new(compression, with);
        for raw in [noise(5000), noise(1), Vec::new()] {
            let mut body = Vec::new();
            assert_eq!(encoder.encode(&raw, &mut body), Method::Raw);
            assert_eq!(body, raw);
        }
        // The next block is compressed again.
        assert_ne!(encoder.encode(&text(4000), &mut Vec::new()), Method::Raw);
    }
}

#[test]
fn frames_are_bare() {
    let mut encoder = Encoder::new(Compression::Zstd { level: 3 }, None);
    let mut body = Vec::new();
    encoder.encode(&[b'a'; 1000], &mut body);
    // Frame header 2 bytes, block header 3, and the run itself; no magic, size or checksum.
    assert!(body.len() <= 17, "{body:?}");
    assert_eq!(body[0] & 0b1110_0111, 0, "no content size, checksum or dictionary id");
}

#[test]
fn a_frame_without_its_dictionary_is_an_error() {
    let dictionary = Arc::new(Dictionary::from_bytes(text(5000)));
    let mut encoder = Encoder::new(Compression::Zstd { level: 3 }, Some(&dictionary));
    let mut body = Vec::new();
    let method = encoder.encode(&text(3000), &mut body);
    let mut decoder = Decoder::default();
    assert!(decoder.decode(method, &body, 3000, 8, None).is_err());
    assert!(decoder.decode(Method::Zstd, &body, 3000, 8, None).is_err());
}

#[test]
fn a_buffer_inside_a_buffer() {
    Scratch::with(|outer| {
        outer.stored.extend_from_slice(b"outer");
        Scratch::with(|inner| assert!(inner.stored.is_empty()));
        assert_eq!(outer.stored, b"outer");
    });
    Scratch::with(|scratch| scratch.stored.resize(KEPT_BYTES + 1, 0));
    Scratch::with(|scratch| assert_eq!(scratch.stored.capacity(), 0));
}

#[test]
fn where_nothing_compresses_most_blocks_are_not_tried() {
    let mut encoder = Encoder::new(Compression::Zstd { level: 3 }, None);
    for _ in 0..100 {
        assert_eq!(encoder.encode(&noise(4000), &mut Vec::new()), Method::Raw);
    }
    // Text follows again. The encoder notices that after a few blocks, and then compresses all
    // blocks.
    let methods: Vec<Method> = (0..100).map(|_| encoder.encode(&text(4000), &mut Vec::new())).collect();
    let first = methods.iter().position(|method| *method == Method::Zstd).unwrap();
    assert!((1..PROBE_EVERY as usize).contains(&first), "{first}");
    assert!(methods[first..].iter().all(|method| *method == Method::Zstd));
}
