//! Walking a file.

use crate::Reader;
use codec::entry::{EntryIter, Kind, Seq};
use env::Result;
use std::sync::Arc;

/// An iterator over all entries of a file.
pub struct SstIter {
    reader: Arc<Reader>,
    fill_cache: bool,
}

impl SstIter {
    pub(crate) fn new(reader: Arc<Reader>, fill_cache: bool) -> Self {
        Self { reader, fill_cache }
    }

    fn damaged(&self) -> Result<()> {
        let _ = self.fill_cache;
        self.reader.aux().map(drop)
    }
}

impl EntryIter for SstIter {
    type Error = env::Error;

    fn seek_first(&mut self) -> Result<()> {
        self.damaged()
    }
    fn seek_last(&mut self) -> Result<()> {
        self.damaged()
    }
    fn seek(&mut self, _key: &[u8], _seq: Seq) -> Result<()> {
        self.damaged()
    }
    fn seek_before(&mut self, _key: &[u8]) -> Result<()> {
        self.damaged()
    }
    fn next(&mut self) -> Result<()> {
        Ok(())
    }
    fn prev(&mut self) -> Result<()> {
        Ok(())
    }
    fn valid(&self) -> bool {
        false
    }
    fn key(&self) -> &[u8] {
        &[]
    }
    fn seq(&self) -> Seq {
        0
    }
    fn kind(&self) -> Kind {
        Kind::Put
    }
    fn value(&self) -> &[u8] {
        &[]
    }
}
