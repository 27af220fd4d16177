//! Output files of flushes and compactions: the places where a file ends and the next one begins, and the dictionary of
//! each file.
//!
//! The first entries of a tree in a file are *staged* in memory until the amount of data of the tree is known. A tree
//! that is small, in this output and in the files below, shares a file with its neighbours. A larger tree gets a file
//! of its own; a scanned tree gets one from a smaller size on. A tree that is large enough for a dictionary gets a file
//! with the tree's dictionary, and its further entries are written directly. A file ends at the target size, at the end
//! of a large tree, and at bounds of base files, so that the runs above stay cut as the base is. A file also ends where
//! the keys of a tree leave the range of everything below, so that the following entries can sink to the base by an
//! edit alone.

use crate::budget::{Charge, Owner};
use crate::dictionary::sample;
use crate::edit::AddedFile;
use crate::files::Home;
use crate::key::tree_of;
use crate::policy::DefinitionUse;
use crate::used::Used;
use crate::version::{BASE, Run, Version};
use alluvium_codec::entry::{Entry, Kind, Seq};
use alluvium_env::Result;
use alluvium_sst::{Compression, Dictionary, FooterInfo, Sampler, Writer, WriterOptions};
use std::sync::Arc;

/// A tree that is scanned ([`crate::TreeProperties::is_scanned`]) has a file of its own from this part of
/// [`crate::Options::small_tree_bytes`] on, so that its runs can be merged separately from other trees.
const SCANNED_PART: u64 = 16;

/// The assumed compression ratio when too few values are staged to measure one.
const TYPICAL_RATIO: f64 = 0.45;

/// An empty stage keeps at most this much memory.
const KEPT_BYTES: usize = 1 << 20;

struct Staged {
    /// The offset of key and value in the stage's bytes.
    start: usize,
    key_len: usize,
    value_len: usize,
    seq: Seq,
    kind: Kind,
    /// The last snapshot that reads the entry; 0 if it is the newest of its key.
    last_reader: Seq,
}

/// Entries of one tree that are not assigned to a file yet.
#[derive(Default)]
struct Stage {
    bytes: Vec<u8>,
    entries: Vec<Staged>,
    /// Entries before this index belong to a file of their own; see [`Output::note_leaving`].
    split: Option<usize>,
}

impl Stage {
    fn push(&mut self, entry: Entry<'_>, shadowed: Option<Seq>) {
        let staged = Staged {
            start: self.bytes.len(),
            key_len: entry.key.len(),
            value_len: entry.value.len(),
            seq: entry.seq,
            kind: entry.kind,
            last_reader: shadowed.unwrap_or(0),
        };
        self.bytes.extend_from_slice(entry.key);
        self.bytes.extend_from_slice(entry.value);
        self.entries.push(staged);
    }

    fn raw_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn entry(&self, at: usize) -> (Entry<'_>, Option<Seq>) {
        let staged = &self.entries[at];
        let value_start = staged.start + staged.key_len;
        let entry = Entry {
            key: &self.bytes[staged.start..value_start],
            seq: staged.seq,
            kind: staged.kind,
            value: &self.bytes[value_start..value_start + staged.value_len],
        };
        (entry, (staged.last_reader != 0).then_some(staged.last_reader))
    }

    fn last_key(&self) -> Option<&[u8]> {
        let staged = self.entries.last()?;
        Some(&self.bytes[staged.start..staged.start + staged.key_len])
    }

    /// Trains a dictionary on the staged values. If keys are most of the data, trains it on blocks as they will be
    /// written.
    fn train(&self, block_bytes: usize, max_bytes: usize) -> Option<Dictionary> {
        let values: usize = self.entries.iter().map(|staged| staged.value_len).sum();
        let entries = (0..self.entries.len()).map(|at| self.entry(at).0);
        if values * 2 >= self.bytes.len() {
            let values: Vec<&[u8]> = entries.map(|entry| entry.value).collect();
            return Dictionary::train(&sample(&values), max_bytes);
        }
        let mut sampler = Sampler::new(block_bytes);
        entries.for_each(|entry| sampler.add(entry));
        sampler.train(max_bytes)
    }

    fn clear(&mut self) {
        self.bytes.clear();
        // The entries after a large stage do not pass through it.
        self.bytes.shrink_to(KEPT_BYTES);
        self.entries.clear();
        self.split = None;
    }
}

/// The file being written.
struct OpenFile {
    writer: Writer,
    trees: Vec<u32>,
    shadowed: u64,
    /// The number of shadowed entries by the last snapshot that reads them, ascending.
    readers: Vec<(Seq, u64)>,
    /// The definitions that values use, for trees that have definitions.
    used: Vec<(u32, Used)>,
    /// True if the file has keys of one tree only.
    exclusive: bool,
    dictionary_id: u64,
}

