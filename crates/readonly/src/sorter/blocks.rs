//! Blocks of bytes in a file, which are read by their numbers.

use super::Files;
use super::stored::{Place, Stored};
use crate::error::{Error, Result};
use alluvium_env::Env;
use std::path::PathBuf;

/// Blocks of bytes in a file. They are appended, and read any number of times, in any order.
///
/// ```
/// # fn main() -> alluvium_readonly::Result<()> {
/// use alluvium_readonly::sorter::Blocks;
/// let mut blocks = Blocks::new(&alluvium_env::Env::in_memory(1), "sort-1".into());
/// for block in [&b"a"[..], b"bc"] {
///     blocks.push(block, |_| alluvium_readonly::Result::Ok(()))?;
/// }
/// let mut block = Vec::new();
/// blocks.read(1, &mut block)?;
/// assert_eq!(block, b"bc");
/// # Ok(())
/// # }
/// ```
pub struct Blocks {
    stored: Stored,
    places: Vec<Place>,
    files: Files,
}

impl Blocks {
    /// An empty list of blocks. Their file is in the folder `dir`, which is created when it is needed, and removed at
    /// the end.
    ///
    /// ```
    /// # use alluvium_readonly::sorter::Blocks;
    /// let mut blocks = Blocks::new(&alluvium_env::Env::in_memory(1), "sort-1".into());
    /// assert!(blocks.read(0, &mut Vec::new()).is_err());
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    pub fn new(env: &Env, dir: PathBuf) -> Self {
        let files = Files { env: env.clone(), dir, made: false };
        Self { stored: Stored::default(), places: Vec::new(), files }
    }

    /// Appends a block. `proceed` is called with the bytes of disk space that this needs.
    ///
    /// ```
    /// # use alluvium_readonly::sorter::Blocks;
    /// let mut blocks = Blocks::new(&alluvium_env::Env::in_memory(1), "sort-1".into());
    /// blocks.push(b"a", |_| alluvium_readonly::Result::Ok(()))?;
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// I/O errors, and errors of `proceed`. After an error no more blocks may be added.
    pub fn push<E: From<Error>>(
        &mut self,
        block: &[u8],
        mut proceed: impl FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        proceed(block.len() as u64)?;
        self.files.make()?;
        self.places.push(self.stored.append(&self.files.env, &self.files.dir, block)?);
        Ok(())
    }

    /// Reads the block with this number, counted from 0, into `out`.
    ///
    /// ```
    /// # use alluvium_readonly::sorter::Blocks;
    /// let mut blocks = Blocks::new(&alluvium_env::Env::in_memory(1), "sort-1".into());
    /// blocks.push(b"a", |_| alluvium_readonly::Result::Ok(()))?;
    /// let mut block = Vec::new();
    /// blocks.read(0, &mut block)?;
    /// assert_eq!(block, b"a");
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// There is no such block; damage; I/O errors.
    pub fn read(&self, number: usize, out: &mut Vec<u8>) -> Result<()> {
        match self.places.get(number) {
            Some(place) => self.stored.read(*place, out),
            None => Err(alluvium_env::Error::corrupt(&self.files.dir, 0, "a block of the sort is missing").into()),
        }
    }
}

#[cfg(test)]
mod tests;
