//! The compaction picker chooses the files to move, merge or remove next. It is a pure function of a description of the
//! files: it reads nothing else and has no state.
//!
//! The tree has the shape of lazy levelling (Dayan and Idreos, "Dostoevsky", SIGMOD 2018): one base run in key order
//! holds most of the data. Above it are a few runs ("tiers"), each of which is a flush or a merge of flushes. In order
//! of urgency:
//!
//! 1. *Remove* files that hold only dropped trees, or only entries that range tombstones hide.
//! 2. *Sink*: a file that overlaps nothing down to some older run moves there by an edit alone. Therefore data that
//!    arrives in key order reaches the base and is never rewritten.
//! 3. *Too many runs*: merge the neighbouring runs that cost least for each run that disappears.
//! 4. *Base merge*: when the runs above hold too much, merge the files of a key range of the base and of the oldest
//!    runs above it. Overlap divides the key space into components that can be merged one by one. The component that
//!    takes most from above for each byte rewritten is first. A newer run may be left out, but never an older one, so
//!    that newer data stays above older data. If only a very large job would be enough, the runs above are merged
//!    first, cut as the base is.
//! 5. *Garbage*: rewrite a file if a large part of its entries is garbage (tombstones, old versions that no snapshot
//!    reads any more, entries that range tombstones hide), or if many of its trees were dropped. If the range
//!    tombstones take too much memory, rewrite the files that keep most of them.
//! 6. *Tombstones*: if there are many tombstones above the base relative to the entries below, merge them into the
//!    base, however few bytes they are, so that scans do not step over them for ever.
//! 7. *Scans*: if a tree of which short ranges are scanned has more than two runs, merge its newest runs. An older run
//!    is included unless it is too large relative to the newer ones.
//! 8. *Tiers*: merge runs of similar size when there are several.
//! 9. *Small files*: merge neighbours in the base when many are small.
//!
//! Tombstones count as the bytes that they are likely to remove from the base, so deletes alone
//! cause base merges and release space.

use alluvium_codec::entry::Seq;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The description of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileDesc<'a> {
    /// The number.
    pub number: u64,
    /// The lowest key.
    pub smallest: &'a [u8],
    /// The highest key.
    pub largest: &'a [u8],
    /// The length in bytes.
    pub bytes: u64,
    /// All entries.
    pub entries: u64,
    /// Tombstones among them.
    pub tombstones: u64,
    /// Entries that are not the newest of their key in the file.
    pub shadowed: u64,
    /// Shadowed entries that certainly no snapshot needs any more.
    pub released: u64,
    /// The approximate number of entries that range tombstones hide from all snapshots.
    pub covered: u64,
    /// The number of ranges of deleted keys that are kept at least until the file is rewritten.
    pub fragments: u64,
    /// The highest sequence number.
    pub max_seq: Seq,
    /// True if range tombstones cover the file: no reader can see any of its keys.
    pub covered_wholly: bool,
    /// The number of trees with keys in the file.
    pub trees: usize,
    /// The number of dropped trees among them.
    pub dead_trees: usize,
    /// True if the keys belong to one tree, of which short ranges are scanned, so that the tree should have few runs.
    pub scanned: bool,
    /// A running job reads it.
    pub busy: bool,
}

impl FileDesc<'_> {
    /// True if no reader can see any of its keys.
    fn is_dead(&self) -> bool {
        self.covered_wholly || (self.dead_trees > 0 && self.dead_trees == self.trees)
    }

    fn overlaps(&self, low: &[u8], high: &[u8]) -> bool {
        self.smallest <= high && low <= self.largest
    }

    /// The tree, if all keys belong to one.
    fn tree(&self) -> Option<u32> {
        let tree = crate::key::tree_of(self.smallest);
        (tree == crate::key::tree_of(self.largest)).then_some(tree)
    }
}

/// A run: files sorted by key. The base has number 0; newer runs have higher numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunDesc<'a> {
    /// The number.
    pub id: u64,
    /// The files.
    pub files: Vec<FileDesc<'a>>,
}

