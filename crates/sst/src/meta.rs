//! Metadata of a file, as the manifest keeps it, and the result of a check.

use alluvium_codec::entry::{MAX_SEQ, Seq};
use alluvium_codec::limits::{at_most, get_number};
use alluvium_codec::{DecodeError, varint};

/// Descriptions of values out of range, for errors.
const SEQ: &str = "a sequence number";

/// The information that a [`crate::Writer`] needs when it finishes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FooterInfo {
    /// The numbers of the files that the compaction read; empty for a flush.
    pub inputs: Vec<u64>,
    /// The numbers of files that were replaced earlier and are not removed yet because they are
    /// still read.
    pub replaced: Vec<u64>,
    /// Opaque bytes, kept for salvage (the shapes that the file's rows use).
    pub aux: Vec<u8>,
}

/// The metadata of a file that the manifest keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileMeta {
    /// The file's number, unique in the database.
    pub number: u64,
    /// The file's length in bytes.
    pub bytes: u64,
    /// The checksum of the file's footer, which covers the checksums of all blocks.
    pub footer_checksum: u64,
    /// The lowest key.
    pub smallest: Vec<u8>,
    /// The highest key.
    pub largest: Vec<u8>,
    /// The lowest sequence number.
    pub min_seq: Seq,
    /// The highest sequence number.
    pub max_seq: Seq,
    /// The number of entries, tombstones and all versions included.
    pub entries: u64,
    /// The number of tombstones among them.
    pub tombstones: u64,
    /// The bytes of all added keys and values, uncompressed.
    pub raw_bytes: u64,
    /// The content id of the dictionary; 0 for none.
    pub dictionary_id: u64,
}

impl FileMeta {
    /// Appends the encoding, for the manifest.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for value in [self.number, self.bytes] {
            varint::put_u64(out, value);
        }
        out.extend_from_slice(&self.footer_checksum.to_le_bytes());
        varint::put_bytes(out, &self.smallest);
        varint::put_bytes(out, &self.largest);
        varint::put_u64(out, self.min_seq);
        varint::put_u64(out, self.max_seq.wrapping_sub(self.min_seq));
        for value in [self.entries, self.tombstones, self.raw_bytes] {
            varint::put_u64(out, value);
        }
        out.extend_from_slice(&self.dictionary_id.to_le_bytes());
    }

    /// Takes the output of [`FileMeta::encode`] from the front of `input`.
    ///
    /// # Errors
    /// [`DecodeError`] if the input ends within it or a number is out of range.
    pub fn decode(input: &mut &[u8]) -> alluvium_codec::Result<Self> {
        let number = get_number(input, "a file number")?;
        let bytes = get_number(input, "the length of a file")?;
        let footer_checksum = get_fixed(input)?;
        let smallest = varint::get_bytes(input)?.to_vec();
        let largest = varint::get_bytes(input)?.to_vec();
        let (min_seq, range) = (get_number(input, SEQ)?, get_number(input, SEQ)?);
        // No overflow: both are below 2^57.
        let max_seq = at_most(min_seq + range, MAX_SEQ, SEQ)?;
        let entries = get_number(input, "a number of entries")?;
        Ok(Self {
            number,
            bytes,
            footer_checksum,
            smallest,
            largest,
            min_seq,
            max_seq,
            entries,
            tombstones: at_most(varint::get_u64(input)?, entries, "more tombstones than entries")?,
            raw_bytes: get_number(input, "a number of bytes")?,
            dictionary_id: get_fixed(input)?,
        })
    }
}

/// Takes a little-endian number of 8 bytes from the front of `input`.
fn get_fixed(input: &mut &[u8]) -> alluvium_codec::Result<u64> {
    let (bytes, rest) = input.split_first_chunk::<8>().ok_or(DecodeError::Truncated)?;
    *input = rest;
    Ok(u64::from_le_bytes(*bytes))
}

/// The result of [`crate::Reader::verify`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileCheck {
    /// Entries read.
    pub entries: u64,
    /// Tombstones among them.
    pub tombstones: u64,
    /// Distinct keys.
    pub keys: u64,
    /// Data blocks read.
    pub data_blocks: u64,
    /// Index partitions read.
    pub partitions: u64,
    /// Bytes of the file read.
    pub bytes: u64,
}

#[cfg(test)]
mod tests;
