//! The iterator over a memtable.

use crate::Memtable;
use codec::entry::{self, EntryIter, Kind, Seq};
use std::cmp::Ordering;
use std::sync::Arc;

/// Walks a memtable in entry order, either way.
pub struct MemtableIter {
    entries: Vec<(Vec<u8>, Seq, Kind, Vec<u8>)>,
    at: Option<usize>,
}

impl MemtableIter {
    pub(crate) fn new(table: &Arc<Memtable>) -> Self {
        let map = table.map.read();
        let entries = map.iter().map(|(k, v)| (k.0.clone(), k.1.0, v.0, v.1.clone())).collect();
        Self { entries, at: None }
    }

    fn set(&mut self, at: Option<usize>) -> env::Result<()> {
        self.at = at.filter(|&at| at < self.entries.len());
        Ok(())
    }

    fn current(&self) -> Option<&(Vec<u8>, Seq, Kind, Vec<u8>)> {
        self.at.and_then(|at| self.entries.get(at))
    }
}

impl EntryIter for MemtableIter {
    type Error = env::Error;

    fn seek_first(&mut self) -> env::Result<()> {
        self.set(Some(0))
    }

    fn seek_last(&mut self) -> env::Result<()> {
        self.set(self.entries.len().checked_sub(1))
    }

    fn seek(&mut self, key: &[u8], seq: Seq) -> env::Result<()> {
        let at = self.entries.partition_point(|e| entry::compare(&e.0, e.1, key, seq) == Ordering::Less);
        self.set(Some(at))
    }

    fn seek_before(&mut self, key: &[u8]) -> env::Result<()> {
        let at = self.entries.partition_point(|e| e.0.as_slice() < key);
        self.set(at.checked_sub(1))
    }

    fn next(&mut self) -> env::Result<()> {
        self.set(self.at.map(|at| at + 1))
    }

    fn prev(&mut self) -> env::Result<()> {
        self.set(self.at.and_then(|at| at.checked_sub(1)))
    }

    fn valid(&self) -> bool {
        self.at.is_some()
    }

    fn key(&self) -> &[u8] {
        self.current().map_or(&[], |e| &e.0)
    }

    fn seq(&self) -> Seq {
        self.current().map_or(0, |e| e.1)
    }

    fn kind(&self) -> Kind {
        self.current().map_or(Kind::Put, |e| e.2)
    }

    fn value(&self) -> &[u8] {
        self.current().map_or(&[], |e| &e.3)
    }
}
