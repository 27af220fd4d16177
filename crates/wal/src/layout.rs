//! The bytes of a segment; see `docs/format/wal.md`. This module accesses no files.

use crate::compress::MAX_RAW_BYTES;
use crate::types::Record;
use alluvium_codec::entry::Seq;
use alluvium_codec::limits::LAST_SEQ;
use alluvium_codec::{checksum32, checksum64, varint};

/// The format version that this build writes, and the highest that it reads. Version 1 has no compressed records.
pub(crate) const VERSION: u32 = 2;
/// The offset of the seal of a clean close. The seal has a page of its own, so that the header is
/// never written twice.
pub(crate) const SEAL_AT: u64 = 4096;
/// The offset of the mark that another segment follows. The mark has a sector of its own, so that
/// it is never torn together with the seal.
pub(crate) const FOLLOWED_AT: u64 = SEAL_AT + 512;
/// The offset of the first group in a segment, in bytes. Every segment is at least this long.
pub const GROUPS_AT: u64 = 8192;
/// The bytes of a segment header.
pub(crate) const HEADER_LEN: usize = 128;
/// The bytes of a seal.
pub(crate) const SEAL_LEN: usize = 64;
/// The bytes of the mark that another segment follows.
pub(crate) const FOLLOWED_LEN: usize = 32;
/// The bytes of a group before its records.
pub(crate) const GROUP_HEADER_LEN: usize = 48;
/// Groups start at multiples of this number of bytes.
pub(crate) const ALIGN: u64 = 8;

const MAGIC: u64 = u64::from_le_bytes(*b"ALLUVWAL");
const SEAL_MAGIC: u64 = u64::from_le_bytes(*b"ALLUSEAL");
const FOLLOWED_MAGIC: u64 = u64::from_le_bytes(*b"ALLUNEXT");
const HEADER_SUM_AT: usize = HEADER_LEN - 8;
const SEAL_SUM_AT: usize = SEAL_LEN - 8;
const FOLLOWED_SUM_AT: usize = FOLLOWED_LEN - 8;

/// The end of a segment, which is the end of its last group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    pub offset: u64,
    /// The number before the number with which the log continues.
    pub last_seq: Seq,
}

/// The start of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub database_id: u64,
    pub number: u64,
    /// The number of the first operation.
    pub first_seq: Seq,
    /// The end of the previous segment, whose bytes after it are never read. `None` for the first
    /// segment of a database.
    pub previous: Option<End>,
}

/// The reason why bytes are not a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotAHeader {
    /// The bytes are torn, damaged, or something else.
    Invalid,
    /// A header of this newer format version.
    Newer(u32),
    /// A complete header with numbers that no operation has.
    Impossible,
}

impl Header {
    pub(crate) fn encode(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        let end = self.previous.unwrap_or(End { offset: 0, last_seq: 0 });
        put(&mut bytes, 0, MAGIC);
        put(&mut bytes, 8, u64::from(VERSION));
        put(&mut bytes, 16, self.database_id);
        put(&mut bytes, 24, self.number);
        put(&mut bytes, 32, self.first_seq);
        put(&mut bytes, 40, end.offset);
        put(&mut bytes, 48, end.last_seq);
        let sum = checksum64(&bytes[..HEADER_SUM_AT], self.number);
        put(&mut bytes, HEADER_SUM_AT, sum);
        bytes
    }

    /// Decodes the header of the segment with `number`.
    pub(crate) fn decode(bytes: &[u8], number: u64) -> Result<Self, NotAHeader> {
        let bytes: &[u8; HEADER_LEN] = bytes.first_chunk().ok_or(NotAHeader::Invalid)?;
        let sum = checksum64(&bytes[..HEADER_SUM_AT], number);
        if get(bytes, 0) != MAGIC || get(bytes, HEADER_SUM_AT) != sum {
            return Err(NotAHeader::Invalid);
        }
        // Magic, version, number and checksum have the same offsets in every version.
        let version = get(bytes, 8) as u32;
        if version > VERSION {
            return Err(NotAHeader::Newer(version));
        }
        let end = End { offset: get(bytes, 40), last_seq: get(bytes, 48) };
        if [get(bytes, 32), end.last_seq].iter().any(|seq| *seq > LAST_SEQ + 1) {
            return Err(NotAHeader::Impossible);
        }
        Ok(Self {
            database_id: get(bytes, 16),
            number: get(bytes, 24),
            first_seq: get(bytes, 32),
            previous: (end.offset != 0).then_some(end),
        })
    }
}

