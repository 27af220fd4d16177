//! Long values of a sorter, in a file of their own.

use crate::error::Result;
use alluvium_codec::checksum64;
use alluvium_env::{Env, Error, File, OpenMode};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The shortest value that is stored apart, in bytes.
pub(super) const STORED_MIN: usize = 32 << 10;
/// The name of the file.
const NAME: &str = "values";
const INLINE: u8 = 0;
const STORED: u8 = 1;
/// The longest buffer that is kept for the next value.
const KEPT_BYTES: usize = 1 << 20;

/// The place of a stored value, and its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    offset: u64,
    len: u64,
    checksum: u64,
}

/// The value of a pair, as runs hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueRef<'a> {
    Inline(&'a [u8]),
    Stored(Place),
}

impl ValueRef<'_> {
    pub fn encode(self, out: &mut Vec<u8>) {
        match self {
            Self::Inline(value) => {
                out.push(INLINE);
                out.extend_from_slice(value);
            }
            Self::Stored(Place { offset, len, checksum }) => {
                out.push(STORED);
                [offset, len, checksum].iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
            }
        }
    }
}

/// The file of the stored values; it is made for the first one.
#[derive(Default)]
pub(super) struct StoredValues {
    file: Option<Arc<dyn File>>,
    len: u64,
}

impl StoredValues {
    /// The bytes of all values.
    #[cfg(test)]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Appends a value.
    pub fn append(&mut self, env: &Env, dir: &Path, value: &[u8]) -> Result<Place> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(env.fs.open(&dir.join(NAME), OpenMode::CreateNew)?),
        };
        let place = Place { offset: self.len, len: value.len() as u64, checksum: checksum64(value, self.len) };
        file.write_at(value, place.offset)?;
        self.len += place.len;
        Ok(place)
    }

    /// The value that a run holds.
    pub fn decode<'v>(&self, value: &'v [u8]) -> Result<ValueRef<'v>> {
        match value.split_first() {
            Some((&INLINE, value)) => Ok(ValueRef::Inline(value)),
            Some((&STORED, mut rest)) => {
                let mut number = || {
                    let (number, after) = rest.split_first_chunk()?;
                    rest = after;
                    Some(u64::from_le_bytes(*number))
                };
                match (number(), number(), number()) {
                    (Some(offset), Some(len), Some(checksum)) => Ok(ValueRef::Stored(Place { offset, len, checksum })),
                    _ => Err(self.damaged(0)),
                }
            }
            _ => Err(self.damaged(0)),
        }
    }

    /// Reads a stored value into `out`.
    pub fn read(&self, place: Place, out: &mut Vec<u8>) -> Result<()> {
        let is_inside = place.offset.checked_add(place.len).is_some_and(|end| end <= self.len);
        let Some(file) = self.file.as_ref().filter(|_| is_inside) else { return Err(self.damaged(place.offset)) };
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

    fn damaged(&self, offset: u64) -> crate::error::Error {
        let path = self.file.as_ref().map_or_else(|| PathBuf::from(NAME), |file| file.path().to_owned());
        Error::corrupt(&path, offset, "a value of the sort is damaged").into()
    }
}
