//! Streams of length-prefixed keys and values.
//!
//! A pair is a key followed by a value. Each of them is its length, the byte 1a, and its bytes. A
//! length is written low byte first, without leading zeros (0 takes no byte); each byte 1a or 1b in
//! a length is preceded by a 1b. Nothing is between pairs or after the last one.

use crate::layout::MAX_BYTES;
use std::io::{self, BufRead};

const END: u8 = 0x1a;
const ESCAPE: u8 = 0x1b;
/// The most bytes that are read at once, so that a wrong length does not allocate much memory.
const PIECE: usize = 1 << 20;

/// Reads pairs in sequence.
///
/// ```
/// use alluvium_readonly::prefixed::{PairReader, write_pair};
/// let mut bytes = Vec::new();
/// write_pair(b"peru", b"lima", &mut bytes);
/// assert_eq!(bytes, b"\x04\x1aperu\x04\x1alima");
/// let mut reader = PairReader::new(&bytes[..]);
/// assert!(reader.next_pair().expect("a pair"));
/// assert_eq!((reader.key(), reader.value()), (&b"peru"[..], &b"lima"[..]));
/// assert!(!reader.next_pair().expect("the end"));
/// ```
pub struct PairReader<R> {
    input: R,
    key: Vec<u8>,
    value: Vec<u8>,
    pairs: u64,
    bytes: u64,
}

impl<R: BufRead> PairReader<R> {
    /// A reader at the beginning of a stream.
    ///
    /// ```
    /// use alluvium_readonly::prefixed::PairReader;
    ///
    /// let mut nothing = PairReader::new(&b""[..]);
    /// assert!(!nothing.next_pair()?);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn new(input: R) -> Self {
        Self { input, key: Vec::new(), value: Vec::new(), pairs: 0, bytes: 0 }
    }

    /// Moves to the next pair; false at the end.
    ///
    /// ```
    /// use alluvium_readonly::prefixed::PairReader;
    ///
    /// let mut reader = PairReader::new(&b"\x04\x1aperu\x04\x1alima\x05\x1achi"[..]);
    /// assert!(reader.next_pair()?);
    /// let cut_off = reader.next_pair().unwrap_err();
    /// assert!(cut_off.to_string().contains("pair 2 is incomplete"));
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// `InvalidData`, naming pair and byte, if the stream ends within a pair, or if a length is
    /// longer than a key or value may be; I/O errors.
    pub fn next_pair(&mut self) -> io::Result<bool> {
        if self.input.fill_buf()?.is_empty() {
            return Ok(false);
        }
        let mut bytes = std::mem::take(&mut self.key);
        let key = self.take(&mut bytes);
        self.key = bytes;
        key?;
        let mut bytes = std::mem::take(&mut self.value);
        let value = self.take(&mut bytes);
        self.value = bytes;
        value?;
        self.pairs += 1;
        Ok(true)
    }

    /// The key of the pair.
    ///
    /// ```
    /// use alluvium_readonly::prefixed::PairReader;
    ///
    /// let mut reader = PairReader::new(&b"\x04\x1aperu\x04\x1alima"[..]);
    /// reader.next_pair()?;
    /// assert_eq!(reader.key(), b"peru");
    /// # std::io::Result::Ok(())
    /// ```
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The value of the pair.
    ///
    /// ```
    /// use alluvium_readonly::prefixed::PairReader;
    ///
    /// let mut reader = PairReader::new(&b"\x04\x1aperu\x04\x1alima"[..]);
    /// reader.next_pair()?;
    /// assert_eq!(reader.value(), b"lima");
    /// # std::io::Result::Ok(())
    /// ```
    pub fn value(&self) -> &[u8] {
        &self.value
    }

    /// Bytes of the stream read so far.
    ///
    /// ```
    /// use alluvium_readonly::prefixed::PairReader;
    ///
    /// let mut reader = PairReader::new(&b"\x04\x1aperu\x04\x1alima"[..]);
    /// reader.next_pair()?;
    /// assert_eq!(reader.bytes(), 12);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads a length and that many bytes.
    fn take(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let mut left = self.length()?;
        out.clear();
        while left > 0 {
            let (start, piece) = (out.len(), left.min(PIECE));
            out.resize(start + piece, 0);
            let mut filled = start;
            while filled < out.len() {
                match self.input.read(&mut out[filled..]) {
                    Ok(0) => return Err(self.wrong("the input ends within it")),
                    Ok(read) => {
                        filled += read;
                        self.bytes += read as u64;
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            left -= piece;
        }
        Ok(())
    }

    fn length(&mut self) -> io::Result<usize> {
        let mut length = 0u64;
        for at in 0.. {
            let mut byte = self.byte()?;
            if byte == END {
                break;
            }
            if byte == ESCAPE {
                byte = self.byte()?;
            }
            if at >= 4 {
                return Err(self.wrong("its length has more than four bytes: are these length-prefixed pairs?"));
            }
            length |= u64::from(byte) << (8 * at);
        }
        if length > MAX_BYTES as u64 {
            let what = format!("{length} bytes exceed the limit of a key or value ({})", MAX_BYTES);
            return Err(self.wrong(&what));
        }
        Ok(length as usize)
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        loop {
            match self.input.read(&mut byte) {
                Ok(0) => return Err(self.wrong("the input ends within it")),
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.bytes += 1;
        Ok(byte[0])
    }

    fn wrong(&self, what: &str) -> io::Error {
        let what = format!("pair {} is incomplete (at byte {}): {what}", self.pairs + 1, self.bytes);
        io::Error::new(io::ErrorKind::InvalidData, what)
    }
}

/// Appends a pair.
///
/// ```
/// let mut bytes = Vec::new();
/// alluvium_readonly::prefixed::write_pair(b"peru", b"lima", &mut bytes);
/// assert_eq!(bytes, b"\x04\x1aperu\x04\x1alima");
/// ```
pub fn write_pair(key: &[u8], value: &[u8], out: &mut Vec<u8>) {
    for bytes in [key, value] {
        let mut left = bytes.len();
        while left > 0 {
            let byte = left as u8;
            if byte == END || byte == ESCAPE {
                out.push(ESCAPE);
            }
            out.push(byte);
            left >>= 8;
        }
        out.push(END);
        out.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests;
