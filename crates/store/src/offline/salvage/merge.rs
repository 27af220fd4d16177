//! Merges the entries of many sources in the order of keys.

use super::Version;
use super::entry::{KeyRange, OwnedEntry};
use super::partial::{PartialFile, PartialIter};
use crate::error::{Result, check_stop};
use alluvium_codec::entry::{EntryIter, Kind, Seq, compare};
use alluvium_env::Env;
use alluvium_sst::{DictionaryRegistry, NoCache, Reader, SstIter};
use std::cmp::Ordering;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Receives the versions of a key, newest first.
pub(super) type Visit<'a> = dyn FnMut(&[u8], &[Version]) -> Result<()> + 'a;

/// The origin of entries.
pub(super) enum Content {
    /// An undamaged file.
    File { path: PathBuf, number: u64 },
    /// A damaged file with undamaged blocks.
    Damaged(PartialFile),
    /// Entries of the log, sorted.
    Loaded(Vec<OwnedEntry>),
}

/// A source of entries in their order.
pub(super) struct Source {
    pub content: Content,
    pub smallest: Vec<u8>,
    pub largest: Vec<u8>,
    /// The ranges of keys in which other files have replaced this source; `None` if it was not replaced.
    pub replaced: Option<Vec<KeyRange>>,
}

/// A source that is being read.
struct OpenSource<'a> {
    source: &'a Source,
    position: Position<'a>,
}

enum Position<'a> {
    File(Box<SstIter>),
    Partial(Box<PartialIter<'a>>),
    Loaded(&'a [OwnedEntry]),
}

impl OpenSource<'_> {
    fn at(&self) -> Option<(&[u8], Seq)> {
        match &self.position {
            Position::File(iter) => iter.valid().then(|| (iter.key(), iter.seq())),
            Position::Partial(_) | Position::Loaded(_) => self.owned().map(|entry| (entry.key.as_slice(), entry.seq)),
        }
    }

    fn owned(&self) -> Option<&OwnedEntry> {
        match &self.position {
            Position::File(_) => None,
            Position::Partial(iter) => iter.at(),
            Position::Loaded(rest) => rest.first(),
        }
    }

    fn version(&self) -> Option<Version> {
        let replaced = self.source.replaced.is_some();
        match &self.position {
            Position::File(iter) if iter.valid() => {
                let (seq, kind, value) = (iter.seq(), iter.kind(), iter.value().to_vec());
                Some(Version { seq, kind, value, latest: false, replaced })
            }
            Position::File(_) => None,
            Position::Partial(_) | Position::Loaded(_) => self.owned().map(|entry| Version {
                seq: entry.seq,
                kind: entry.kind,
                value: entry.value.clone(),
                latest: entry.latest,
                replaced: replaced || entry.may_be_outdated,
            }),
        }
    }

    fn next(&mut self) -> Result<()> {
        match &mut self.position {
            Position::File(iter) => iter.next()?,
            Position::Partial(iter) => iter.next()?,
            Position::Loaded(rest) => *rest = rest.get(1..).unwrap_or(&[]),
        }
        Ok(())
    }
}

/// Calls `visit` with the versions of each key of a tree, newest first, until the end or until `stop` is set.
pub(super) fn scan(
    env: &Env,
    stop: &AtomicBool,
    sources: &[Source],
    registry: &DictionaryRegistry,
    tree: u32,
    visit: &mut Visit<'_>,
) -> Result<()> {
    let (low, high) = (&tree.to_be_bytes()[..], &tree.saturating_add(1).to_be_bytes()[..]);
    let mut waiting: Vec<&Source> =
        sources.iter().filter(|source| source.largest.as_slice() >= low && source.smallest.as_slice() < high).collect();
    waiting.sort_by(|a, b| b.smallest.cmp(&a.smallest));
    let mut open: Vec<OpenSource<'_>> = Vec::new();
    let mut versions = Vec::new();
    loop {
        open.retain(|source| source.at().is_some_and(|(key, _)| key < high));
        let mut key = lowest(&open).map(<[u8]>::to_vec);
        // A file is opened when its first key is reached, so that few files are open at once.
        while let Some(next) = waiting.pop_if(|next| key.as_ref().is_none_or(|key| next.smallest <= *key)) {
            check_stop(stop)?;
            open.push(open_at(env, next, registry, tree)?);
            open.retain(|source| source.at().is_some_and(|(key, _)| key < high));
            key = lowest(&open).map(<[u8]>::to_vec);
        }
        let Some(key) = key else { return Ok(()) };
        versions.clear();
        for source in &mut open {
            let within = |(low, high): &KeyRange| *low <= key && key <= *high;
            let covered = source.source.replaced.as_ref().is_some_and(|ranges| ranges.iter().any(within));
            while source.at().is_some_and(|(at, _)| at == key) {
                versions.extend(source.version().filter(|_| !covered));
                source.next()?;
            }
        }
        versions.sort_by(|a: &Version, b| {
            // If two sources have the same version, the less doubtful one comes first. A folded value has the number of
            // its newest delta, and comes before that delta, because the delta is useless without the earlier deltas.
            let folded = |version: &Version| version.kind == Kind::Folded;
            let newest_first = b.seq.cmp(&a.seq).then_with(|| folded(b).cmp(&folded(a)));
            newest_first.then_with(|| b.latest.cmp(&a.latest)).then_with(|| a.replaced.cmp(&b.replaced))
        });
        versions.dedup_by(|again, kept| {
            let same = again.seq == kept.seq;
            if same {
                kept.latest |= again.latest;
                kept.replaced &= again.replaced;
            }
            same
        });
        if !versions.is_empty() {
            visit(&key, &versions)?;
        }
    }
}

fn lowest<'a>(open: &'a [OpenSource<'_>]) -> Option<&'a [u8]> {
    open.iter().filter_map(OpenSource::at).min_by(|a, b| compare(a.0, a.1, b.0, b.1)).map(|(key, _)| key)
}

fn open_at<'a>(env: &Env, source: &'a Source, registry: &DictionaryRegistry, tree: u32) -> Result<OpenSource<'a>> {
    let low = &tree.to_be_bytes()[..];
    let position = match &source.content {
        Content::File { path, number } => {
            let reader = Reader::open_unlisted(env, path, *number, Arc::new(NoCache), registry)?;
            let mut iter = Arc::new(reader).iter(false);
            iter.seek(low, alluvium_codec::entry::MAX_SEQ)?;
            Position::File(Box::new(iter))
        }
        Content::Damaged(left) => Position::Partial(Box::new(left.iter(env, tree)?)),
        Content::Loaded(entries) => {
            let from = entries.partition_point(|entry| entry.key.as_slice().cmp(low) == Ordering::Less);
            Position::Loaded(&entries[from..])
        }
    };
    Ok(OpenSource { source, position })
}