impl OpenFile {
    /// Counts an entry if a newer version shadows it.
    #[inline]
    fn note(&mut self, shadowed: Option<Seq>) {
        let Some(last_reader) = shadowed else { return };
        self.shadowed += 1;
        match self.readers.binary_search_by_key(&last_reader, |(reader, _)| *reader) {
            Ok(at) => self.readers[at].1 += 1,
            Err(at) => self.readers.insert(at, (last_reader, 1)),
        }
    }
}

impl OpenFile {
    fn note_used(&mut self, definitions: &dyn DefinitionUse, tree: u32, entry: &Entry<'_>) {
        match self.used.last_mut() {
            Some((last, used)) if *last == tree => definitions.note_used(entry, used),
            _ => {
                let mut used = Used::default();
                definitions.note_used(entry, &mut used);
                self.used.push((tree, used));
            }
        }
    }
}

/// The purpose of an output.
pub(crate) struct Plan {
    /// The run that the files will be in, unless they sink further.
    pub run: u64,
    /// The numbers of the input files, for the footers.
    pub inputs: Vec<u64>,
    /// The version whose files are below; only their bounds are used.
    pub below: Arc<Version>,
    /// The base below, unless this output belongs to the base.
    cuts: Option<Arc<Run>>,
}

impl Plan {
    /// A plan for files of run `run`, over the files of `version`.
    pub fn new(run: u64, inputs: Vec<u64>, version: &Arc<Version>) -> Self {
        let cuts = (run != BASE && !version.base().files.is_empty()).then(|| version.base().clone());
        Self { run, inputs, below: version.clone(), cuts }
    }
}

/// Writes entries, in entry order, to as many files as they need.
pub(crate) struct Output<'a> {
    home: &'a Arc<Home>,
    plan: Plan,
    tree: Option<u32>,
    /// The values of the tree use definitions.
    uses_definitions: bool,
    stage: Stage,
    open: Option<OpenFile>,
    /// True if the file of the current tree is chosen: its entries are then written to `open`
    /// directly.
    streaming: bool,
    done: Vec<AddedFile>,
    /// The first base file whose largest key is at or above the last key.
    base_at: usize,
    /// The highest key of the tree in any run below; `None` if no run below has the tree.
    tree_end: Option<Vec<u8>>,
    /// True if the last key was at or below `tree_end`.
    inside: bool,
    /// The raw bytes from which the tree gets a file of its own.
    small: u64,
    /// True if the tree counts as large because it has large files below, even if this output holds
    /// little of it.
    large: bool,
    charge: Charge,
}

impl<'a> Output<'a> {
    pub fn new(home: &'a Arc<Home>, plan: Plan) -> Self {
        let charge = home.shared.budget.charge(Owner::Jobs, 0);
        Self {
            home,
            plan,
            tree: None,
            uses_definitions: false,
            stage: Stage::default(),
            open: None,
            streaming: false,
            done: Vec::new(),
            base_at: 0,
            tree_end: None,
            inside: false,
            small: 0,
            large: false,
            charge,
        }
    }

    /// The raw bytes from which a tree gets a file of its own with a dictionary, if dictionaries
    /// are on.
    fn stage_limit(&self) -> u64 {
        let options = &self.home.shared.options;
        let limit = if self.uses_dictionaries() { options.dictionary_file_bytes } else { options.small_tree_bytes };
        // A small budget has no room for a large stage. An empty stage is never large.
        limit.min((self.home.shared.budget.total() as u64 / 16).max(64 << 10)).max(1)
    }

    fn compression(&self) -> Compression {
        let options = &self.home.shared.options;
        match options.base_compression {
            Some(compression) if self.plan.run == BASE => compression,
            _ => options.writer.compression,
        }
    }

    fn uses_dictionaries(&self) -> bool {
        self.home.shared.options.dictionary_bytes > 0 && matches!(self.compression(), Compression::Zstd { .. })
    }

    /// Appends an entry. `shadowed` is the last snapshot that reads the entry, if a newer version
    /// of its key was added before.
    #[inline]
    pub fn add(&mut self, entry: Entry<'_>, shadowed: Option<Seq>) -> Result<()> {
        let tree = tree_of(entry.key);
        if self.tree != Some(tree) {
            self.change_tree(tree)?;
        }
        if self.streaming && self.must_cut(entry.key) {
            self.close()?;
        }
        match &mut self.open {
            Some(open) if self.streaming => {
                open.note(shadowed);
                if self.uses_definitions {
                    open.note_used(&*self.home.shared.policies.definitions, tree, &entry);
                }
                open.writer.add(entry)
            }
            _ => self.add_staged(entry, shadowed),
        }
    }

