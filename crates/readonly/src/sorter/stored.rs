//! Long values of a sorter, and the tails of long keys, in a file of their own.

use crate::error::Result;
use alluvium_codec::{Hasher64, checksum64};
use alluvium_env::{Env, Error, File, OpenMode};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the file.
const NAME: &str = "values";
const INLINE: u8 = 0;
const STORED: u8 = 1;
const TIED: u8 = 2;
/// The longest buffer that is kept for the next value.
const KEPT_BYTES: usize = 1 << 20;
/// Stored bytes are checked in pieces of this many bytes.
const PIECE_BYTES: usize = 256 << 10;

/// The place of stored bytes, and their checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    offset: u64,
    len: u64,
    checksum: u64,
}

/// A pair whose key is longer than the part of it that runs contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tie {
    /// The rest of the key.
    pub tail: Place,
    pub value: Place,
}

/// The value of a pair as runs store it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueRef<'a> {
    Inline(&'a [u8]),
    Stored(Place),
    Tied(Tie),
}

impl ValueRef<'_> {
    pub fn encode(self, out: &mut Vec<u8>) {
        match self {
            Self::Inline(value) => {
                out.push(INLINE);
                out.extend_from_slice(value);
            }
            Self::Stored(place) => {
                out.push(STORED);
                put_place(out, place);
            }
            Self::Tied(Tie { tail, value }) => {
                out.push(TIED);
                put_place(out, tail);
                put_place(out, value);
            }
        }
    }
}

fn put_place(out: &mut Vec<u8>, Place { offset, len, checksum }: Place) {
    [offset, len, checksum].iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
}

fn get_place(bytes: &mut &[u8]) -> Option<Place> {
    let mut number = || {
        let (number, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(u64::from_le_bytes(*number))
    };
    Some(Place { offset: number()?, len: number()?, checksum: number()? })
}

/// The file, which is created when the first bytes are appended.
#[derive(Default)]
pub(super) struct Stored {
    file: Option<Arc<dyn File>>,
    len: u64,
}

impl Stored {
    /// The length of the file in bytes.
    #[cfg(test)]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Appends bytes.
    pub fn append(&mut self, env: &Env, dir: &Path, bytes: &[u8]) -> Result<Place> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(env.fs.open(&dir.join(NAME), OpenMode::CreateNew)?),
        };
        let place = Place { offset: self.len, len: bytes.len() as u64, checksum: checksum64(bytes, self.len) };
        file.write_at(bytes, place.offset)?;
        self.len += place.len;
        Ok(place)
    }

    /// Decodes the value of a pair in a run.
    pub fn decode<'v>(&self, value: &'v [u8]) -> Result<ValueRef<'v>> {
        let decoded = match value.split_first() {
            Some((&INLINE, value)) => Some(ValueRef::Inline(value)),
            Some((&STORED, mut rest)) => get_place(&mut rest).map(ValueRef::Stored),
            Some((&TIED, mut rest)) => {
                get_place(&mut rest).and_then(|tail| Some(ValueRef::Tied(Tie { tail, value: get_place(&mut rest)? })))
            }
            _ => None,
        };
        decoded.ok_or_else(|| self.damaged(0))
    }

    /// Reads stored bytes into `out`.
    pub fn read(&self, place: Place, out: &mut Vec<u8>) -> Result<()> {
        let file = self.file_of(place)?;
        if out.capacity() > KEPT_BYTES {
            *out = Vec::new();
        }
        out.clear();
        out.resize(place.len as usize, 0);
        file.read_exact_at(out, place.offset)?;
        if checksum64(out, place.offset) != place.checksum {
            return Err(self.damaged(place.offset));
        }
        Ok(())
    }

    /// Reads up to `len` bytes at the offset `from`. They are not checked.
    pub fn read_part(&self, place: Place, from: u64, len: usize, out: &mut Vec<u8>) -> Result<()> {
        let file = self.file_of(place)?;
        let rest = place.len.saturating_sub(from);
        let before = out.len();
        out.resize(before + len.min(usize::try_from(rest).unwrap_or(usize::MAX)), 0);
        Ok(file.read_exact_at(&mut out[before..], place.offset + from.min(place.len))?)
    }

    /// Checks stored bytes without holding all of them in memory.
    pub fn check(&self, place: Place) -> Result<()> {
        let (mut hasher, mut piece, mut from) = (Hasher64::with_seed(place.offset), Vec::new(), 0);
        while from < place.len {
            piece.clear();
            self.read_part(place, from, PIECE_BYTES, &mut piece)?;
            hasher.add(&piece);
            from += piece.len() as u64;
        }
        if hasher.finish() != place.checksum {
            return Err(self.damaged(place.offset));
        }
        Ok(())
    }

    fn file_of(&self, place: Place) -> Result<&dyn File> {
        let is_inside = place.offset.checked_add(place.len).is_some_and(|end| end <= self.len);
        self.file.as_deref().filter(|_| is_inside).ok_or_else(|| self.damaged(place.offset))
    }

    fn damaged(&self, offset: u64) -> crate::error::Error {
        let path = self.file.as_ref().map_or_else(|| PathBuf::from(NAME), |file| file.path().to_owned());
        Error::corrupt(&path, offset, "a value of the sort is damaged").into()
    }
}
