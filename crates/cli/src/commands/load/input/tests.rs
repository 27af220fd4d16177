use super::*;
use std::io::Write;

#[test]
fn the_first_bytes_decide_and_then_the_name() {
    let of = |name: &str, head: &[u8]| Packing::of(Path::new(name), head);
    assert_eq!(of("a.jsonl", b"{\"a\""), Packing::Plain);
    assert_eq!(of("a.jsonl", &[0x1f, 0x8b, 8, 0]), Packing::Gzip);
    assert_eq!(of("a.gz", ZSTD_MAGIC), Packing::Zstd);
    assert_eq!(of("a.jsonl.gz", b"{\"a\""), Packing::Gzip);
    assert_eq!(of("a.zst", b""), Packing::Zstd);
    assert_eq!(of("", &[0x1f]), Packing::Plain);
}

#[test]
fn gzip_members_and_zstd_frames_one_after_the_other_are_one_stream() {
    let gzip = |text: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).expect("memory");
        encoder.finish().expect("memory")
    };
    let zstd = |text: &[u8]| zstd::encode_all(text, 1).expect("memory");
    let both = [gzip(b"one "), gzip(b"two")].concat();
    assert_eq!(all(Packing::Gzip, both), "one two");
    let both = [zstd(b"one "), zstd(b"two")].concat();
    assert_eq!(all(Packing::Zstd, both), "one two");
}

fn all(packing: Packing, packed: Vec<u8>) -> String {
    let mut text = String::new();
    packing.reader(io::Cursor::new(packed)).and_then(|mut r| r.read_to_string(&mut text)).expect("well packed");
    text
}
