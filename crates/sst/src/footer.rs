//! The footer: the last bytes of a file, which locate all its other parts.
//!
//! The last 16 bytes are the same in every format version: the footer's length, the version and the
//! magic. In every version, the footer's first 8 bytes are a checksum of its other bytes, so that a
//! newer file can be distinguished from a damaged one.

use crate::stored::Handle;
use alluvium_codec::checksum64;

/// The bytes that end every file.
pub const MAGIC: [u8; 8] = *b"\xa7ALVsst\n";

/// The format version that this build writes, and the highest that it reads.
pub const FORMAT_VERSION: u32 = 1;

/// The length of a footer.
pub const FOOTER_BYTES: u64 = LEN as u64;

/// The length of the end of the footer that is the same in all versions.
pub(crate) const TAIL: usize = 16;

/// The length of a footer of this version.
pub(crate) const LEN: usize = 112;

/// The longest footer that any version may have.
const MAX_LEN: usize = 4096;

/// The content of a footer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Footer {
    /// The file's number.
    pub(crate) number: u64,
    /// The file's length, the footer included.
    pub(crate) bytes: u64,
    /// The checksums of all blocks, folded.
    pub(crate) digest: u64,
    /// The content id of the dictionary; 0 for none.
    pub(crate) dictionary_id: u64,
    /// The dictionary; its length is 0 if the file has none.
    pub(crate) dictionary: Handle,
    /// The opaque bytes of the layer above.
    pub(crate) aux: Handle,
    /// The properties.
    pub(crate) properties: Handle,
    /// The top-level index.
    pub(crate) index: Handle,
}

/// The reason why a footer cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// The footer is damaged.
    Damaged(&'static str),
    /// The footer is whole, but has this newer version.
    Newer(u32),
}

impl Footer {
    /// Returns the encoding and its checksum.
    pub(crate) fn encode(&self) -> ([u8; LEN], u64) {
        let mut out = Vec::with_capacity(LEN);
        out.extend_from_slice(&[0; 8]);
        for value in [self.number, self.bytes, self.digest, self.dictionary_id] {
            out.extend_from_slice(&value.to_le_bytes());
        }
        for handle in [self.dictionary, self.aux, self.properties, self.index] {
            out.extend_from_slice(&handle.offset.to_le_bytes());
            out.extend_from_slice(&handle.len.to_le_bytes());
        }
        out.resize(LEN - TAIL, 0);
        out.extend_from_slice(&(LEN as u32).to_le_bytes());
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&MAGIC);
        let checksum = checksum64(&out[8..], self.number);
        out[..8].copy_from_slice(&checksum.to_le_bytes());
        let mut bytes = [0; LEN];
        bytes.copy_from_slice(&out);
        (bytes, checksum)
    }

    /// Decodes the footer at the end of `tail`, which is the last bytes of a file of `file_len`
    /// bytes with this number. Returns the footer and its checksum.
    pub(crate) fn decode(tail: &[u8], file_len: u64, number: u64) -> Result<(Self, u64), Unreadable> {
        use Unreadable::Damaged;
        let fixed = tail.last_chunk::<TAIL>().ok_or(Damaged("too short for a footer"))?;
        let mut fields = Fields(fixed);
        let (len, version) = (fields.u32() as usize, fields.u32());
        if fields.0 != MAGIC {
            return Err(Damaged("the magic at the end is missing"));
        }
        if !(TAIL + 8..=MAX_LEN).contains(&len) || len > tail.len() {
            return Err(Damaged("the length of the footer"));
        }
        let footer = &tail[tail.len() - len..];
        let checksum = Fields(footer).u64();
        if checksum64(&footer[8..], number) != checksum {
            return Err(Damaged("the checksum of the footer does not match"));
        }
        if version > FORMAT_VERSION {
            return Err(Unreadable::Newer(version));
        }
        if version != FORMAT_VERSION || len != LEN {
            return Err(Damaged("the version or the length of the footer"));
        }
        let found = Self::decode_fields(&footer[8..]);
        if found.number != number || found.bytes != file_len {
            return Err(Damaged("the number or length of the file differs from its footer"));
        }
        if !found.is_in_order() {
            return Err(Damaged("the sections that the footer names"));
        }
        Ok((found, checksum))
    }

    fn decode_fields(bytes: &[u8]) -> Self {
        let mut fields = Fields(bytes);
        Self {
            number: fields.u64(),
            bytes: fields.u64(),
            digest: fields.u64(),
            dictionary_id: fields.u64(),
            dictionary: fields.handle(),
            aux: fields.handle(),
            properties: fields.handle(),
            index: fields.handle(),
        }
    }

    /// True if the sections follow each other without a gap and end where the footer begins.
    fn is_in_order(&self) -> bool {
        let end = self.bytes.checked_sub(LEN as u64);
        self.dictionary.end() == self.aux.offset
            && self.aux.end() == self.properties.offset
            && self.properties.end() == self.index.offset
            && Some(self.index.end()) == end
            && (self.dictionary.len == 0) == (self.dictionary_id == 0)
    }

    /// The end of the data blocks and index partitions.
    pub(crate) fn data_end(&self) -> u64 {
        self.dictionary.offset
    }
}

/// Little-endian fields; zero beyond the end.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u32(&mut self) -> u32 {
        let Some((bytes, rest)) = self.0.split_first_chunk::<4>() else { return 0 };
        self.0 = rest;
        u32::from_le_bytes(*bytes)
    }

    fn u64(&mut self) -> u64 {
        let low = u64::from(self.u32());
        low | u64::from(self.u32()) << 32
    }

    fn handle(&mut self) -> Handle {
        Handle { offset: self.u64(), len: self.u32() }
    }
}

#[cfg(test)]
mod tests;