    fn add_staged(&mut self, entry: Entry<'_>, shadowed: Option<Seq>) -> Result<()> {
        if self.note_leaving(entry.key) && !self.stage.entries.is_empty() {
            self.stage.split = Some(self.stage.entries.len());
        }
        if self.stage.raw_bytes() >= self.stage_limit() {
            self.stage_is_large()?;
            return self.add(entry, shadowed);
        }
        self.stage.push(entry, shadowed);
        Ok(())
    }

    /// True if `key` is the first key of its tree after everything below. From here on, the entries can move to the
    /// base if they are in a separate file.
    fn note_leaving(&mut self, key: &[u8]) -> bool {
        let leaving = self.inside && self.tree_end.as_deref().is_some_and(|end| key > end);
        if leaving {
            self.inside = false;
        }
        leaving
    }

    /// True if the open file must end before `key`.
    #[inline]
    fn must_cut(&mut self, key: &[u8]) -> bool {
        if self.inside && self.note_leaving(key) {
            return true;
        }
        let Some(open) = &self.open else { return false };
        let crossed = match &self.plan.cuts {
            Some(base) => {
                let before = self.base_at;
                while base.files.get(self.base_at).is_some_and(|file| file.meta.largest.as_slice() < key) {
                    self.base_at += 1;
                }
                self.base_at != before
            }
            None => false,
        };
        // A streaming tree has reached the stage's limit: it is large enough to end a file at a
        // base bound.
        let full = crossed || open.writer.estimated_bytes() >= self.home.shared.options.target_file_bytes;
        full && open.writer.last_key() != key
    }

    /// Ends the current tree, and begins another.
    fn change_tree(&mut self, tree: u32) -> Result<()> {
        self.end_tree()?;
        self.tree = Some(tree);
        self.uses_definitions = self.home.shared.policies.definitions.uses_definitions(tree);
        let low = tree.to_be_bytes();
        let high = tree.checked_add(1).map_or_else(|| vec![0xff; 5], |next| next.to_be_bytes().to_vec());
        (self.tree_end, self.large) = (None, false);
        self.small = self.home.shared.options.small_tree_bytes;
        if self.home.shared.policies.trees.is_scanned(tree) {
            self.small /= SCANNED_PART;
        }
        for run in self.plan.below.runs.iter().filter(|run| run.id < self.plan.run) {
            for file in run.overlapping(&low, &high).iter().filter(|file| file.meta.smallest < high) {
                self.tree_end = self.tree_end.take().max(Some(file.meta.largest.clone()));
                self.large |= file.trees == [tree] && file.meta.raw_bytes >= self.small;
            }
        }
        self.inside = self.tree_end.is_some();
        if let Some(base) = &self.plan.cuts {
            self.base_at = base.first_at_or_after(&low);
        }
        Ok(())
    }

    /// Writes the staged entries of a tree after its last entry was read.
    fn end_tree(&mut self) -> Result<()> {
        if self.streaming {
            self.close()?;
        }
        if self.stage.entries.is_empty() {
            return Ok(());
        }
        if self.large || self.stage.raw_bytes() >= self.small {
            self.close()?;
            self.write_stage(None, true)?;
            return self.close();
        }
        if let Some(open) = &self.open {
            let bytes = open.writer.estimated_bytes() + (self.stage.raw_bytes() as f64 * TYPICAL_RATIO) as u64;
            if bytes > self.home.shared.options.target_file_bytes {
                self.close()?;
            }
        }
        self.stage.split = None;
        self.write_stage(None, false)
    }

    /// Gives the large staged tree a file of its own, with a dictionary if that pays.
    fn stage_is_large(&mut self) -> Result<()> {
        self.close()?;
        let dictionary = self.dictionary();
        if let (Some(base), Some(last)) = (&self.plan.cuts, self.stage.last_key()) {
            self.base_at = base.first_at_or_after(last);
        }
        self.write_stage(dictionary, true)?;
        self.streaming = true;
        Ok(())
    }

    fn dictionary(&self) -> Option<Arc<Dictionary>> {
        let shared = &self.home.shared;
        let tree = self.tree?;
        if !self.uses_dictionaries() {
            return None;
        }
        if !shared.trees.has(tree)
            && let Some(known) = self.known_dictionary(tree)
        {
            shared.trees.adopt(tree, known);
        }
        let options = &shared.options;
        let train = || {
            let _memory = shared.budget.charge(Owner::Jobs, Dictionary::TRAINING_BYTES);
            self.stage.train(options.writer.block_bytes, options.dictionary_bytes)
        };
        let chosen = shared.trees.choose(tree, &shared.dictionaries, &train);
        shared.budget.set(Owner::Dictionaries, shared.dictionaries.bytes());
        chosen
    }

