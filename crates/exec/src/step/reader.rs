//! Reads the entries of an index within the bounds of a plan, and proves one entry per document.

use crate::counts::{Counts, Examined, Spent};
use crate::entries::EntryBatch;
use crate::run::Run;
use crate::seen::Seen;
use crate::source::{Proof, Source};
use crate::walk::Walk;
use alluvium_codec::hash64;
use alluvium_document::{Document, Value};
use alluvium_query::plan::IndexScan;
use std::ops::Range;

/// Reads entries of an index in batches.
pub(super) struct EntryReader<S: Source> {
    walk: Walk,
    /// `None` if there are no entries within the bounds.
    scan: Option<S::Entries>,
    pub batch: EntryBatch,
    /// The error that follows the batch.
    failed: Option<S::Error>,
    /// `Some` if documents may have several entries.
    repeats: Option<Repeats<S::Account>>,
    /// Time and blocks for reading entries, without proofs.
    spent: Spent,
}

impl<S: Source> EntryReader<S> {
    pub fn new(run: &Run<S>, plan: &IndexScan) -> Result<Self, S::Error> {
        let walk = Walk::new(plan, run.source.jump_after());
        let scan = walk.hull().map(|_| run.source.scan_entries(&walk)).transpose()?;
        let repeats = plan.multikey.then(|| Repeats {
            returned: Seen::new(run.request.seen_bytes_max, run.source.account()),
            part: vec![0; PART_BITS / 64],
        });
        Ok(Self { walk, scan, batch: EntryBatch::default(), failed: None, repeats, spent: Spent::default() })
    }

    pub fn plan(&self) -> &IndexScan {
        self.walk.plan()
    }

    /// As [`Source::pause_entries`].
    pub fn pause(&mut self, source: &S) {
        if let Some(scan) = &mut self.scan {
            source.pause_entries(scan);
        }
    }

    /// Replaces the batch by the next one, which is empty at the end.
    pub fn fill(&mut self, run: &mut Run<S>, most: usize) -> Result<(), S::Error> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let Self { walk, scan, batch, spent, .. } = self;
        batch.clear();
        let Some(scan) = scan else { return Ok(()) };
        batch.reserve(most);
        let read = run.measured(spent, |run| run.source.next_entries(scan, walk, most, &mut run.watch, batch));
        match read {
            Err(error) if batch.is_empty() => Err(error),
            Err(error) => {
                self.failed = Some(error);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Proves the next entries of the batch, at most `most`, from position `start` on, which is within the batch. Skips
    /// entries whose documents were returned already. Also skips entries whose values show that their documents do not
    /// match or yield another entry.
    pub fn prove(
        &mut self,
        run: &mut Run<S>,
        start: usize,
        most: usize,
        proof: Proof,
    ) -> Result<Proved<S::Error>, S::Error> {
        let last = self.batch.len().min(start.saturating_add(most));
        let end = match self.repeats.is_none() && self.plan().keys.is_empty() {
            true => last,
            false => self.select(run, start, last)?,
        };
        let Self { scan: Some(scan), batch, .. } = self else {
            return Ok(Proved { part: start..end, failed: None });
        };
        Ok(match run.source.prove(scan, batch, start..end, proof) {
            Ok(treated) => Proved { part: start..treated.clamp(start + 1, end.max(start + 1)), failed: None },
            Err(error) => Proved { part: start..end, failed: Some(error) },
        })
    }

    /// Skips entries that need no proof, from `start` to below `last`. Returns the end of the part:
    /// `last`, or the position of the second entry of a document. The part ends there because the
    /// first entry of the document decides whether it is returned.
    fn select(&mut self, run: &Run<S>, start: usize, last: usize) -> Result<usize, S::Error> {
        if let Some(repeats) = &mut self.repeats {
            repeats.part.fill(0);
        }
        for at in start..last {
            if let Some(repeats) = &mut self.repeats {
                let id = self.batch.id(at);
                if repeats.returned.contains(id) {
                    self.batch.skip(at);
                    continue;
                }
                if !repeats.is_first_of_part(id) {
                    return Ok(at);
                }
            }
            if !self.plan().keys.is_empty() {
                match self.meets_keys(run, at) {
                    Ok(true) => {}
                    Ok(false) => self.batch.skip(at),
                    Err(error) if at == start => return Err(error),
                    // The next part begins with this entry, and fails again there.
                    Err(_) => return Ok(at),
                }
            }
        }
        Ok(last)
    }

    fn meets_keys(&self, run: &Run<S>, at: usize) -> Result<bool, S::Error> {
        let values = self.values(run, at)?;
        Ok(self.plan().keys.matches_map(&self.plan().document(&values))?)
    }

    /// The values of an entry.
    pub fn values(&self, run: &Run<S>, at: usize) -> Result<Vec<Option<Value>>, S::Error> {
        match &self.scan {
            Some(scan) => run.source.values(scan, self.batch.entry(at)),
            None => Ok(Vec::new()),
        }
    }

    /// Records that the document of an entry is returned. Returns false if there is no memory to
    /// record it; the document may then be returned only if the entry [is the first
    /// one](EntryReader::is_first).
    pub fn note(&mut self, at: usize) -> bool {
        match &mut self.repeats {
            Some(repeats) => repeats.returned.add(self.batch.id(at)),
            None => true,
        }
    }

    /// True if an entry is the first one of its document within the bounds.
    pub fn is_first(&self, run: &Run<S>, at: usize, document: &Document) -> Result<bool, S::Error> {
        let plan = self.plan();
        let keys = run.source.keys_of(&plan.index, document)?.keys;
        let mut keys = keys.iter().filter(|key| plan.admits(&key.bytes));
        let first = if plan.backward { keys.next_back() } else { keys.next() };
        Ok(first.is_none_or(|first| first.bytes == self.batch.key(at)))
    }

    /// Skips the entries whose values in the parts up to `part` equal the values of this entry,
    /// which is the last of the batch.
    pub fn pass_over_equals(&mut self, at: usize, part: usize) {
        self.walk.pass_over_equals(self.batch.key(at), part);
    }

    pub fn counts(&self, source: &S) -> Counts {
        let examined = self.scan.as_ref().map_or_else(Examined::default, |scan| source.entries_examined(scan));
        Counts::of(examined, self.spent)
    }
}

/// The number of bits in which a part of a batch records its documents. It is large enough that
/// collisions among 64 documents are rare.
const PART_BITS: usize = 4096;

/// Finds documents that have several entries.
struct Repeats<A> {
    /// Documents that were returned.
    returned: Seen<A>,
    /// A bit for each document of one part of the batch, by its hash.
    part: Vec<u64>,
}

impl<A> Repeats<A> {
    /// Records a document. Returns false if the part has a document with the same bit; the part
    /// then ends. A collision of different documents only makes the part shorter.
    fn is_first_of_part(&mut self, id: &[u8]) -> bool {
        let bit = hash64(id) as usize % PART_BITS;
        let word = &mut self.part[bit / 64];
        let is_first = *word >> (bit % 64) & 1 == 0;
        *word |= 1 << (bit % 64);
        is_first
    }
}

/// The part of a batch that was proved or skipped.
pub(super) struct Proved<E> {
    pub part: Range<usize>,
    /// The error that ended the part early.
    pub failed: Option<E>,
}
