use super::*;

fn footer() -> Footer {
    Footer {
        number: 9,
        bytes: 1000 + LEN as u64,
        digest: 3,
        dictionary_id: 4,
        dictionary: Handle { offset: 500, len: 100 },
        aux: Handle { offset: 600, len: 50 },
        properties: Handle { offset: 650, len: 150 },
        index: Handle { offset: 800, len: 200 },
    }
}

fn is_refused(footer: Footer) -> bool {
    let (bytes, _) = footer.encode();
    matches!(Footer::decode(&bytes, 1000 + LEN as u64, 9), Err(Unreadable::Damaged(_)))
}

#[test]
fn what_is_encoded_is_decoded() {
    let (bytes, checksum) = footer().encode();
    let tail = [&[1, 2, 3], &bytes[..]].concat();
    assert_eq!(Footer::decode(&tail, 1000 + LEN as u64, 9), Ok((footer(), checksum)));
}

#[test]
fn every_bit_is_covered() {
    let (bytes, _) = footer().encode();
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes;
        damaged[bit / 8] ^= 1 << (bit % 8);
        let read = Footer::decode(&damaged, 1000 + LEN as u64, 9);
        assert!(matches!(read, Err(Unreadable::Damaged(_))), "bit {bit}: {read:?}");
    }
    for cut in 1..=bytes.len() {
        assert!(Footer::decode(&bytes[cut..], 1000 + LEN as u64, 9).is_err(), "cut at {cut}");
    }
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    assert!(!is_refused(footer()));
    assert!(is_refused(Footer { number: 8, ..footer() }));
    assert!(is_refused(Footer { bytes: 1000, ..footer() }));
    assert!(is_refused(Footer { dictionary_id: 0, ..footer() }));
    assert!(is_refused(Footer { dictionary: Handle { offset: 500, len: 99 }, ..footer() }));
    assert!(is_refused(Footer { aux: Handle { offset: 600, len: 51 }, ..footer() }));
    assert!(is_refused(Footer { properties: Handle { offset: 651, len: 150 }, ..footer() }));
    assert!(is_refused(Footer { index: Handle { offset: 800, len: 201 }, ..footer() }));
    assert!(is_refused(Footer { index: Handle { offset: u64::MAX, len: 200 }, ..footer() }));
}
