//! `$group`: a document for each group, whose states are in memory or in files.

use super::gather::STEP;
use super::host::Host;
use super::parallel::{self, spill};
use super::run::Run;
use super::stream::Stream;
use crate::marks;
use crate::source::{MemoryAccount, Sorted, Sorter};
use alluvium_codec::varint;
use alluvium_document::Map;
use alluvium_query::pipeline::{Group, Groups, PipelineError, Record};
use std::sync::Arc;

type SortedOf<H> = <<H as Host>::Sorter as Sorter>::Sorted;

/// `$group`.
pub(super) struct Grouping<H: Host> {
    input: Box<dyn Stream<H>>,
    group: Arc<Group>,
    /// Its report.
    at: Option<usize>,
    state: State<H>,
    account: Option<H::Account>,
}

enum State<H: Host> {
    Waiting,
    Memory(std::vec::IntoIter<Map>),
    Files(Box<FromFiles<H>>),
}

/// Groups that are read from files.
struct FromFiles<H: Host> {
    sorted: SortedOf<H>,
    /// The group that is read, and its key.
    groups: Groups,
    key: Option<Vec<u8>>,
}

impl<H: Host> Grouping<H> {
    pub fn new(input: Box<dyn Stream<H>>, group: Arc<Group>, at: Option<usize>) -> Self {
        Self { input, group, at, state: State::Waiting, account: None }
    }

    fn gather(&mut self, run: &mut Run<H>) -> Result<State<H>, H::Error> {
        // Each thread has a part of the memory: without files, one that has more groups than others would fail.
        if self.group.ignores_order() && run.settings.allow_disk_use && !run.settings.timed {
            let parts = self.input.split()?;
            if !parts.is_empty() {
                let grouped = parallel::groups(&run.host, &self.group, &run.settings, parts)?;
                self.account = Some(grouped.account);
                return self.finish(run, grouped.groups, grouped.sorter);
            }
        }
        let mut groups = Groups::new(self.group.clone());
        let mut sorter: Option<H::Sorter> = None;
        let account = self.account.insert(run.host.account());
        self.input.visit(run, &mut |run, record| {
            groups.add(record)?;
            let (bytes, bytes_max) = (groups.bytes(), run.settings.stage_bytes_max);
            if bytes > account.bytes() {
                account.resize(bytes + STEP);
            }
            if bytes <= bytes_max {
                return Ok(());
            }
            if !run.settings.allow_disk_use {
                return Err(PipelineError::too_much_memory("$group", bytes_max).into());
            }
            let host = &run.host;
            let sorter = sorter.get_or_insert_with(|| host.sorter("$group", bytes_max));
            spill::<H>(&mut groups, sorter, &run.settings.limits)
        })?;
        self.finish(run, groups, sorter)
    }

    /// The groups in memory, or all of them in files if some are.
    fn finish(
        &mut self,
        run: &mut Run<H>,
        mut groups: Groups,
        sorter: Option<H::Sorter>,
    ) -> Result<State<H>, H::Error> {
        let limits = run.settings.limits.clone();
        let Some(mut sorter) = sorter else {
            let maps: Vec<Map> = groups.take().collect();
            return Ok(State::Memory(maps.into_iter()));
        };
        marks::GROUP_SPILLED.hit();
        if let Some(at) = self.at {
            run.reports[at].spilled = true;
        }
        spill::<H>(&mut groups, &mut sorter, &limits)?;
        let sorted = sorter.finish(&limits)?;
        // New groups: to take the only one of a table that had many is slow.
        let groups = Groups::new(self.group.clone());
        Ok(State::Files(Box::new(FromFiles { sorted, groups, key: None })))
    }
}

impl<H: Host> FromFiles<H> {
    /// The next group: its states are beside each other.
    fn next(&mut self, run: &mut Run<H>, account: &mut H::Account) -> Result<Option<Map>, H::Error> {
        loop {
            let Some(mut bytes) = self.sorted.next_value(&run.settings.limits)? else {
                self.key = None;
                return Ok(self.groups.take().next());
            };
            let key = varint::get_bytes(&mut bytes).map_err(|_| PipelineError::damaged_file())?;
            let finished = match &self.key {
                Some(known) if known[..] != *key => self.groups.take().next(),
                _ => None,
            };
            self.key = Some(key.to_vec());
            self.groups.merge(bytes)?;
            if self.groups.bytes() > account.bytes() {
                account.resize(self.groups.bytes() + STEP);
            }
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
            State::Waiting => None,
            State::Memory(maps) => maps.next(),
            State::Files(files) => {
                let account = self.account.get_or_insert_with(|| run.host.account());
                files.next(run, account)?
            }
        };
        if next.is_none() {
            self.account = None;
        }
        Ok(next.map(Record::Map))
    }
}
