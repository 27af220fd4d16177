//! Copies entries from memtables or files into new files. Entries that no reader can see any more
//! are dropped, and deltas are folded if their whole chain is in the input.
//!
//! A chain is folded onto a full write that no live snapshot separates from it; the value takes the
//! number of the newest delta. Deltas whose full write is further down, or beyond a snapshot, are
//! copied unchanged. Deltas have no effect if the key has no older version; such deltas are
//! dropped.
//!
//! In trees whose keys are marked ([`Newest`]), the newest version of a key is written as a
//! [`Kind::Folded`] entry if it is not the only full write of the key. The filter of the file marks
//! such keys.
//!
//! Entries that a range tombstone hides from every snapshot are skipped. A stretch of an input is
//! skipped without being read if the whole stretch is older than the tombstone.

use super::output::Output;
use crate::chain::{Base, Chain};
use crate::covers::Pass;
use crate::key::tree_of;
use crate::policy::{NUMBERLESS, Policies};
use crate::retention::{Retention, Verdict};
use crate::superseded::Superseded;
use alluvium_codec::entry::{self, Entry, Kind, MAX_SEQ, Seq};
use alluvium_env::{Error, Result};

/// A copy checks whether it should stop after this many raw bytes.
const POLL_BYTES: usize = 64 << 10;

/// The entries of a tree that a sweep drops.
pub struct Drops<'a> {
    /// The number of the tree.
    pub tree: u32,
    /// True if the put of this key (with its tree) under this sequence number is dropped. Called
    /// for each version.
    pub is_dropped: &'a (dyn Fn(&[u8], Seq) -> bool + 'a),
}

/// A held put that is shorter keeps its memory for the next one.
const KEPT_BYTES: usize = 1 << 20;

/// The longest value that is rewritten as a [`Kind::Folded`] entry, which adds a prefix.
const MARKED_VALUE_MAX: usize = 1 << 27;

/// The newest of the copied versions of the current key, in trees whose keys are marked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Newest {
    /// No version yet, or a version that needs no mark.
    Nothing,
    /// A put of this number, held back in `held` until the next entry shows whether there is an
    /// older version.
    Held(Seq),
    /// A version that marks the key, or whose number was noted.
    Marked,
    /// A tombstone, or another version that cannot be marked: older versions are noted.
    Unmarked,
}

/// A held put.
#[derive(Default)]
struct Held {
    key: Vec<u8>,
    /// The prefix of a [`Kind::Folded`] entry that is its own last full write, then the value.
    content: Vec<u8>,
}

/// Copies the entries of a sorted source to an output.
pub(crate) struct Copier<'a, 'o> {
    retention: Retention,
    policies: &'a Policies,
    output: &'a mut Output<'o>,
    /// True if no run below the output can have an older entry of this key.
    at_bottom: &'a dyn Fn(&[u8]) -> bool,
    /// Deltas of `key` that wait for the entries below them.
    chain: Chain,
    key: Vec<u8>,
    /// The last snapshot that reads the chain. Set only if a version newer than the chain was
    /// copied.
    shadowed: Option<Seq>,
    /// True if the sequence numbers of the current tree's entries are used.
    numbers: bool,
    /// True if rewritten keys of the current tree are marked.
    marks: bool,
    newest: Newest,
    held: Held,
    folded: Vec<u8>,
    folds: u64,
    refused: u64,
    drops: Option<&'a Drops<'a>>,
    dropped: u64,
    superseded: Superseded,
}

/// The result of a copy.
pub(crate) struct CopyResult {
    /// False if the copy was stopped.
    pub whole: bool,
    /// Deltas that could not apply.
    pub refused: u64,
    /// Values that deltas were folded onto.
    pub folded: u64,
    /// Entries that [`Drops`] allowed to drop.
    pub dropped: u64,
    /// The numbers of superseded entries among the copied and the dropped ones.
    pub superseded: Superseded,
}

