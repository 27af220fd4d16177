use super::*;
use alluvium_codec::limits::MAX_NUMBER;

#[test]
fn numbers_that_no_file_has_are_refused() {
    let most = IndexFileMeta {
        number: MAX_NUMBER,
        bytes: MAX_NUMBER,
        footer_checksum: u64::MAX,
        interval: MAX_NUMBER,
        extents: MAX_NUMBER,
    };
    let decode = |meta: &IndexFileMeta| {
        let mut bytes = Vec::new();
        meta.encode(&mut bytes);
        IndexFileMeta::decode(&mut &bytes[..])
    };
    assert_eq!(decode(&most).unwrap(), most);
    for bad in [
        IndexFileMeta { number: MAX_NUMBER + 1, ..most.clone() },
        IndexFileMeta { bytes: MAX_NUMBER + 1, ..most.clone() },
        IndexFileMeta { interval: MAX_NUMBER + 1, ..most.clone() },
        IndexFileMeta { extents: u64::MAX, ..most.clone() },
    ] {
        decode(&bad).unwrap_err();
    }
}
