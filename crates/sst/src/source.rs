//! Reading stored blocks from an open file.

use crate::block::PADDING;
use crate::compress::Scratch;
use crate::dictionary::Dictionary;
use crate::footer::Footer;
use crate::stored::{self, Handle, Role};
use alluvium_env::{Error, File, Result};

/// A file from which blocks are read, and some of its bytes that are in memory already.
#[derive(Clone, Copy)]
pub(crate) struct BlockSource<'a> {
    file: &'a dyn File,
    number: u64,
    /// Bytes of the file in memory, and their offset.
    tail: (&'a [u8], u64),
}

impl<'a> BlockSource<'a> {
    /// The file `number`.
    pub(crate) fn new(file: &'a dyn File, number: u64) -> Self {
        Self { file, number, tail: (&[], 0) }
    }

    /// This file, with some of its bytes in memory.
    pub(crate) fn with_bytes(self, bytes: &'a [u8], offset: u64) -> Self {
        Self { tail: (bytes, offset), ..self }
    }

    /// Reads, checks and decompresses a block. The content is followed by padding.
    pub(crate) fn read(&self, at: Handle, role: Role, dictionary: Option<&Dictionary>) -> Result<Vec<u8>> {
        self.read_with_checksum(at, role, dictionary).map(|(content, _)| content)
    }

    /// [`BlockSource::read`], and the block's checksum.
    pub(crate) fn read_with_checksum(
        &self,
        at: Handle,
        role: Role,
        dictionary: Option<&Dictionary>,
    ) -> Result<(Vec<u8>, u32)> {
        let content = Scratch::with(|scratch| {
            let stored = match self.at_hand(at) {
                Some(stored) => stored,
                None => {
                    // Only lengths within the file are read, so this cannot exhaust memory.
                    scratch.stored.resize(at.len as usize, 0);
                    self.file.read_exact_at(&mut scratch.stored, at.offset)?;
                    &scratch.stored
                }
            };
            let content = stored::get(stored, role, &mut scratch.decoders, dictionary, self.number, at.offset);
            Ok(content.map(|content| (content, stored::checksum_of(stored))))
        })?;
        content.map_err(|what| Error::corrupt(self.file.path(), at.offset, what))
    }

    fn at_hand(&self, at: Handle) -> Option<&'a [u8]> {
        let (bytes, offset) = self.tail;
        let start = usize::try_from(at.offset.checked_sub(offset)?).ok()?;
        bytes.get(start..start.checked_add(at.len as usize)?)
    }

    /// Reads the dictionary that the footer names, and checks its id.
    pub(crate) fn read_dictionary(&self, footer: &Footer) -> Result<Dictionary> {
        let mut content = self.read(footer.dictionary, Role::Dictionary, None)?;
        content.truncate(content.len() - PADDING);
        let dictionary = Dictionary::from_bytes(content);
        if dictionary.id() == footer.dictionary_id {
            return Ok(dictionary);
        }
        Err(Error::corrupt(
            self.file.path(),
            footer.dictionary.offset,
            "the dictionary is not the one that the footer names",
        ))
    }
}