impl<'a, 'o> Copier<'a, 'o> {
    pub fn new(
        retention: Retention,
        policies: &'a Policies,
        output: &'a mut Output<'o>,
        at_bottom: &'a dyn Fn(&[u8]) -> bool,
    ) -> Self {
        Self {
            retention,
            policies,
            output,
            at_bottom,
            chain: Chain::default(),
            key: Vec::new(),
            shadowed: None,
            numbers: true,
            marks: false,
            newest: Newest::Nothing,
            held: Held::default(),
            folded: Vec::new(),
            folds: 0,
            refused: 0,
            drops: None,
            dropped: 0,
            superseded: Superseded::default(),
        }
    }

    /// Drops these entries.
    pub fn without(mut self, drops: Option<&'a Drops<'a>>) -> Self {
        self.drops = drops;
        self
    }

    fn is_dropped(&self, entry: &Entry<'_>) -> bool {
        entry.kind == Kind::Put
            && self
                .drops
                .is_some_and(|drops| drops.tree == tree_of(entry.key) && (drops.is_dropped)(entry.key, entry.seq))
    }

    fn copied(self, whole: bool) -> CopyResult {
        let Self { refused, folds: folded, dropped, superseded, .. } = self;
        CopyResult { whole, refused, folded, dropped, superseded }
    }

    /// Copies the entries that a reader may still see, until `stop` returns true.
    pub fn run<I: Pass<Error = Error>>(mut self, source: &mut I, stop: &dyn Fn() -> bool) -> Result<CopyResult> {
        let now = self.retention.visible();
        let mut tree = None;
        let mut since_poll = 0;
        source.seek_first()?;
        while source.valid() {
            let key = source.key();
            let this = tree_of(key);
            if tree != Some(this) {
                // The chain belongs to the previous tree, whose use of numbers applies to it.
                self.leave_chain(None)?;
                self.leave_key()?;
                tree = Some(this);
                if !self.policies.liveness.tree_is_live(this, now) {
                    let Some(next) = this.checked_add(1) else { break };
                    source.seek(&next.to_be_bytes(), MAX_SEQ)?;
                    continue;
                }
                self.numbers = self.policies.trees.needs_numbers(this);
                self.marks = self.numbers
                    && self.policies.trees.wants_filter(this)
                    && self.policies.definitions.uses_definitions(this);
            }
            let passed = match self.retention.passes(key, source.seq()) {
                Some((cover, high)) => {
                    if self.numbers {
                        self.superseded.note(this, cover);
                    }
                    since_poll += key.len();
                    // The pass ends within the tree, because the next tree is noted separately.
                    let end = this.checked_add(1).map(u32::to_be_bytes);
                    source.pass_forward(cover, end.as_ref().map_or(high, |end| high.min(end)))?;
                    true
                }
                None => {
                    let entry = Entry { key, seq: source.seq(), kind: source.kind(), value: source.value() };
                    match self.is_dropped(&entry) {
                        true => self.dropped += 1,
                        false => self.take(entry)?,
                    }
                    since_poll += entry.key.len() + entry.value.len();
                    false
                }
            };
            if since_poll >= POLL_BYTES {
                since_poll = 0;
                if stop() {
                    return Ok(self.copied(false));
                }
            }
            if !passed {
                source.next()?;
            }
        }
        self.leave_chain(None)?;
        self.leave_key()?;
        Ok(self.copied(true))
    }

