#![cfg(not(feature = "shuttle"))]

use super::*;

#[test]
fn names_are_canonical() {
    for number in [1, 42, u64::MAX] {
        let path = path(Path::new("d"), number);
        assert_eq!(super::number(&path.file_name().unwrap().to_string_lossy()), Some(number));
    }
    let long = "wal-000000000000000000001.log";
    let beyond = "wal-99999999999999999999.log";
    let signed = "wal-+0000000000000000001.log";
    for name in ["", "wal-1.log", long, beyond, signed, "wal-00000000000000000001.log.tmp", "00000000000000000001.log"]
    {
        assert_eq!(super::number(name), None, "{name}");
    }
}
