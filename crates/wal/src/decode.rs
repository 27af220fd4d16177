//! Reading the records of a group, compressed or not.

use crate::compress::{Decompressor, MAX_RAW_BYTES};
use crate::layout::{GroupHeader, StoredRecord, decode_records};
use crate::marks;
use crate::types::Record;

/// A buffer that a group has made larger than this number of bytes is freed with the next group.
const KEEP_BUFFER: usize = 4 << 20;

/// Reads groups, one after the other.
#[derive(Default)]
pub(crate) struct GroupDecoder {
    decompressor: Decompressor,
    /// The payloads of the compressed records of a group.
    raw: Vec<u8>,
}

/// A record with a right checksum that is not the compressed form of a payload.
struct NotCompressed;

impl GroupDecoder {
    /// Calls `f` with the records of a group. Returns `Ok(false)`, without a call, if the body does not consist of
    /// records.
    pub(crate) fn records<'a, E>(
        &'a mut self,
        header: &GroupHeader,
        body: &'a [u8],
        mut f: impl FnMut(Record<'a>) -> Result<(), E>,
    ) -> Result<bool, E> {
        if !self.decompress(header, body) {
            return Ok(false);
        }
        let mut rest = self.raw.as_slice();
        decode_records(header, body, |stored| {
            let payload = match stored.raw_len {
                0 => stored.bytes,
                length => rest.split_off(..length).unwrap_or_default(),
            };
            f(Record::new(stored.first_seq, stored.last_seq, payload))
        })
    }

    /// Decompresses the payloads of a group, in order, into the buffer. Returns false if the body does not consist of
    /// records.
    fn decompress(&mut self, header: &GroupHeader, body: &[u8]) -> bool {
        self.raw.clear();
        if self.raw.capacity() > KEEP_BUFFER {
            self.raw = Vec::new();
        }
        let Self { decompressor, raw } = self;
        let whole = decode_records(header, body, |StoredRecord { bytes, raw_len, .. }| match raw_len {
            0 => Ok(()),
            _ if raw_len <= MAX_RAW_BYTES - raw.len() && decompressor.append(bytes, raw_len, raw) => {
                marks::COMPRESSED_RECORD.hit();
                Ok(())
            }
            _ => Err(NotCompressed),
        });
        whole.unwrap_or(false)
    }
}