    #[inline]
    fn take(&mut self, entry: Entry<'_>) -> Result<()> {
        let verdict = self.retention.judge_covered(entry.key, entry.seq, entry.kind);
        if !self.chain.is_empty() && !matches!(verdict, Verdict::Chain | Verdict::Base { .. }) {
            self.leave_chain(Some(entry.key))?;
        }
        match verdict {
            _ if self.marks => self.mark(&entry, verdict)?,
            Verdict::Keep if entry.kind != Kind::Delta => {}
            Verdict::DropIfBottom | Verdict::ChainStart { shadowed: None } => {}
            _ => self.note(entry.key, entry.seq),
        }
        match verdict {
            Verdict::Keep if self.newest == Newest::Held(entry.seq) => Ok(()),
            Verdict::Keep if !self.numbers && entry.kind == Kind::Put => {
                let entry = self.lowest(entry);
                self.output.add(entry, None)
            }
            Verdict::Keep => self.output.add(entry, None),
            Verdict::KeepShadowed(until) => self.output.add(entry, Some(until)),
            Verdict::DropIfBottom if !(self.at_bottom)(entry.key) => self.output.add(entry, None),
            Verdict::DropIfBottom | Verdict::Drop => Ok(()),
            Verdict::ChainStart { shadowed } => {
                self.key.clear();
                self.key.extend_from_slice(entry.key);
                self.shadowed = shadowed;
                self.chain.push(entry.seq, entry.value);
                Ok(())
            }
            Verdict::Chain => {
                self.chain.push(entry.seq, entry.value);
                Ok(())
            }
            Verdict::Base { oldest } => self.close_chain(entry, oldest),
        }
    }

    /// Called before an entry of a tree whose keys are marked is treated as its verdict says. Finds
    /// whether the entry is the first of its key. If it is, a put is held back. If it is not, the
    /// newest version of the key marks the key, or the entry is noted.
    #[inline]
    fn mark(&mut self, entry: &Entry<'_>, verdict: Verdict) -> Result<()> {
        let may_be_first = match verdict {
            Verdict::Keep | Verdict::ChainStart { shadowed: None } => true,
            // These verdicts are also given to older versions, and to keys whose newer entries range tombstones hide.
            Verdict::DropIfBottom | Verdict::Drop => self.held.key != entry.key,
            Verdict::KeepShadowed(_) | Verdict::ChainStart { .. } | Verdict::Chain | Verdict::Base { .. } => false,
        };
        if !may_be_first {
            return self.mark_older(entry);
        }
        self.leave_key()?;
        self.held.key.clear();
        self.held.key.extend_from_slice(entry.key);
        self.newest = match (verdict, entry.kind) {
            // A range tombstone hides this entry and all older versions, which have lower numbers.
            (Verdict::Drop, _) => {
                self.note(entry.key, entry.seq);
                Newest::Marked
            }
            (Verdict::Keep, Kind::Put) if entry.value.len() <= MARKED_VALUE_MAX => {
                let content = &mut self.held.content;
                content.clear();
                content.shrink_to(KEPT_BYTES);
                entry::put_folded(content, entry.seq, entry.seq);
                if entry.value.len() > KEPT_BYTES {
                    content.reserve_exact(entry.value.len());
                }
                content.extend_from_slice(entry.value);
                Newest::Held(entry.seq)
            }
            // Deltas that vanish are noted.
            (_, Kind::Delta | Kind::Folded) => Newest::Marked,
            _ => Newest::Unmarked,
        };
        Ok(())
    }

    /// Handles a version that is not the newest of its key.
    fn mark_older(&mut self, entry: &Entry<'_>) -> Result<()> {
        match self.newest {
            Newest::Held(seq) => {
                self.newest = Newest::Marked;
                let Held { key, content } = &self.held;
                self.output.add(Entry { key, seq, kind: Kind::Folded, value: content }, None)
            }
            Newest::Marked => Ok(()),
            Newest::Nothing | Newest::Unmarked => {
                self.note(entry.key, entry.seq);
                Ok(())
            }
        }
    }

    /// Copies the newest version of the key, if it is held back, as the only version of its key.
    fn leave_key(&mut self) -> Result<()> {
        let Newest::Held(seq) = std::mem::replace(&mut self.newest, Newest::Nothing) else { return Ok(()) };
        let Held { key, content } = &self.held;
        let (_, value) = entry::split_folded(seq, content).map_err(|e| damaged(key, &e))?;
        self.output.add(Entry { key, seq, kind: Kind::Put, value }, None)
    }

