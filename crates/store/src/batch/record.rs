//! Decoding of log records: batches, and notes of the numbers up to which partitions are flushed.

use super::{ENTRY, TAG_BATCH, TAG_FLUSHED};
use alluvium_codec::entry::{Entry, Kind, Seq};
use alluvium_codec::limits::{get_number, get_seq};
use alluvium_codec::{DecodeError, varint};

/// An operation, decoded.
pub(super) struct Decoded<'a> {
    pub partition: u32,
    pub entry: Entry<'a>,
    /// True for an index entry. It has the number of the operation before it.
    pub is_entry: bool,
}

/// Takes one operation off the front of `input`. `seq` is the number of the operation.
pub(super) fn decode_op<'a>(input: &mut &'a [u8], seq: Seq) -> alluvium_codec::Result<Decoded<'a>> {
    let (&kind, rest) = input.split_first().ok_or(DecodeError::Truncated)?;
    *input = rest;
    let is_entry = kind & ENTRY != 0;
    let kind = match kind {
        1 => Kind::Put,
        2 => Kind::Delete,
        3 => Kind::Delta,
        4 => Kind::RangeDelete,
        _ if kind == Kind::Put as u8 | ENTRY => Kind::Put,
        _ if kind == Kind::Delete as u8 | ENTRY => Kind::Delete,
        _ => return Err(DecodeError::Invalid("an unknown kind of operation")),
    };
    let partition = varint::get_u64(input)?;
    let partition = u32::try_from(partition).map_err(|_| DecodeError::Invalid("a partition out of range"))?;
    let key = varint::get_bytes(input)?;
    alluvium_codec::limits::tree_of(key)?;
    let value = varint::get_bytes(input)?;
    if kind == Kind::RangeDelete && (value <= key || !value.starts_with(&key[..4])) {
        return Err(DecodeError::Invalid("a range of keys that is empty or leaves its tree"));
    }
    Ok(Decoded { partition, entry: Entry { key, seq, kind, value }, is_entry })
}

/// A log record, decoded.
pub(crate) enum LogRecord<'a> {
    /// Operations, with their partitions.
    Batch(Vec<(u32, Entry<'a>)>),
    /// The number up to which each partition is flushed.
    Flushed {
        /// This number and those above it were not removed from the log.
        needed: Seq,
        /// Partitions, each with the number up to which it is flushed. Its manifest is synced up to that number.
        flushed: Vec<(u32, Seq)>,
    },
}

/// Decodes a log record, and checks that it has one number for each operation. A note takes one number.
pub(crate) fn decode_record<'a>(record: &alluvium_wal::Record<'a>) -> alluvium_codec::Result<LogRecord<'a>> {
    let (found, next) = decode_from(record.payload, record.first_seq)?;
    match next == record.last_seq + 1 {
        true => Ok(found),
        false => Err(DecodeError::Invalid("a record with more or fewer operations than numbers")),
    }
}

/// Decodes a log record whose first operation has the number `first`. Also returns the first number of the next record.
pub(super) fn decode_from(payload: &[u8], first: Seq) -> alluvium_codec::Result<(LogRecord<'_>, Seq)> {
    let (&tag, mut input) = payload.split_first().ok_or(DecodeError::Truncated)?;
    match tag {
        TAG_BATCH => {
            let mut ops: Vec<(u32, Entry<'_>)> = Vec::new();
            let mut next = first;
            while !input.is_empty() {
                let Decoded { partition, mut entry, is_entry } = decode_op(&mut input, next)?;
                match ops.last() {
                    Some((owner, before)) if is_entry && *owner == partition => entry.seq = before.seq,
                    _ if is_entry => return Err(DecodeError::Invalid("an index entry apart from its document")),
                    _ => next += 1,
                }
                ops.push((partition, entry));
            }
            Ok((LogRecord::Batch(ops), next))
        }
        TAG_FLUSHED => {
            // If no number is needed, this is the last number plus one.
            let needed = get_number(&mut input, "a sequence number")?;
            let mut flushed = Vec::new();
            while !input.is_empty() {
                let partition = varint::get_u64(&mut input)?;
                let partition =
                    u32::try_from(partition).map_err(|_| DecodeError::Invalid("a partition out of range"))?;
                flushed.push((partition, get_seq(&mut input, "a flushed number")?));
            }
            Ok((LogRecord::Flushed { needed, flushed }, first + 1))
        }
        _ => Err(DecodeError::Invalid("an unknown kind of record")),
    }
}

/// Encodes the record that notes up to which number each partition is flushed, and from which number the log is needed.
pub(crate) fn encode_flushed(needed: Seq, flushed: impl Iterator<Item = (u32, Seq)>) -> Vec<u8> {
    let mut bytes = vec![TAG_FLUSHED];
    varint::put_u64(&mut bytes, needed);
    for (partition, seq) in flushed {
        varint::put_u64(&mut bytes, u64::from(partition));
        varint::put_u64(&mut bytes, seq);
    }
    bytes
}
