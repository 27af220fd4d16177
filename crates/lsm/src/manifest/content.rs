//! Reads the frames of a manifest and few bytes after them, whatever the length of the file.
//!
//! A damaged file system, a tool or a manual change may have made a file longer than everything
//! that was ever written to it. Therefore memory is taken only for bytes that are read, and reading
//! ends soon after the last whole frame.

use super::HEADER_LEN;
use alluvium_codec::frame;
use alluvium_env::Result;

/// Bytes that are read at once.
const PIECE_BYTES: usize = 64 << 10;

/// The most bytes of one frame. The first frame of a partition of a million files has about this
/// many.
const MAX_FRAME_BYTES: usize = 256 << 20;

/// Bytes that are read after the last whole frame, because a whole frame may follow a damaged one.
const AFTER_BYTES: u64 = 2 << 20;

/// Reads the header, the whole frames after it, and some bytes after these, of a file with `len`
/// bytes. `read` fills a buffer with the bytes at an offset.
pub(super) fn read(len: u64, seed: u64, read: &mut dyn FnMut(&mut [u8], u64) -> Result<()>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut up_to = |bytes: &mut Vec<u8>, end: u64| {
        while (bytes.len() as u64) < end.min(len) {
            let at = bytes.len();
            let piece = usize::try_from(len - at as u64).map_or(PIECE_BYTES, |left| left.min(PIECE_BYTES));
            bytes.resize(at + piece, 0);
            read(&mut bytes[at..], at as u64)?;
        }
        Ok(())
    };
    let mut offset = HEADER_LEN;
    loop {
        up_to(&mut bytes, (offset + frame::HEADER_LEN) as u64)?;
        let head = bytes.get(offset..).and_then(|rest| rest.first_chunk());
        let payload = head.map_or(0, |head| u32::from_le_bytes(*head) as usize);
        let end = offset + frame::HEADER_LEN + payload;
        let is_possible = payload > 0 && payload <= MAX_FRAME_BYTES && end as u64 <= len;
        if is_possible {
            up_to(&mut bytes, end as u64)?;
        }
        let is_whole = is_possible && frame::get(&mut &bytes[offset..], seed, offset as u64).is_ok();
        if !is_whole {
            up_to(&mut bytes, offset as u64 + AFTER_BYTES)?;
            return Ok(bytes);
        }
        offset = end;
    }
}
