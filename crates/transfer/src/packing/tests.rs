use super::*;

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

fn pack(packing: Packing, text: &str) -> Vec<u8> {
    let mut packer = packing.writer(Vec::new()).unwrap();
    packer.write_all(text.as_bytes()).unwrap();
    packer.finish().unwrap()
}

fn unpack(packing: Packing, packed: Vec<u8>) -> io::Result<String> {
    let mut text = String::new();
    packing.reader(io::Cursor::new(packed))?.read_to_string(&mut text)?;
    Ok(text)
}

#[test]
fn what_is_packed_comes_back_also_in_several_parts() {
    for packing in [Packing::Plain, Packing::Gzip, Packing::Zstd] {
        let both = [pack(packing, "one "), pack(packing, "two")].concat();
        assert_eq!(Packing::of(Path::new(""), &both), packing);
        assert_eq!(unpack(packing, both).unwrap(), "one two");
    }
}

#[test]
fn a_cut_stream_is_an_error() {
    for packing in [Packing::Gzip, Packing::Zstd] {
        let mut packed = pack(packing, &"text ".repeat(100));
        packed.truncate(packed.len() - 3);
        let error = unpack(packing, packed).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{packing:?}");
        assert!(error.to_string().starts_with("it ends early: its "), "{packing:?}: {error}");
    }
}

#[test]
fn what_stands_behind_a_whole_gzip_stream_is_no_cut() {
    let whole = pack(Packing::Gzip, "text");
    for garbage in [&b"x"[..], b"garbage", &[0; 100]] {
        let error = unpack(Packing::Gzip, [&whole, garbage].concat()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
        assert!(error.to_string().contains("bytes that are not gzip"), "{error}");
    }
    // A second member of which only the beginning exists is reported as truncated.
    for head in [1, 2, 5] {
        let error = unpack(Packing::Gzip, [&whole, &whole[..head]].concat()).unwrap_err();
        assert!(error.to_string().starts_with("it ends early"), "{head}: {error}");
    }
}