/// Encodes the seal of a segment that was closed cleanly.
pub(crate) fn encode_seal(end: End, seeds: Seeds) -> [u8; SEAL_LEN] {
    let mut bytes = [0; SEAL_LEN];
    put(&mut bytes, 0, SEAL_MAGIC);
    put(&mut bytes, 8, end.offset);
    put(&mut bytes, 16, end.last_seq);
    let sum = checksum64(&bytes[..SEAL_SUM_AT], seeds.at(SEAL_AT));
    put(&mut bytes, SEAL_SUM_AT, sum);
    bytes
}

/// Decodes a seal; `None` if there is no seal, or only a part of one.
pub(crate) fn decode_seal(bytes: &[u8], seeds: Seeds) -> Option<End> {
    let bytes: &[u8; SEAL_LEN] = bytes.first_chunk()?;
    let sum = checksum64(&bytes[..SEAL_SUM_AT], seeds.at(SEAL_AT));
    let whole = get(bytes, 0) == SEAL_MAGIC && get(bytes, SEAL_SUM_AT) == sum;
    whole.then(|| End { offset: get(bytes, 8), last_seq: get(bytes, 16) }).filter(|end| end.last_seq <= LAST_SEQ)
}

/// Encodes the mark that the segment `next` follows.
pub(crate) fn encode_followed(next: u64, seeds: Seeds) -> [u8; FOLLOWED_LEN] {
    let mut bytes = [0; FOLLOWED_LEN];
    put(&mut bytes, 0, FOLLOWED_MAGIC);
    put(&mut bytes, 8, next);
    let sum = checksum64(&bytes[..FOLLOWED_SUM_AT], seeds.at(FOLLOWED_AT));
    put(&mut bytes, FOLLOWED_SUM_AT, sum);
    bytes
}

/// Decodes the mark that another segment follows. Returns the number of that segment; `None` if
/// there is no mark, or only a part of one.
pub(crate) fn decode_followed(bytes: &[u8], seeds: Seeds) -> Option<u64> {
    let bytes: &[u8; FOLLOWED_LEN] = bytes.first_chunk()?;
    let sum = checksum64(&bytes[..FOLLOWED_SUM_AT], seeds.at(FOLLOWED_AT));
    (get(bytes, 0) == FOLLOWED_MAGIC && get(bytes, FOLLOWED_SUM_AT) == sum).then(|| get(bytes, 8))
}

/// The seeds of the checksums of a segment. A group with another offset, of another segment or of
/// another database does not match its checksums.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seeds(u64);

impl Seeds {
    pub(crate) fn new(database_id: u64, segment: u64) -> Self {
        Self((database_id ^ segment.wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_left(29))
    }

    #[inline]
    fn at(self, offset: u64) -> u64 {
        self.0 ^ offset
    }
}

/// The start of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupHeader {
    /// The bytes after this header; a multiple of 8.
    pub body_len: u32,
    pub body_sum: u64,
    pub first_seq: Seq,
    pub last_seq: Seq,
    /// The offset up to which this segment was known to be durable when the group was written.
    pub synced: u64,
    pub records: u32,
    /// True if each record has its length before compression.
    pub compressed: bool,
}

/// The bit after the count of records that says [`GroupHeader::compressed`].
const COMPRESSED: u64 = 1 << 32;

impl GroupHeader {
    /// Decodes a header at `offset`; `None` if the bytes are not a header.
    #[inline]
    pub(crate) fn decode(bytes: &[u8], offset: u64, seeds: Seeds) -> Option<Self> {
        let mut bytes: [u8; GROUP_HEADER_LEN] = *bytes.first_chunk()?;
        let first = get(&bytes, 0);
        let (body_len, sum) = (first as u32, (first >> 32) as u32);
        let records = get(&bytes, 40);
        // Most bytes that are not a header are rejected here, before the checksum is computed.
        if body_len == 0 || u64::from(body_len) % ALIGN != 0 || (records & !COMPRESSED) >> 32 != 0 {
            return None;
        }
        put(&mut bytes, 0, u64::from(body_len));
        if checksum32(&bytes, seeds.at(offset)) != sum {
            return None;
        }
        Some(Self {
            body_len,
            body_sum: get(&bytes, 8),
            first_seq: get(&bytes, 16),
            last_seq: get(&bytes, 24),
            synced: get(&bytes, 32),
            records: records as u32,
            compressed: records & COMPRESSED != 0,
        })
    }

    /// The bytes of the whole group.
    pub(crate) fn group_len(&self) -> u64 {
        GROUP_HEADER_LEN as u64 + u64::from(self.body_len)
    }

