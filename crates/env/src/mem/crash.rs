//! The states that a power cut can leave.

use super::Shared;
use super::content::{Content, PAGE, SECTOR};
use super::file::{Change, FileNode, FileState, Space, replay};
use super::locks::Locks;
use super::names::{Dir, DirId, Entries, Names, Node, ROOT, Touched, set};
use crate::rng::{Rng, SeededRng};
use crate::sync::RwLock;
use crate::sync::atomic::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

/// Which unsynced changes survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashStyle {
    /// None.
    AllLost,
    /// All.
    AllKept,
    /// A random selection, as a disk may leave it; see [`super::MemFs::crash_clone`].
    Any,
}

/// Random decisions that are determined by a seed.
struct Dice {
    rng: SeededRng,
}

impl Dice {
    /// A random number below `n`; `n` must not be 0. The bias is below 2^-40 for every `n` here.
    fn below(&self, n: usize) -> usize {
        (self.rng.next_u64() % n as u64) as usize
    }

    /// True with probability `n / of`.
    fn chance(&self, n: usize, of: usize) -> bool {
        self.below(of) < n
    }
}

/// Copies a file system. The caller must hold the lock on its names.
pub(super) struct Copier {
    dice: Dice,
    style: Option<CrashStyle>,
    space: Space,
    files: HashMap<*const FileNode, Arc<FileNode>>,
}

impl Copier {
    /// A copier for a power cut of this style. `None` means the death of the process alone:
    /// nothing is lost, and nothing becomes durable.
    pub(super) fn new(seed: u64, style: Option<CrashStyle>, capacity: u64) -> Self {
        let dice = Dice { rng: SeededRng::new(seed) };
        Self { dice, style, space: Space::new(capacity), files: HashMap::new() }
    }

    pub(super) fn copy(mut self, names: &Names) -> Shared {
        let names = match self.style {
            None => self.copy_names(names),
            Some(style) => self.crash_names(names, style),
        };
        Shared { names: RwLock::new(names), space: self.space }
    }

    fn copy_names(&mut self, names: &Names) -> Names {
        let mut copy = Names::new();
        copy.dirs.clear();
        for dir in &names.dirs {
            let now = Arc::new(self.copy_entries(&dir.now));
            let durable = match Arc::ptr_eq(&dir.now, &dir.durable) {
                true => Arc::clone(&now),
                false => Arc::new(self.copy_entries(&dir.durable)),
            };
            copy.dirs.push(Dir { now, durable, forgot: dir.forgot, removed: dir.removed, locks: Locks::default() });
        }
        copy.pending = names.pending.clone();
        for change in copy.pending.iter_mut().flatten() {
            if let Some(Node::File(node)) = &mut change.node {
                *node = self.file(node);
            }
        }
        // The links are counted again. The handles are not copied: they ended with the process.
        for node in copy.dirs.iter().flat_map(|dir| dir.now.values()) {
            if let Node::File(node) = node {
                node.add_link();
            }
        }
        self.charge_linked();
        copy
    }

    fn copy_entries(&mut self, entries: &Entries) -> Entries {
        let copy = |(name, node): (&Arc<str>, &Node)| {
            let node = match node {
                Node::File(node) => Node::File(self.file(node)),
                Node::Dir(dir) => Node::Dir(*dir),
            };
            (Arc::clone(name), node)
        };
        entries.iter().map(copy).collect()
    }

    /// The entries that survive the crash, and everything reachable from them.
    fn crash_names(&mut self, names: &Names, style: CrashStyle) -> Names {
        let mut dirs: Vec<Arc<Entries>> = names.dirs.iter().map(|dir| Arc::clone(&dir.durable)).collect();
        let lose_of_8 = match style {
            CrashStyle::AllLost => 8,
            CrashStyle::AllKept => 0,
            CrashStyle::Any => [0, 1, 4, 7, 8][self.dice.below(5)],
        };
        let mut lost = Touched::default();
        for op in &names.pending {
            // An operation that depends on a lost one is lost, too. Later operations on other names
            // may survive.
            if lost.touches(op) || self.dice.chance(lose_of_8, 8) {
                lost.add(op);
                continue;
            }
            for change in op {
                set(Arc::make_mut(&mut dirs[change.dir]), change);
            }
        }
        let mut copy = Names::new();
        self.copy_tree(&dirs, ROOT, &mut copy, ROOT);
        self.charge_linked();
        copy
    }

