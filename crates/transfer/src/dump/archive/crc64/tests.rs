use super::*;

/// The check value of CRC-64/XZ, and values of Go 1.26's `hash/crc64` with its table of ECMA.
#[test]
fn values_are_those_of_the_catalogue() {
    for (text, expected) in [
        ("", 0),
        ("a", 0x3302_8477_2e65_2b05),
        ("123456789", 0x995d_c9bb_df19_39fa),
        ("Discard medicine more than two years old.", 0x8a08_2522_3ea6_d221),
    ] {
        for cut in 0..=text.len() {
            let mut crc = Crc64::default();
            crc.add(&text.as_bytes()[..cut]);
            crc.add(&text.as_bytes()[cut..]);
            assert_eq!(crc.value(), expected, "{text}, {cut}");
        }
    }
}