impl RunDesc<'_> {
    fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    fn overlapping(&self, low: &[u8], high: &[u8]) -> bool {
        let at = self.files.partition_point(|file| file.largest < low);
        self.files.get(at).is_some_and(|file| file.smallest <= high)
    }
}

/// The key range and runs that a running job covers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Span {
    /// The run of the job's output.
    pub out: u64,
    /// The newest run that it reads.
    pub newest: u64,
    /// The lowest key of its inputs.
    pub low: Vec<u8>,
    /// The highest key of its inputs.
    pub high: Vec<u8>,
}

impl Span {
    pub(super) fn meets(&self, low: &[u8], high: &[u8]) -> bool {
        self.low.as_slice() <= high && low <= self.high.as_slice()
    }
}

/// The input of the picker.
#[derive(Debug, Clone, Default)]
pub struct Layout<'a> {
    /// Newest first; the last is the base (number 0), even if it is empty.
    pub runs: Vec<RunDesc<'a>>,
    /// The running jobs.
    pub spans: Vec<Span>,
    /// The oldest live snapshot.
    pub oldest_snapshot: Seq,
    /// The memory that range tombstones take, in bytes.
    pub range_bytes: u64,
}

/// The limits that the picker maintains; see [`crate::Options`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Bytes at which output files end.
    pub target_file_bytes: u64,
    /// The limit of the bytes above the base, in percent of the base.
    pub upper_percent: u32,
    /// The bytes above the base that are always allowed.
    pub upper_floor_bytes: u64,
    /// Up to this number of runs above the base, none are merged for their count alone.
    pub soft_upper_runs: usize,
    /// The limit of the number of all runs.
    pub max_runs: usize,
    /// Input bytes that a base merge tries not to exceed.
    pub max_job_bytes: u64,
    /// Memory that range tombstones may take, in bytes.
    pub max_range_bytes: u64,
    /// Up to this many tombstones above the base are never merged for their own sake.
    pub few_tombstones: u64,
    /// Files with lower numbers are rewritten for any garbage that they hold, and for any range tombstone over them.
    pub spotless_below: u64,
}

/// The reason for a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeReason {
    /// There are too many runs.
    Runs,
    /// There are too many bytes above the base.
    Base,
    /// There are too many bytes above the base, and only one large job could merge them into it:
    /// the runs above are merged first, cut as the base is.
    Gather,
    /// A file holds too much garbage.
    Garbage,
    /// Tombstones above the base hide much of the data below.
    Tombstones,
    /// A tree of which short ranges are scanned has several runs.
    Scans,
    /// Runs of similar size.
    Tiers,
    /// Many small files side by side.
    SmallFiles,
    /// The owner of a tree no longer needs some of its entries; never picked, only requested.
    Stale,
}

/// The next work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pick {
    /// Remove these files.
    Remove(Vec<u64>),
    /// Move these files to these runs.
    Move(Vec<(u64, u64)>),
    /// Merge these files into a run.
    Merge {
        /// The reason.
        reason: MergeReason,
        /// The files.
        files: Vec<u64>,
        /// The run of the output.
        out: u64,
    },
}

/// A file is small if it is smaller than the target size by this factor.
const SMALL_PART: u64 = 16;
/// The number of neighbouring small files that are merged.
const SMALL_COUNT: usize = 8;
/// A file is rewritten if at least one in this many of its entries is garbage.
const GARBAGE_PART: u64 = 4;
/// A scanned tree may have this many runs.
pub(super) const SCANNED_RUNS: usize = 2;
/// A run of a scanned tree is merged with the newer ones if its bytes are at most this many times their bytes.
const SCANNED_TIMES: u64 = 3;
/// Adjoining components are added to a base merge, up to the size of this many files.
const JOIN_FILES: u64 = 4;

/// Files that overlap, directly or through others, in the considered runs.
struct Component<'a> {
    low: &'a [u8],
    high: &'a [u8],
    files: Vec<u64>,
    /// Bytes from above the base. A tombstone counts as the bytes that it is likely to remove.
    gain: u64,
    /// Tombstones from above the base that every snapshot sees, and all other entries.
    tombstones: u64,
    others: u64,
    bytes: u64,
    newest: u64,
    busy: bool,
}