    fn copy_tree(&mut self, from: &[Arc<Entries>], dir: DirId, copy: &mut Names, to: DirId) {
        let mut entries = Entries::new();
        for (name, node) in from[dir].iter() {
            let node = match node {
                Node::File(node) => {
                    let node = self.file(node);
                    node.add_link();
                    Node::File(node)
                }
                Node::Dir(child) => {
                    let id = copy.dirs.len();
                    copy.dirs.push(Dir::default());
                    self.copy_tree(from, *child, copy, id);
                    Node::Dir(id)
                }
            };
            entries.insert(Arc::clone(name), node);
        }
        let entries = Arc::new(entries);
        copy.dirs[to] = Dir { now: Arc::clone(&entries), durable: entries, ..Dir::default() };
    }

    /// The copy of a file. It is made when the first name of the file is copied.
    fn file(&mut self, node: &Arc<FileNode>) -> Arc<FileNode> {
        let key = Arc::as_ptr(node);
        if let Some(copy) = self.files.get(&key) {
            return Arc::clone(copy);
        }
        let state = node.state.lock();
        let copy = match self.style {
            None => FileState { links: 0, handles: 0, locks: Locks::default(), ..state.clone() },
            Some(style) => {
                let mut copy = FileState::new(self.crash_file(&state, style), 0);
                copy.reserved = state.reserved.min(copy.now.len().div_ceil(PAGE));
                copy
            }
        };
        let copy = Arc::new(FileNode::new(copy));
        self.files.insert(key, Arc::clone(&copy));
        copy
    }

    /// Charges the space of all files that have a name.
    fn charge_linked(&self) {
        for node in self.files.values() {
            let mut state = node.state.lock();
            state.charged = 0;
            if state.links > 0 {
                state.charged = state.reserved + state.now.pages_from(state.reserved);
                self.space.add_pages(state.charged);
            }
        }
    }

    fn crash_file(&self, state: &FileState, style: CrashStyle) -> Arc<Content> {
        let changes = &state.unsynced;
        if changes.is_empty() || style == CrashStyle::AllLost {
            return Arc::clone(&state.durable);
        }
        if style == CrashStyle::AllKept {
            return state.all_written();
        }
        match self.dice.below(8) {
            0 => Arc::clone(&state.durable),
            1 => state.all_written(),
            2 | 3 => Arc::new(self.cut_in_order(&state.durable, changes)),
            _ => Arc::new(self.any_sectors(&state.durable, changes)),
        }
    }

    /// A possible content after a crash of a disk that executes changes in order. The disk may have
    /// stopped between two sectors of a write.
    fn cut_in_order(&self, durable: &Content, changes: &[Change]) -> Content {
        let mut content = durable.clone();
        let whole = self.dice.below(changes.len() + 1);
        replay(&mut content, &changes[..whole]);
        if let Some(Change::Write { offset, bytes }) = changes.get(whole) {
            let end = self.sector_end(*offset, *offset + bytes.len() as u64);
            content.write(&bytes[..(end - offset) as usize], *offset);
        }
        content
    }

    /// `from`, or the end of a sector between `from` and `to`, chosen at random.
    fn sector_end(&self, from: u64, to: u64) -> u64 {
        let first = from / SECTOR + 1;
        let ends = to.div_ceil(SECTOR).saturating_sub(first) as usize;
        match self.dice.below(ends + 1) {
            0 => from,
            n => (first + n as u64 - 1) * SECTOR,
        }
    }

    /// A possible content after a crash of a disk that writes sectors in any order. Each sector has
    /// a state that it had at or after the last sync. The length is a length that the file had, or
    /// lies within a write that extended the file. It may also be shorter, if some `SetLen` changes
    /// that extend the file did not reach the disk but later changes did. A truncation that did not
    /// reach the disk removed nothing on disk.
    fn any_sectors(&self, durable: &Content, changes: &[Change]) -> Content {
        let moment = self.dice.below(changes.len() + 1);
        let mut content = durable.clone();
        let mut cuts = Vec::new();
        let mut len = durable.len();
        let lose_of_4 = [0, 0, 1, 4][self.dice.below(4)];
        for (index, change) in changes.iter().enumerate() {
            let next = match change {
                Change::Write { offset, bytes } => len.max(offset + bytes.len() as u64),
                Change::SetLen { len: longer } if *longer > len && self.dice.chance(lose_of_4, 4) => len,
                Change::SetLen { len } => *len,
            };
            if next < len {
                cuts.push((index, next));
            }
            if index < moment {
                content.set_len(next);
            } else if index == moment && next > len && matches!(change, Change::Write { .. }) {
                content.set_len(self.sector_end(len, next));
            }
            len = next;
        }
        let kept_of_8 = [1, 4, 7][self.dice.below(3)];
        let end = content.len();
        let sectors = dirty_sectors(changes, end);
        for group in sectors.chunk_by(|a, b| a.0 == b.0) {
            let choice = Choice { durable, changes, cuts: &cuts, moment, kept_of_8 };
            if let Some((sector, bytes)) = self.any_moment(&choice, group) {
                content.write(&bytes, sector * SECTOR);
            }
        }
        content.set_len(end);
        content
    }

