use super::*;

fn listing() -> Listing {
    let file = |path: &str, checksum, in_base| ListedFile { path: path.to_owned(), bytes: 17, checksum, in_base };
    Listing {
        id: 0xfeed,
        database_id: u64::MAX,
        seq: 99,
        partitions: 2,
        base: Some(3),
        files: vec![
            file("p000/00000012.sst", FileChecksum::Footer(5), true),
            file("p000/MANIFEST-1", FileChecksum::Content(u64::MAX), false),
        ],
    }
}

#[test]
fn it_comes_back() {
    let path = Path::new("CHECKPOINT");
    let bytes = listing().encode();
    assert_eq!(Listing::decode(&bytes, path).unwrap(), listing());
    let empty = Listing { partitions: 1, ..Listing::default() };
    assert_eq!(Listing::decode(&empty.encode(), path).unwrap(), empty);
}

#[test]
fn every_flipped_byte_and_every_cut_is_found() {
    let path = Path::new("CHECKPOINT");
    let bytes = listing().encode();
    for at in 0..bytes.len() {
        assert!(Listing::decode(&bytes[..at], path).is_err(), "cut at {at}");
        for mask in 1..=u8::MAX {
            let mut damaged = bytes.clone();
            damaged[at] ^= mask;
            assert!(Listing::decode(&damaged, path).is_err(), "byte {at}, with {mask:02x} flipped");
        }
    }
}

#[test]
fn a_newer_format_and_a_path_that_leads_out_are_refused() {
    let path = Path::new("CHECKPOINT");
    let text = String::from_utf8(listing().encode()).unwrap();
    let sealed = |text: &str, version: u64| {
        let body = &text[..text.rfind("end ").unwrap()];
        format!("{body}end 2 {:016x}\n", checksum64(body.as_bytes(), version)).into_bytes()
    };
    let newer = text.replace("checkpoint 1", "checkpoint 2");
    let error = Listing::decode(&sealed(&newer, 2), path).unwrap_err();
    assert!(error.to_string().contains("newer build"), "{error}");
    let out = text.replace("p000/00000012.sst", "../00000012.sst");
    assert!(Listing::decode(&sealed(&out, 1), path).is_err());
    assert!(Listing::decode(&sealed(&text, 1), path).is_ok());
}

#[test]
fn a_checksum_is_read_as_it_was_written() {
    let path = Path::new("CHECKPOINT");
    let whole = (0..100).map(|seq| Listing { seq, ..listing() }.encode());
    let text = whole.map(|bytes| String::from_utf8(bytes).unwrap()).find(|text| ends_in_a_letter(text)).unwrap();
    let (body, sum) = text.trim_end().rsplit_once(' ').unwrap();
    assert!(Listing::decode(text.as_bytes(), path).is_ok());
    let capitals = format!("{body} {}\n", sum.to_uppercase());
    assert!(Listing::decode(capitals.as_bytes(), path).is_err());
}

fn ends_in_a_letter(text: &str) -> bool {
    text.trim_end().ends_with(|last: char| last.is_ascii_lowercase())
}

#[test]
fn numbers_above_their_limits_are_refused() {
    let path = Path::new("CHECKPOINT");
    let decoded = |change: fn(&mut Listing)| {
        let mut listing = listing();
        change(&mut listing);
        Listing::decode(&listing.encode(), path)
    };
    assert!(decoded(|listing| listing.seq = LAST_SEQ).is_ok());
    assert!(decoded(|listing| listing.seq = LAST_SEQ + 1).is_err());
    assert!(decoded(|listing| listing.seq = u64::MAX).is_err());
    assert!(decoded(|listing| listing.files[0].bytes = MAX_NUMBER - 17).is_ok());
    assert!(decoded(|listing| listing.files[0].bytes = MAX_NUMBER).is_err());
    let both = |listing: &mut Listing| listing.files.iter_mut().for_each(|file| file.bytes = u64::MAX);
    assert!(decoded(both).is_err(), "their sum has no 64 bits");
    assert!(decoded(|listing| listing.partitions = 257).is_err());
}