impl Component<'_> {
    /// The bytes taken from above for each byte rewritten.
    fn score(&self) -> f64 {
        self.gain as f64 / self.bytes.max(1) as f64
    }
}

impl<'a> Layout<'a> {
    fn upper(&self) -> &[RunDesc<'a>] {
        &self.runs[..self.runs.len().saturating_sub(1)]
    }

    fn base(&self) -> &[FileDesc<'a>] {
        self.runs.last().map_or(&[], |run| &run.files)
    }

    /// The runs that have files.
    fn run_count(&self) -> usize {
        self.runs.iter().filter(|run| !run.files.is_empty()).count()
    }

    /// The bytes that a tombstone above the base is likely to remove from it.
    fn tombstone_worth(&self) -> u64 {
        let sum = |part: fn(&FileDesc<'_>) -> u64| self.base().iter().map(part).sum::<u64>();
        sum(|file| file.bytes) / sum(|file| file.entries).max(1)
    }

    /// The limit of the bytes above the base.
    fn limit(&self, rules: &Rules) -> u64 {
        let base: u64 = self.base().iter().map(|file| file.bytes).sum();
        (base / 100 * u64::from(rules.upper_percent)).max(rules.upper_floor_bytes)
    }

    /// The bytes above the base that no running job covers. A tombstone counts as the bytes that it
    /// is likely to remove.
    fn above(&self) -> u64 {
        let files = self.upper().iter().flat_map(|run| &run.files).filter(|file| !file.busy);
        let (bytes, tombstones) = files.fold((0, 0), |(b, t), file| (b + file.bytes, t + file.tombstones));
        bytes.saturating_add(tombstones.saturating_mul(self.tombstone_worth()))
    }

    /// The bytes above the base that exceed the limit of the rules.
    pub fn debt(&self, rules: &Rules) -> u64 {
        self.above().saturating_sub(self.limit(rules))
    }

    /// True if a job over runs `out` to `newest` and this key range would overlap a running one.
    fn conflicts(&self, out: u64, newest: u64, low: &[u8], high: &[u8]) -> bool {
        self.spans.iter().any(|span| span.meets(low, high) && out <= span.newest && span.out <= newest)
    }

    /// The lowest run into which a file of run `from` with these bounds can move. On its way the
    /// file must not pass or meet a file that overlaps it, and must not enter a run into which a
    /// job writes in this key range.
    pub fn sink(&self, from: u64, low: &[u8], high: &[u8]) -> u64 {
        let mut lowest = from;
        for run in self.runs.iter().filter(|run| run.id < from) {
            if run.overlapping(low, high) {
                break;
            }
            if !self.spans.iter().any(|span| span.out == run.id && span.meets(low, high)) {
                lowest = run.id;
            }
        }
        lowest
    }
}

/// The most urgent work, if any.
pub fn pick(layout: &Layout<'_>, rules: &Rules) -> Option<Pick> {
    remove_dead(layout)
        .or_else(|| sink_files(layout))
        .or_else(
            || if layout.run_count() > rules.max_runs { merge_runs(layout, rules, MergeReason::Runs) } else { None },
        )
        .or_else(|| merge_into_base(layout, rules))
        .or_else(|| collect_garbage(layout, rules))
        .or_else(|| {
            let too_many = layout.range_bytes > rules.max_range_bytes;
            apply_ranges(layout, if too_many { u64::MAX } else { rules.spotless_below })
        })
        .or_else(|| merge_tombstones(layout, rules))
        .or_else(|| merge_scanned(layout, rules))
        .or_else(|| {
            if layout.upper().len() > rules.soft_upper_runs {
                merge_runs(layout, rules, MergeReason::Tiers)
            } else {
                None
            }
        })
        .or_else(|| merge_small_files(layout, rules))
}

fn remove_dead(layout: &Layout<'_>) -> Option<Pick> {
    let files = layout.runs.iter().flat_map(|run| &run.files);
    let dead: Vec<u64> = files.filter(|file| file.is_dead() && !file.busy).map(|file| file.number).collect();
    (!dead.is_empty()).then_some(Pick::Remove(dead))
}

fn sink_files(layout: &Layout<'_>) -> Option<Pick> {
    let mut moves: Vec<(u64, u64)> = Vec::new();
    // The files moved in this pick, so that no two of them overlap in the same run.
    let mut placed: Vec<(u64, &FileDesc<'_>)> = Vec::new();
    for run in layout.upper() {
        for file in run.files.iter().filter(|file| !file.busy) {
            let to = layout.sink(run.id, file.smallest, file.largest);
            // A file that overlaps a file moved in this pick waits for the next pick.
            let meets = placed.iter().any(|(_, other)| other.overlaps(file.smallest, file.largest));
            if to != run.id && !meets {
                moves.push((file.number, to));
                placed.push((to, file));
            }
        }
    }
    (!moves.is_empty()).then_some(Pick::Move(moves))
}

/// The components of some runs, in key order.
fn components<'a>(layout: &Layout<'a>, runs: &[RunDesc<'a>]) -> Vec<Component<'a>> {
    let mut files: Vec<(&FileDesc<'a>, u64)> =
        runs.iter().flat_map(|run| run.files.iter().map(|file| (file, run.id))).collect();
    files.sort_by(|a, b| a.0.smallest.cmp(b.0.smallest));
    let worth = layout.tombstone_worth();
    let mut components: Vec<Component<'a>> = Vec::new();
    for (file, run) in files {
        let gain = if run == 0 { 0 } else { file.bytes.saturating_add(file.tombstones.saturating_mul(worth)) };
        let settled = run != 0 && file.max_seq <= layout.oldest_snapshot;
        let tombstones = if settled { file.tombstones } else { 0 };
        let others = file.entries.saturating_sub(tombstones);
        match components.last_mut() {
            Some(last) if file.smallest <= last.high => {
                last.high = last.high.max(file.largest);
                last.files.push(file.number);
                last.gain = last.gain.saturating_add(gain);
                last.tombstones += tombstones;
                last.others += others;
                last.bytes += file.bytes;
                last.newest = last.newest.max(run);
                last.busy |= file.busy;
            }
            _ => components.push(Component {
                low: file.smallest,
                high: file.largest,
                files: vec![file.number],
                gain,
                tombstones,
                others,
                bytes: file.bytes,
                newest: run,
                busy: file.busy,
            }),
        }
    }
    components
}

/// A candidate for a base merge.
struct Candidate {
    score: f64,
    files: Vec<u64>,
    bytes: u64,
    /// The index of the newest considered run.
    from: usize,
}

fn merge_into_base(layout: &Layout<'_>, rules: &Rules) -> Option<Pick> {
    if layout.above() <= layout.limit(rules) {
        return None;
    }
    // The best of all candidates, and the best candidate within the size limit of a job.
    let mut best: Option<Candidate> = None;
    let mut fit: Option<Candidate> = None;
    for from in 0..layout.upper().len() {
        let components = components(layout, &layout.runs[from..]);
        let free = |c: &Component<'_>| c.gain > 0 && !c.busy && !layout.conflicts(0, c.newest, c.low, c.high);
        for (at, component) in components.iter().enumerate().filter(|(_, c)| free(c)) {
            let score = component.score();
            let candidate = |files| Candidate { score, files, bytes: component.bytes, from };
            if best.as_ref().is_none_or(|found| score > found.score) {
                best = Some(candidate(component.files.clone()));
            }
            if component.bytes <= rules.max_job_bytes && fit.as_ref().is_none_or(|found| score > found.score) {
                fit = Some(candidate(join(layout, &components, at, rules, &free)));
            }
        }
    }
    let best = best?;
    // A job that fits is preferred if its score is only somewhat worse.
    let files = match fit {
        Some(fit) if fit.score * 2.0 >= best.score => fit.files,
        _ if best.bytes > rules.max_job_bytes => return gather(layout, best.from).or(merge_base(best.files)),
        _ => best.files,
    };
    merge_base(files)
}

fn merge_base(files: Vec<u64>) -> Option<Pick> {
    Some(Pick::Merge { reason: MergeReason::Base, files, out: 0 })
}

/// Merges the runs above the base from index `from` on, without the base. The resulting run is cut where the base is
/// cut, so that it can be merged into the base range by range.
fn gather(layout: &Layout<'_>, from: usize) -> Option<Pick> {
    let window = &layout.upper()[from..];
    let busy = window.iter().flat_map(|run| &run.files).any(|file| file.busy);
    if busy || window.len() < 2 { None } else { merge_window(layout, window, MergeReason::Gather) }
}

/// Adds neighbours to a component as long as they are worth it and the job stays moderate. Outputs
/// may span the gaps between components, so no file may be on its way into a gap, such as a file
/// that sinks.
fn join(
    layout: &Layout<'_>,
    components: &[Component<'_>],
    at: usize,
    rules: &Rules,
    free: &dyn Fn(&Component<'_>) -> bool,
) -> Vec<u64> {
    let least = components[at].score() / 2.0;
    let limit = (rules.target_file_bytes * JOIN_FILES).min(rules.max_job_bytes);
    let mut bytes = components[at].bytes;
    let mut newest = components[at].newest;
    let mut fits = |component: &Component<'_>, low: &[u8], high: &[u8]| {
        let fits = free(component)
            && component.score() >= least
            && bytes + component.bytes <= limit
            && !layout.conflicts(0, newest.max(component.newest), low, high);
        if fits {
            bytes += component.bytes;
            newest = newest.max(component.newest);
        }
        fits
    };
    let (mut from, mut to) = (at, at + 1);
    while to < components.len() && fits(&components[to], components[from].low, components[to].high) {
        to += 1;
    }
    while from > 0 && fits(&components[from - 1], components[from - 1].low, components[to - 1].high) {
        from -= 1;
    }
    components[from..to].iter().flat_map(|component| component.files.iter().copied()).collect()
}

fn collect_garbage(layout: &Layout<'_>, rules: &Rules) -> Option<Pick> {
    for run in &layout.runs {
        for file in run.files.iter().filter(|file| !file.busy) {
            // Only garbage that can be dropped counts: otherwise the rewrite would be picked for
            // ever.
            let garbage = match file.max_seq <= layout.oldest_snapshot {
                true => file.shadowed + if run.id == 0 { file.tombstones } else { 0 },
                false => file.released,
            };
            let garbage = garbage + file.covered;
            let any = (garbage > 0 || file.dead_trees > 0) && file.number < rules.spotless_below;
            // Large trees have files of their own, so all trees of a shared file count the same.
            let dropped = file.dead_trees as u64;
            let share = garbage * GARBAGE_PART >= file.entries.max(1)
                || (dropped > 0 && dropped * GARBAGE_PART >= file.trees as u64);
            if (any || share) && !layout.conflicts(run.id, run.id, file.smallest, file.largest) {
                return Some(Pick::Merge { reason: MergeReason::Garbage, files: vec![file.number], out: run.id });
            }
        }
    }
    None
}

/// Merges a part of the key space into the base in which the entries that tombstones may hide are
/// at most [`GARBAGE_PART`] times as many as the tombstones. Therefore the rewritten bytes are few
/// relative to the removed bytes.
fn merge_tombstones(layout: &Layout<'_>, rules: &Rules) -> Option<Pick> {
    let mut best: Option<(f64, Vec<u64>)> = None;
    for from in 0..layout.upper().len() {
        for part in components(layout, &layout.runs[from..]) {
            let worth = part.tombstones > rules.few_tombstones && part.tombstones * GARBAGE_PART >= part.others;
            let free = !part.busy && part.bytes <= rules.max_job_bytes && part.files.len() > 1;
            let score = part.tombstones as f64 / part.bytes.max(1) as f64;
            if worth
                && free
                && best.as_ref().is_none_or(|(found, _)| score > *found)
                && !layout.conflicts(0, part.newest, part.low, part.high)
            {
                best = Some((score, part.files));
            }
        }
    }
    best.map(|(_, files)| Pick::Merge { reason: MergeReason::Tombstones, files, out: 0 })
}

/// Rewrites the file that keeps most range tombstones relative to its size, among the files with numbers below `below`.
fn apply_ranges(layout: &Layout<'_>, below: u64) -> Option<Pick> {
    let files = layout.runs.iter().flat_map(|run| run.files.iter().map(|file| (run.id, file)));
    let free = files.filter(|(run, file)| {
        file.fragments > 0
            && file.number < below
            && !file.busy
            && !layout.conflicts(*run, *run, file.smallest, file.largest)
    });
    let score = |file: &FileDesc<'_>| file.fragments as f64 / file.bytes.max(1) as f64;
    let (run, file) = free.max_by(|(_, a), (_, b)| score(a).total_cmp(&score(b)))?;
    Some(Pick::Merge { reason: MergeReason::Garbage, files: vec![file.number], out: run })
}

/// A run of one tree: its index among all runs, and the tree's files in it.
type TreeRun<'l, 'a> = (usize, Vec<&'l FileDesc<'a>>);

/// The scanned trees, each with its runs, newest first.
fn scanned_trees<'l, 'a>(layout: &'l Layout<'a>) -> BTreeMap<u32, Vec<TreeRun<'l, 'a>>> {
    let mut trees: BTreeMap<u32, Vec<TreeRun<'l, 'a>>> = BTreeMap::new();
    for (at, run) in layout.runs.iter().enumerate() {
        for file in run.files.iter().filter(|file| file.scanned) {
            let runs = trees.entry(crate::key::tree_of(file.smallest)).or_default();
            match runs.last_mut() {
                Some((last, files)) if *last == at => files.push(file),
                _ => runs.push((at, vec![file])),
            }
        }
    }
    trees
}

/// Merges the newest runs of a scanned tree with more than [`SCANNED_RUNS`] runs. The next older run is included while
/// it has at most [`SCANNED_TIMES`] the bytes of the newer ones. Therefore an entry of a small tree is rewritten a few
/// times, and runs of a large tree are merged with runs of similar size. Takes the tree whose merge is cheapest.
fn merge_scanned(layout: &Layout<'_>, rules: &Rules) -> Option<Pick> {
    let mut best: Option<(u64, Vec<u64>, u64)> = None;
    for runs in scanned_trees(layout).values().filter(|runs| runs.len() > SCANNED_RUNS) {
        let Some((bytes, window)) = scanned_window(layout, runs, rules) else { continue };
        if best.as_ref().is_none_or(|(least, ..)| bytes < *least) {
            let files = window.iter().flat_map(|(_, files)| files.iter().map(|file| file.number)).collect();
            let out = window.last().map_or(0, |(at, _)| layout.runs[*at].id);
            best = Some((bytes, files, out));
        }
    }
    best.map(|(_, files, out)| Pick::Merge { reason: MergeReason::Scans, files, out })
}

/// The newest runs of a tree that are worth merging, with their bytes; `None` if there are fewer than two.
fn scanned_window<'r, 'l, 'a>(
    layout: &Layout<'_>,
    runs: &'r [TreeRun<'l, 'a>],
    rules: &Rules,
) -> Option<(u64, &'r [TreeRun<'l, 'a>])> {
    let newest = runs.first()?.0;
    let (mut bytes, mut found) = (0, None);
    for (count, (at, files)) in runs.iter().enumerate() {
        let run: u64 = files.iter().map(|file| file.bytes).sum();
        if files.iter().any(|file| file.busy)
            || count > 0 && run > SCANNED_TIMES.saturating_mul(bytes)
            || bytes.saturating_add(run) > rules.max_job_bytes
        {
            break;
        }
        bytes += run;
        let window = &runs[..=count];
        if count > 0 && stands_alone(layout, window, newest, *at) {
            found = Some((bytes, window));
        }
    }
    found
}

/// True if no other file, and no running job, is between the keys of these files of runs `newest` to `oldest`.
fn stands_alone(layout: &Layout<'_>, window: &[TreeRun<'_, '_>], newest: usize, oldest: usize) -> bool {
    let files = || window.iter().flat_map(|(_, files)| files);
    let bounds = files().map(|file| file.smallest).min().zip(files().map(|file| file.largest).max());
    let Some((low, high)) = bounds else { return false };
    let met = layout.runs[newest..=oldest].iter().flat_map(|run| &run.files).filter(|file| file.overlaps(low, high));
    met.count() == files().count() && !layout.conflicts(layout.runs[oldest].id, layout.runs[newest].id, low, high)
}

/// Merges the neighbouring runs above the base that cost least for each run that disappears.
fn merge_runs(layout: &Layout<'_>, rules: &Rules, reason: MergeReason) -> Option<Pick> {
    let upper = layout.upper();
    let least = if reason == MergeReason::Tiers { 3 } else { 2 };
    let limit = layout.limit(rules);
    let mut best: Option<(f64, &[RunDesc<'_>])> = None;
    for from in 0..upper.len() {
        let (mut bytes, mut largest) = (0, 0);
        for to in from..upper.len() {
            if upper[to].files.iter().any(|file| file.busy) {
                break;
            }
            bytes += upper[to].bytes();
            largest = largest.max(upper[to].bytes());
            let count = to + 1 - from;
            if count < least {
                continue;
            }
            // For tiers, only runs of similar size are merged, and only if no base merge will take
            // them soon.
            if reason == MergeReason::Tiers && (largest * 2 > bytes || bytes * 2 > limit) {
                continue;
            }
            let cost = bytes as f64 / (count - 1) as f64;
            if best.as_ref().is_none_or(|(found, _)| cost <= *found) {
                best = Some((cost, &upper[from..=to]));
            }
        }
    }
    merge_window(layout, best?.1, reason)
}

/// Merges overlapping files of neighbouring runs above the base into the oldest of the runs: the
/// largest stretch of the key space in which all files overlap others.
fn merge_window(layout: &Layout<'_>, window: &[RunDesc<'_>], reason: MergeReason) -> Option<Pick> {
    let (out, newest) = (window.last()?.id, window.first()?.id);
    let components = components(layout, window);
    // A file that overlaps nothing in the window need not be rewritten: it stays or sinks. It ends a stretch, because
    // no output may span it.
    let stretches = components.split(|component| component.files.len() < 2).filter(|stretch| {
        stretch.first().zip(stretch.last()).is_some_and(|(a, b)| !layout.conflicts(out, newest, a.low, b.high))
    });
    let bytes = |stretch: &[Component<'_>]| stretch.iter().map(|component| component.bytes).sum::<u64>();
    let stretch = stretches.max_by_key(|stretch| bytes(stretch))?;
    let files = stretch.iter().flat_map(|component| component.files.iter().copied()).collect();
    Some(Pick::Merge { reason, files, out })
}

fn merge_small_files(layout: &Layout<'_>, rules: &Rules) -> Option<Pick> {
    let small = rules.target_file_bytes / SMALL_PART;
    let base = layout.base();
    let mut from = 0;
    while from < base.len() {
        let tree = base[from].tree();
        let fits = |file: &FileDesc<'_>| tree.is_some() && file.tree() == tree && file.bytes < small && !file.busy;
        let count = base[from..].iter().take_while(|file| fits(file)).count();
        if count >= SMALL_COUNT {
            let files = &base[from..from + count];
            let most = files.iter().scan(0, |bytes, file| {
                *bytes += file.bytes;
                (*bytes <= rules.max_job_bytes).then_some(())
            });
            let files = &files[..most.count().max(SMALL_COUNT.min(count))];
            let (low, high) = (files[0].smallest, files[files.len() - 1].largest);
            if low.cmp(high) != Ordering::Greater && !layout.conflicts(0, 0, low, high) {
                let files = files.iter().map(|file| file.number).collect();
                return Some(Pick::Merge { reason: MergeReason::SmallFiles, files, out: 0 });
            }
        }
        from += count.max(1);
    }
    None
}

#[cfg(test)]
mod tests;