    /// A random past state of a sector; `None` if the durable state is chosen. `group` contains the
    /// sector and the writes that touch it, in order.
    fn any_moment(&self, from: &Choice<'_>, group: &[(u64, usize)]) -> Option<(u64, [u8; SECTOR as usize])> {
        let sector = group.first()?.0;
        let covers = |cut: &&(usize, u64)| cut.1 < (sector + 1) * SECTOR;
        // The write must be between the last truncation that reached the disk and the first one
        // that did not.
        let (done, open) = from.cuts.split_at(from.cuts.partition_point(|cut| cut.0 < from.moment));
        let low = done.iter().rev().find(covers).map(|cut| cut.0);
        let high = open.iter().find(covers).map_or(from.changes.len(), |cut| cut.0);
        let may = |index: usize| low.is_none_or(|low| index > low) && index < high;
        let choices = group.iter().filter(|write| may(write.1)).count();
        let kept = match self.dice.chance(from.kept_of_8, 8) {
            true => choices,
            false => self.dice.below(choices + 1),
        };
        if kept == 0 && low.is_none() {
            return None;
        }
        let before = group.iter().filter(|write| low.is_some_and(|low| write.1 < low));
        let writes = before.chain(group.iter().filter(|write| may(write.1)).take(kept));
        let mut steps: Vec<usize> = writes.map(|write| write.1).collect();
        steps.extend(done.iter().filter(covers).map(|cut| cut.0));
        steps.sort_unstable();
        let mut bytes = from.durable.sector(sector);
        for step in steps {
            overlay(&mut bytes, sector * SECTOR, &from.changes[step]);
        }
        Some((sector, bytes))
    }
}

/// The conditions under which the states of the sectors of a file are chosen.
struct Choice<'a> {
    durable: &'a Content,
    changes: &'a [Change],
    /// The truncations: for each, its index in `changes` and the new length.
    cuts: &'a [(usize, u64)],
    /// For this many of the first `changes`, the new length reached the disk.
    moment: usize,
    /// The probability, in eighths, that a sector has its newest bytes.
    kept_of_8: usize,
}

/// Every pair of a sector below `end` and the index of a write that touches it, sorted.
fn dirty_sectors(changes: &[Change], end: u64) -> Vec<(u64, usize)> {
    let mut sectors = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        if let Change::Write { offset, bytes } = change {
            let to = (offset + bytes.len() as u64).min(end);
            let range = offset / SECTOR..to.div_ceil(SECTOR);
            sectors.extend(range.map(|sector| (sector, index)));
        }
    }
    sectors.sort_unstable();
    sectors
}

/// Applies a change of the file to the sector that starts at offset `start`.
fn overlay(sector: &mut [u8; SECTOR as usize], start: u64, change: &Change) {
    match change {
        Change::SetLen { len } => sector[len.saturating_sub(start).min(SECTOR) as usize..].fill(0),
        Change::Write { offset, bytes } => {
            let from = start.max(*offset);
            let to = (start + SECTOR).min(offset + bytes.len() as u64);
            if from < to {
                let source = &bytes[(from - offset) as usize..(to - offset) as usize];
                sector[(from - start) as usize..(to - start) as usize].copy_from_slice(source);
            }
        }
    }
}

impl Shared {
    /// A copy in the state after a crash of `style`, or after the death of the process for `None`.
    pub(super) fn copy(&self, seed: u64, style: Option<CrashStyle>) -> Self {
        // The lock is exclusive, so that all files are copied in their state at the same moment.
        let names = self.names.write();
        let capacity = self.space.capacity.load(Ordering::SeqCst);
        Copier::new(seed, style, capacity).copy(&names)
    }
}

#[cfg(test)]
mod tests;
