//! Index files: their partitions follow each other, and point to blocks in another file.

use super::Walker;
use crate::block::{Block, Shape};
use crate::footer::Footer;
use crate::index_file::{IndexFileMeta, TAG};
use crate::properties::Properties;
use crate::stored::{Handle, Role};
use alluvium_env::Result;

/// The bytes of a partition's entry in the top-level index of an index file: offset, length, and
/// the start of its region in the data.
const PLACE_BYTES: usize = 20;

/// The properties of an index file.
fn decode(mut properties: &[u8]) -> alluvium_codec::Result<IndexFileMeta> {
    let meta = IndexFileMeta::decode(&mut properties)?;
    match properties {
        [] => Ok(meta),
        _ => Err(alluvium_codec::DecodeError::Invalid("more bytes than properties")),
    }
}

impl Walker<'_> {
    /// Records the properties. The properties of the two kinds of file differ in length: the
    /// properties of an index file are shorter than the shortest properties of a sorted file.
    pub(super) fn properties(&mut self, content: &[u8]) -> alluvium_codec::Result<()> {
        match (Properties::decode(content), decode(content)) {
            (Ok(properties), _) => self.found.properties = Some(properties),
            (Err(_), Ok(meta)) => {
                let (bytes, footer) = (self.found.file_bytes, self.found.footer.map_or(0, |footer| footer.checksum));
                self.found.index_file = Some(IndexFileMeta { bytes, footer_checksum: footer, ..meta });
            }
            (Err(error), Err(_)) => return Err(error),
        }
        Ok(())
    }

    /// True if the file is an index file, according to its properties or its aux block.
    pub(super) fn is_index_file(&mut self, footer: &Footer) -> Result<bool> {
        let properties = self.content(footer.properties, Role::Properties)?;
        if properties.is_ok_and(|content| Properties::decode(&content).is_err() && decode(&content).is_ok()) {
            return Ok(true);
        }
        Ok(footer.aux.len > 0 && self.content(footer.aux, Role::Aux)?.is_ok_and(|content| content.starts_with(TAG)))
    }

    /// Passes the partitions of an index file to `visit`. According to the top-level index, they
    /// follow each other.
    pub(super) fn index_partitions(&mut self, footer: &Footer) -> Result<()> {
        let top = self.content_padded(footer.index, Role::Index)?;
        let top = top.ok().and_then(|content| Block::decode(content, Shape::Entries).ok());
        let Some(places) = top.and_then(|top| places(&top, footer.data_end())) else {
            return self.by_trial(0, footer.data_end(), None);
        };
        places.into_iter().try_for_each(|at| self.block(at, Role::Partition, None))
    }
}

/// The locations of the partitions, if they follow each other from the beginning of the file up to
/// `end`.
fn places(top: &Block, end: u64) -> Option<Vec<Handle>> {
    let mut places: Vec<Handle> = Vec::with_capacity(top.len());
    for index in 0..top.len() {
        let value: &[u8; PLACE_BYTES] = top.direct_value(index).try_into().ok()?;
        let offset = u64::from_le_bytes(*value.first_chunk()?);
        let len = u32::from_le_bytes(*value.get(8..)?.first_chunk()?);
        if offset != places.last().map_or(0, |before| before.end()) || len == 0 {
            return None;
        }
        places.push(Handle { offset, len });
    }
    (places.last().map_or(0, |last| last.end()) == end).then_some(places)
}