    /// True if `body` matches the checksum in this header.
    pub(crate) fn matches(&self, body: &[u8], offset: u64, seeds: Seeds) -> bool {
        body.len() as u64 == u64::from(self.body_len) && checksum64(body, seeds.at(offset)) == self.body_sum
    }
}

/// The reason why records cannot form a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadGroup {
    /// The numbers do not continue the numbers of the log.
    #[error("the numbers of the records do not continue from {0}")]
    Numbers(Seq),
    /// The length does not fit.
    #[error("the group is 4 GiB or longer")]
    TooLong,
}

/// Writes the records of a group, after space for its header, into `group`, replacing its content. Returns the header,
/// whose lengths and checksums [`finish_group`] fills in.
pub(crate) fn encode_records(
    group: &mut Vec<u8>,
    records: &[Record<'_>],
    first_seq: Seq,
    synced: u64,
) -> Result<GroupHeader, BadGroup> {
    group.clear();
    group.resize(GROUP_HEADER_LEN, 0);
    let compressed = records.iter().any(|record| record.compressed.is_some());
    let (mut next, mut room) = (first_seq, MAX_RAW_BYTES);
    for record in records {
        if record.first_seq != next || record.last_seq < next || record.last_seq > LAST_SEQ {
            return Err(BadGroup::Numbers(first_seq));
        }
        let raw_len = record.payload.len();
        let short = record.compressed.filter(|_| (1..=room).contains(&raw_len));
        room -= short.map_or(0, |_| raw_len);
        varint::put_u64(group, record.last_seq - record.first_seq);
        if compressed {
            varint::put_u64(group, short.map_or(0, |_| raw_len as u64));
        }
        varint::put_bytes(group, short.unwrap_or(record.payload));
        next = record.last_seq + 1;
    }
    group.resize(group.len().next_multiple_of(ALIGN as usize), 0);
    if group.len() - GROUP_HEADER_LEN > u32::MAX as usize || records.len() > u32::MAX as usize {
        return Err(BadGroup::TooLong);
    }
    let (last_seq, records) = (next - 1, records.len() as u32);
    Ok(GroupHeader { body_len: 0, body_sum: 0, first_seq, last_seq, synced, records, compressed })
}

/// Writes the header of a group whose records are in `group`, and fills in its lengths and
/// checksums.
pub(crate) fn finish_group(group: &mut [u8], header: GroupHeader, offset: u64, seeds: Seeds) {
    let (head, body) = group.split_at_mut(GROUP_HEADER_LEN);
    put(head, 0, body.len() as u64);
    put(head, 8, checksum64(body, seeds.at(offset)));
    put(head, 16, header.first_seq);
    put(head, 24, header.last_seq);
    put(head, 32, header.synced);
    put(head, 40, u64::from(header.records) | if header.compressed { COMPRESSED } else { 0 });
    let sum = checksum32(head, seeds.at(offset));
    head[4..8].copy_from_slice(&sum.to_le_bytes());
}

/// A record of a group, as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredRecord<'a> {
    pub first_seq: Seq,
    pub last_seq: Seq,
    pub bytes: &'a [u8],
    /// The length of the payload whose compressed form the bytes are; 0 if they are the payload.
    pub raw_len: usize,
}

/// Calls `f` with the records of a group. Returns `Ok(false)` if the body does not consist of
/// records.
pub(crate) fn decode_records<'a, E>(
    header: &GroupHeader,
    body: &'a [u8],
    mut f: impl FnMut(StoredRecord<'a>) -> Result<(), E>,
) -> Result<bool, E> {
    let mut rest = body;
    let mut next = header.first_seq;
    for _ in 0..header.records {
        let Ok(more) = varint::get_u64(&mut rest) else { return Ok(false) };
        let raw_len = if header.compressed { varint::get_u64(&mut rest) } else { Ok(0) };
        let Some(raw_len) = raw_len.ok().and_then(|length| usize::try_from(length).ok()) else { return Ok(false) };
        let Ok(bytes) = varint::get_bytes(&mut rest) else { return Ok(false) };
        let Some(last_seq) = next.checked_add(more).filter(|&last| last <= header.last_seq) else { return Ok(false) };
        f(StoredRecord { first_seq: next, last_seq, bytes, raw_len })?;
        next = last_seq.saturating_add(1);
    }
    Ok(next == header.last_seq.saturating_add(1) && (rest.len() as u64) < ALIGN)
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

#[inline]
fn get(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |b| u64::from_le_bytes(*b))
}

#[cfg(test)]
mod tests;