    /// Records the number of an entry that is not the only version of its key, or not a full write.
    #[inline]
    fn note(&mut self, key: &[u8], seq: Seq) {
        if self.numbers {
            self.superseded.note(tree_of(key), seq);
        }
    }

    /// Returns the entry, with the lowest number if no reader can see the difference.
    fn lowest<'e>(&mut self, entry: Entry<'e>) -> Entry<'e> {
        // An entry under a range tombstone keeps its number, because the tombstone may be older
        // than the entry.
        let plain =
            self.retention.seen_by_all() && (self.at_bottom)(entry.key) && !self.retention.is_covered(entry.key);
        if plain { Entry { seq: NUMBERLESS, ..entry } } else { entry }
    }

    /// Ends a chain for which no full write of its stripe was found; `next` is the next entry's
    /// key.
    fn leave_chain(&mut self, next: Option<&[u8]>) -> Result<()> {
        if self.chain.is_empty() {
            return Ok(());
        }
        // Deltas have no effect if nothing is below them.
        let nothing_below = next != Some(self.key.as_slice()) && (self.at_bottom)(&self.key);
        if nothing_below || !self.marks {
            self.note_chain();
        }
        if !nothing_below {
            self.copy_chain()?;
        }
        self.chain.clear();
        Ok(())
    }

    /// Records a chain that was not folded onto a full write.
    fn note_chain(&mut self) {
        if self.numbers {
            self.superseded.note(tree_of(&self.key), self.chain.newest());
        }
    }

    fn copy_chain(&mut self) -> Result<()> {
        let mut shadowed = self.shadowed;
        for (seq, value) in self.chain.iter() {
            // Only the first delta counts as future garbage: rewriting the file does not shorten a
            // chain.
            let shadowed = std::mem::take(&mut shadowed);
            self.output.add(Entry { key: &self.key, seq, kind: Kind::Delta, value }, shadowed)?;
        }
        Ok(())
    }

    /// Folds the chain onto a value, and appends the result to `folded`. Returns `None` if folding
    /// is not possible now, or if the value or a delta is damaged: a read of the key reports the
    /// damage. The other keys are copied in either case.
    fn fold(&mut self, key: &[u8], value: &[u8]) -> Result<Option<u64>> {
        match self.chain.fold(&*self.policies.fold, key, value, &mut self.folded) {
            Err(error @ Error::Corrupt { .. }) => {
                log::warn!(target: "alluvium::files", "deltas stay unfolded: {error}");
                Ok(None)
            }
            folded => folded,
        }
    }

    /// Ends the chain at this entry of the same stripe; `oldest` is true if the entry is the oldest
    /// of the key.
    fn close_chain(&mut self, base: Entry<'_>, oldest: bool) -> Result<()> {
        match Base::of(base.seq, base.kind, base.value).map_err(|e| damaged(base.key, &e))? {
            // Deltas have no effect on an absent value.
            Base::Absent => {
                self.note_chain();
                self.chain.clear();
                if oldest && (self.at_bottom)(base.key) { Ok(()) } else { self.output.add(base, self.shadowed) }
            }
            Base::Value(full, value) => {
                let seq = self.chain.newest();
                self.folded.clear();
                entry::put_folded(&mut self.folded, seq, full);
                match self.fold(base.key, value)? {
                    Some(refused) => {
                        self.refused += refused;
                        self.folds += 1;
                        if refused > 0 {
                            self.note_chain();
                        }
                        let folded = Entry { key: base.key, seq, kind: Kind::Folded, value: &self.folded };
                        self.output.add(folded, self.shadowed)?;
                    }
                    None => {
                        self.note_chain();
                        self.copy_chain()?;
                        self.output.add(base, None)?;
                    }
                }
                self.chain.clear();
                Ok(())
            }
        }
    }
}

fn damaged(key: &[u8], error: &alluvium_codec::DecodeError) -> Error {
    Error::corrupt(std::path::Path::new("a folded value"), 0, format!("key {key:02x?}: {error}"))
}
