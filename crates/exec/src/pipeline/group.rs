//! `$group`: a document for each group, whose states are in memory or in files.
//!
//! All groups are returned in the order of their first documents. Groups in files are read and finished in the order of
//! their keys, and then sorted by the positions of their first documents.

use super::gather::{self, Files, Held};
use super::host::Host;
use super::parallel::{self, spill};
use super::run::Run;
use super::stream::Stream;
use crate::marks;
use crate::source::{Sorted, Sorter};
use alluvium_codec::varint;
use alluvium_document::Map;
use alluvium_query::pipeline::{Group, Groups, PipelineError, Record, TakenGroup};
use std::sync::Arc;

type SortedOf<H> = <<H as Host>::Sorter as Sorter>::Sorted;

/// `$group`.
pub(super) struct Grouping<H: Host> {
    input: Box<dyn Stream<H>>,
    group: Arc<Group>,
    /// The position of the stage's report.
    at: Option<usize>,
    state: State<H>,
    /// The memory of the groups of each thread, or of the files.
    held: Vec<Held<H>>,
}

enum State<H: Host> {
    Waiting,
    Memory(std::vec::IntoIter<Map>),
    Files(gather::FromFiles<H>),
    /// All groups were returned.
    End,
}

/// Groups that are read from files, in the order of their keys.
struct Unfinished<H: Host> {
    sorted: SortedOf<H>,
    /// The group that is read, and its key.
    groups: Groups,
    key: Option<Vec<u8>>,
    /// The memory of the group.
    held: Held<H>,
}

impl<H: Host> Grouping<H> {
    pub fn new(input: Box<dyn Stream<H>>, group: Arc<Group>, at: Option<usize>) -> Self {
        Self { input, group, at, state: State::Waiting, held: Vec::new() }
    }

    fn gather(&mut self, run: &mut Run<H>) -> Result<State<H>, H::Error> {
        // Each thread has a part of the memory. Without files, a thread that has more groups than others would fail.
        if self.group.ignores_order() && run.settings.allow_disk_use && !run.settings.timed {
            let parts = self.input.split()?;
            if !parts.is_empty() {
                let grouped = parallel::groups(&run.host, &self.group, &run.settings, parts)?;
                self.held = grouped.held;
                return self.finish(run, grouped.groups, grouped.sorter);
            }
        }
        let mut groups = Groups::new(self.group.clone());
        let mut held = Held::new(run, "$group");
        // A sorter, and the bytes that groups in memory may take once groups are in files.
        let mut files: Option<(H::Sorter, usize)> = None;
        self.input.visit_equals(run, &mut |run, record, times| {
            groups.add_times(record, times)?;
            let fits = match &files {
                None => held.fits(groups.bytes()),
                Some((_, most)) => groups.bytes() <= *most,
            };
            if fits {
                return Ok(());
            }
            if files.is_none() {
                let half = held.for_files()? / 2;
                files = Some((run.host.sorter("$group", half), half));
            }
            let Some((sorter, _)) = &mut files else { return Ok(()) };
            spill::<H>(&mut groups, sorter, &run.settings.limits)
        })?;
        self.held.push(held);
        self.finish(run, groups, files)
    }

    /// Returns the groups in memory, or all groups in files if some are in files.
    fn finish(
        &mut self,
        run: &mut Run<H>,
        mut groups: Groups,
        sorter: Option<(H::Sorter, usize)>,
    ) -> Result<State<H>, H::Error> {
        let limits = run.settings.limits.clone();
        let Some((mut sorter, memory)) = sorter else {
            let maps: Vec<Map> = groups.take().collect();
            return Ok(State::Memory(maps.into_iter()));
        };
        marks::GROUP_SPILLED.hit();
        if let Some(at) = self.at {
            run.reports[at].spilled = true;
        }
        spill::<H>(&mut groups, &mut sorter, &limits)?;
        let sorted = sorter.finish(&limits)?;
        // Makes a new table of groups: taking the only group out of a table that had many groups is slow.
        let groups = Groups::new(self.group.clone());
        let held = Held::in_memory(run, "$group");
        let mut unfinished = Unfinished::<H> { sorted, groups, key: None, held };
        // The memory of the groups next to the first files is free now.
        let mut files = Files::new(&run.host, "$group", memory);
        while let Some((place, map)) = unfinished.next(run)? {
            run.tick()?;
            files.add(&limits, &place, Record::Map(map))?;
        }
        Ok(State::Files(files.finish(&limits)?))
    }
}

impl<H: Host> Unfinished<H> {
    /// Returns the next group. Its states are next to each other.
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<TakenGroup>, H::Error> {
        loop {
            let Some(mut bytes) = self.sorted.next_value(&run.settings.limits)? else {
                self.key = None;
                return Ok(self.groups.pop());
            };
            let key = varint::get_bytes(&mut bytes).map_err(|_| PipelineError::damaged_file())?;
            let finished = match &self.key {
                Some(known) if known[..] != *key => self.groups.pop(),
                _ => None,
            };
            self.key = Some(key.to_vec());
            self.groups.merge(bytes)?;
            self.held.set(self.groups.bytes())?;
            if finished.is_some() {
                return Ok(finished);
            }
        }
    }
}

impl<H: Host> Stream<H> for Grouping<H> {
    fn next(&mut self, run: &mut Run<H>) -> Result<Option<Record>, H::Error> {
        if matches!(self.state, State::Waiting) {
            self.state = self.gather(run)?;
        }
        let next = match &mut self.state {
            State::Waiting | State::End => None,
            State::Memory(maps) => maps.next().map(Record::Map),
            State::Files(files) => files.next(&run.settings.limits)?,
        };
        if next.is_none() {
            self.state = State::End;
            self.held.clear();
        }
        Ok(next)
    }
}
