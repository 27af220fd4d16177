//! File names for collections, as `mongodump` makes them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A longer stem is shortened, so that a file name with all its suffixes, `.part` included, has at
/// most 255 bytes.
const MAX_STEM: usize = 228;
/// `mongodump` shortens stems that are longer than this.
const MONGODUMP_STEM: usize = 238;
/// A shortened stem keeps this many bytes; `%24` and 27 characters of a hash follow.
const KEPT: usize = 198;

/// The stem of the file names of a collection. All bytes except letters, digits and `-_.~` become
/// `%` and two hexadecimal digits. A very long stem is shortened; the metadata file has the whole
/// name.
pub(super) fn file_stem(name: &str) -> String {
    let mut stem = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => stem.push(char::from(byte)),
            _ => stem += &format!("%{byte:02X}"),
        }
    }
    if stem.len() > MAX_STEM {
        stem.truncate(KEPT);
        let words = [1, 2, 3].map(|seed| alluvium_codec::checksum64(name.as_bytes(), seed).to_be_bytes());
        stem += "%24";
        stem += &URL_SAFE_NO_PAD.encode(&words.as_flattened()[..20]);
    }
    stem
}

/// True if the stem is shortened, so that only the metadata file has the name.
pub(super) fn is_shortened(stem: &str) -> bool {
    matches!(stem.len(), MAX_STEM | MONGODUMP_STEM) && stem.contains("%24")
}

/// The name of the collection whose files have this stem; `None` if the stem is invalid.
pub(super) fn collection_name(stem: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(stem.len());
    let mut rest = stem.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digit = |at: usize| char::from(digits[at]).to_digit(16);
        bytes.push((digit(0)? * 16 + digit(1)?) as u8);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
