//! Merging runs, so many at once.

use crate::arena::Pair;
use crate::layout;
use crate::runs::{Run, RunWriter, Written};
use crate::{OnDuplicate, Result};
use codec::entry::EntryIter;
use env::Env;
use lsm::Merge;
use std::path::Path;

/// Hands the pairs of all runs to `take`, in order.
pub(crate) fn merge(env: &Env, runs: &[Run], mut take: impl FnMut(Pair<'_>) -> Result<()>) -> Result<()> {
    let sources = runs.iter().map(|run| Ok(run.reader(env)?.iter(false))).collect::<Result<Vec<_>>>()?;
    let mut merge = Merge::new(sources);
    merge.seek_first()?;
    while merge.valid() {
        take(Pair { key: layout::user_key(merge.key()), value: merge.value(), rank: merge.seq() })?;
        merge.next()?;
    }
    Ok(())
}

/// Merges runs into one, and removes them.
pub(crate) fn merge_into_run(
    env: &Env,
    dir: &Path,
    number: u64,
    runs: Vec<Run>,
    on_duplicate: OnDuplicate,
) -> Result<Written> {
    let mut writer = RunWriter::create(env, dir, number, on_duplicate)?;
    merge(env, &runs, |pair| writer.add(pair))?;
    let written = writer.finish()?;
    runs.into_iter().for_each(|run| run.remove(env));
    Ok(written)
}
