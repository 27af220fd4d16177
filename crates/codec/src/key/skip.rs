//! Skips keys, inverted ones included, without decoding them.

use super::{GROUPS, MAX_DEPTH, TOO_DEEP, rank};
use crate::error::{DecodeError, Result};

/// Takes one key from the front of `input`. With `inverted`, all bits of the key are inverted, as in a descending
/// index.
///
/// # Errors
/// [`DecodeError`] if the bytes do not begin with a key. Checks only as much as finding the end of the key requires.
pub fn skip(input: &mut &[u8], inverted: bool) -> Result<()> {
    let mut keys = Keys { input, flip: if inverted { 0xff } else { 0 } };
    let rank = keys.byte()?;
    keys.rest(rank, MAX_DEPTH)
}

struct Keys<'a, 'b> {
    input: &'a mut &'b [u8],
    flip: u8,
}

impl Keys<'_, '_> {
    #[inline]
    fn byte(&mut self) -> Result<u8> {
        let (&byte, rest) = self.input.split_first().ok_or(DecodeError::Truncated)?;
        *self.input = rest;
        Ok(byte ^ self.flip)
    }

    #[inline]
    fn pass(&mut self, len: usize) -> Result<()> {
        *self.input = self.input.get(len..).ok_or(DecodeError::Truncated)?;
        Ok(())
    }

    fn rest(&mut self, rank: u8, depth: usize) -> Result<()> {
        match rank {
            rank::MIN_KEY | rank::UNDEFINED | rank::NULL | rank::MAX_KEY => Ok(()),
            rank::NUMBER => self.number(),
            rank::STRING | rank::CODE => self.text(),
            rank::MAP => self.map(deeper(depth)?),
            rank::ARRAY => {
                let depth = deeper(depth)?;
                loop {
                    match self.byte()? {
                        0 => return Ok(()),
                        rank => self.rest(rank, depth)?,
                    }
                }
            }
            rank::BINARY => {
                let len = self.len()?;
                self.pass(1)?;
                self.pass(len)
            }
            rank::OBJECT_ID => self.pass(12),
            rank::BOOL => self.pass(1),
            rank::DATE_TIME | rank::TIMESTAMP => self.pass(8),
            rank::REGEX => {
                self.text()?;
                self.text()
            }
            rank::DB_POINTER => {
                let len = self.len()?;
                self.pass(len)?;
                self.pass(12)
            }
            rank::CODE_WITH_SCOPE => {
                self.text()?;
                self.map(deeper(depth)?)
            }
            _ => Err(DecodeError::Invalid("an unknown type in a key")),
        }
    }

    fn number(&mut self) -> Result<()> {
        // The double has the sign of the number: the greatest double not above a negative number is negative.
        let negative = self.byte()? & 0x80 == 0;
        self.pass(1)?;
        for _ in 0..GROUPS {
            if self.byte()? & 1 == 0 {
                return Ok(());
            }
        }
        self.pass(5)?;
        let end = if negative { 0xff } else { 0 };
        while self.byte()? != end {}
        Ok(())
    }

    /// Skips bytes written by [`super::put_bytes`].
    fn text(&mut self) -> Result<()> {
        loop {
            let at = self.input.iter().position(|&byte| byte == self.flip).ok_or(DecodeError::Truncated)?;
            self.pass(at + 1)?;
            match self.byte()? {
                0xff => {}
                1 => return Ok(()),
                _ => return Err(DecodeError::Invalid("an unknown escape in a key")),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<()> {
        loop {
            let rank = self.byte()?;
            if rank == 0 {
                return Ok(());
            }
            let name = self.byte()?;
            self.rest(name, depth)?;
            self.rest(rank, depth)?;
        }
    }

    fn len(&mut self) -> Result<usize> {
        match self.byte()? {
            255 => {
                let mut len = 0u64;
                for _ in 0..8 {
                    len = len << 8 | u64::from(self.byte()?);
                }
                usize::try_from(len).map_err(|_| DecodeError::Truncated)
            }
            len => Ok(usize::from(len)),
        }
    }
}

fn deeper(depth: usize) -> Result<usize> {
    depth.checked_sub(1).ok_or(DecodeError::Invalid(TOO_DEEP))
}