    /// Returns the dictionary of the tree's newest file that has a dictionary. Used after a reopen.
    fn known_dictionary(&self, tree: u32) -> Option<Arc<Dictionary>> {
        let files = self.plan.below.files().map(|(_, file)| file);
        let newest = files.filter(|file| file.meta.dictionary_id != 0 && file.trees == [tree]);
        let file = newest.max_by_key(|file| file.meta.number)?;
        // Opening the file brings its dictionary into the registry.
        file.reader().ok()?;
        self.home.shared.dictionaries.get(file.meta.dictionary_id)
    }

    /// Writes the stage to a file, or to two if a split was noted.
    fn write_stage(&mut self, dictionary: Option<Arc<Dictionary>>, exclusive: bool) -> Result<()> {
        let stage = std::mem::take(&mut self.stage);
        self.charge.resize(stage.bytes.capacity() + stage.entries.capacity() * std::mem::size_of::<Staged>());
        let result = self.write_staged(&stage, dictionary, exclusive);
        self.stage = stage;
        self.stage.clear();
        result
    }

    fn write_staged(&mut self, stage: &Stage, dictionary: Option<Arc<Dictionary>>, exclusive: bool) -> Result<()> {
        let Some(tree) = self.tree else { return Ok(()) };
        for at in 0..stage.entries.len() {
            if stage.split == Some(at) {
                self.close()?;
            }
            if self.open.is_none() {
                // The part before a split is short, and gets no dictionary.
                let short = stage.split.is_some_and(|split| at < split);
                let dictionary = if short { None } else { dictionary.clone() };
                self.open = Some(self.create(dictionary, exclusive)?);
            }
            let (entry, shadowed) = stage.entry(at);
            if let Some(open) = &mut self.open {
                open.note(shadowed);
                if self.uses_definitions {
                    open.note_used(&*self.home.shared.policies.definitions, tree, &entry);
                }
                open.writer.add(entry)?;
                if open.trees.last() != Some(&tree) {
                    open.trees.push(tree);
                }
            }
        }
        Ok(())
    }

    fn create(&self, dictionary: Option<Arc<Dictionary>>, exclusive: bool) -> Result<OpenFile> {
        let shared = &self.home.shared;
        let number = shared.next_file_number();
        let dictionary_id = dictionary.as_ref().map_or(0, |dictionary| dictionary.id());
        let mut options =
            WriterOptions { compression: self.compression(), dictionary, ..shared.options.writer.clone() };
        if exclusive && self.tree.is_some_and(|tree| !shared.policies.trees.wants_filter(tree)) {
            options.filter_bits_per_key = 0;
        }
        let writer = Writer::create(&shared.sorted_env, &self.home.path(number), number, options)?;
        let (trees, readers, used) = (Vec::new(), Vec::new(), Vec::new());
        Ok(OpenFile { writer, trees, shadowed: 0, readers, used, exclusive, dictionary_id })
    }

    fn close(&mut self) -> Result<()> {
        self.streaming = false;
        let Some(open) = self.open.take() else { return Ok(()) };
        let aux = self.home.shared.policies.definitions.aux(&open.used, &|| self.aux_of_inputs());
        let meta =
            open.writer.finish(FooterInfo { inputs: self.plan.inputs.clone(), replaced: self.home.replaced(), aux })?;
        if let (true, [tree], true) = (open.exclusive, open.trees.as_slice(), open.dictionary_id != 0) {
            self.home.shared.trees.achieved(*tree, open.dictionary_id, meta.bytes, meta.raw_bytes);
        }
        let (run, trees, shadowed, readers) = (self.plan.run, open.trees, open.shadowed, open.readers);
        self.done.push(AddedFile { run, meta, trees, shadowed, clean: 0, readers });
        Ok(())
    }

    /// The salvage data of the inputs. An input that cannot be read contributes nothing.
    fn aux_of_inputs(&self) -> Vec<Vec<u8>> {
        let files = self.plan.below.files().map(|(_, file)| file);
        let inputs = files.filter(|file| self.plan.inputs.contains(&file.meta.number));
        inputs.filter_map(|file| file.reader().ok()?.aux().ok()).collect()
    }

    /// Ends the output. All files are written and synced; their names are not synced yet.
    pub fn finish(mut self) -> Result<Vec<AddedFile>> {
        self.end_tree()?;
        self.close()?;
        Ok(std::mem::take(&mut self.done))
    }
}

impl Drop for Output<'_> {
    /// Removes the files of an unfinished output: no edit names them.
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            open.writer.abandon();
        }
        remove_outputs(self.home, &self.done);
    }
}

pub(crate) fn remove_outputs(home: &Arc<Home>, files: &[AddedFile]) {
    for file in files {
        let _ = home.shared.env.fs.remove(&home.path(file.meta.number));
    }
}
