//! The memtable.

use crate::MemtableIter;
use codec::entry::{Entry, Kind, Seq};
use env::sync::{Condvar, Mutex, RwLock};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A write of one key: number, kind and value.
pub(crate) type Map = BTreeMap<(Vec<u8>, Reverse<Seq>), (Kind, Vec<u8>)>;

/// Recent writes of one partition, over a contiguous interval of numbers.
pub struct Memtable {
    first_seq: Seq,
    pub(crate) map: RwLock<Map>,
    gate: Mutex<Gate>,
    idle: Condvar,
}

struct Gate {
    writers: usize,
    last_seq: Option<Seq>,
}

impl Memtable {
    /// An empty memtable for numbers from `first_seq` on.
    pub fn new(first_seq: Seq) -> Self {
        Self {
            first_seq,
            map: RwLock::new(BTreeMap::new()),
            gate: Mutex::new(Gate { writers: 0, last_seq: None }),
            idle: Condvar::new(),
        }
    }

    /// The first number of the interval.
    pub fn first_seq(&self) -> Seq {
        self.first_seq
    }

    /// Announces a writer. Called by the commit leader before it numbers operations for this
    /// memtable; never after [`Memtable::seal`].
    pub fn register_writer(&self) {
        self.gate.lock().writers += 1;
    }

    /// Adds entries, with one lock for all of them; numbers may come in any order.
    pub fn apply<'a>(&self, entries: impl Iterator<Item = Entry<'a>>) {
        let mut map = self.map.write();
        for entry in entries {
            map.insert((entry.key.to_vec(), Reverse(entry.seq)), (entry.kind, entry.value.to_vec()));
        }
    }

    /// Ends a writer's announcement.
    pub fn finish_writer(&self) {
        let mut gate = self.gate.lock();
        gate.writers = gate.writers.saturating_sub(1);
        if gate.writers == 0 {
            self.idle.notify_all();
        }
    }

    /// Ends the interval of numbers at `last_seq`. No writer is registered afterwards.
    pub fn seal(&self, last_seq: Seq) {
        self.gate.lock().last_seq = Some(last_seq);
    }

    /// True after [`Memtable::seal`].
    pub fn is_sealed(&self) -> bool {
        self.gate.lock().last_seq.is_some()
    }

    /// The last number of the interval, once sealed.
    pub fn last_seq(&self) -> Option<Seq> {
        self.gate.lock().last_seq
    }

    /// Waits until every registered writer has finished.
    pub fn wait_for_writers(&self) {
        let mut gate = self.gate.lock();
        while gate.writers > 0 {
            self.idle.wait(&mut gate);
        }
    }

    /// Finds the newest version of `key` not above `seq`, and replaces `value` by its value.
    /// `value` is left alone if there is none.
    pub fn get(&self, key: &[u8], seq: Seq, value: &mut Vec<u8>) -> Option<(Seq, Kind)> {
        let map = self.map.read();
        let (found, (kind, bytes)) = map.range((key.to_vec(), Reverse(seq))..).next()?;
        if found.0 != key {
            return None;
        }
        value.clear();
        value.extend_from_slice(bytes);
        Some((found.1.0, *kind))
    }

    /// The memory that this memtable holds, in bytes.
    pub fn charged_bytes(&self) -> usize {
        let map = self.map.read();
        map.iter().map(|(key, value)| key.0.len() + value.1.len() + 64).sum()
    }

    /// The number of entries, all versions counted.
    pub fn len(&self) -> usize {
        self.map.read().len()
    }

    /// True without entries.
    pub fn is_empty(&self) -> bool {
        self.map.read().is_empty()
    }

    /// An iterator that sees at least what was applied before this call.
    pub fn iter(self: &Arc<Self>) -> MemtableIter {
        MemtableIter::new(self)
    }
}
