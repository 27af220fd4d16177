//! Merging runs.

use crate::arena::Pair;
use crate::error::Error;
use crate::layout;
use crate::options::OnDuplicate;
use crate::runs::{Run, RunFile, RunWriter, Written};
use alluvium_codec::entry::EntryIter;
use alluvium_env::Env;
use alluvium_lsm::Merge;

/// The number of pairs between two checks whether a merge may continue.
const CHECK_EVERY: u32 = 256;

/// Passes the pairs of all runs to `take`, in order.
pub(crate) fn merge<E: From<Error>>(
    env: &Env,
    runs: &[Run],
    mut take: impl FnMut(Pair<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let sources = runs.iter().map(|run| Ok(run.reader(env)?.iter(false))).collect::<Result<Vec<_>, Error>>()?;
    let mut merge = Merge::new(sources);
    merge.seek_first().map_err(Error::from)?;
    while merge.valid() {
        take(Pair { key: layout::user_key(merge.key()), value: merge.value(), rank: merge.seq() })?;
        merge.next().map_err(Error::from)?;
    }
    Ok(())
}

/// Merges runs into one run, and removes them. `proceed` is called now and then; an error of it
/// ends the merge.
pub(crate) fn merge_into_run<E: From<Error>>(
    into: &RunFile<'_>,
    runs: Vec<Run>,
    on_duplicate: OnDuplicate,
    proceed: &mut dyn FnMut() -> Result<(), E>,
) -> Result<Written, E> {
    let mut writer = RunWriter::create(into, on_duplicate)?;
    let mut pairs = 0u32;
    merge::<E>(into.env, &runs, |pair| {
        pairs = pairs.wrapping_add(1);
        if pairs.is_multiple_of(CHECK_EVERY) {
            proceed()?;
        }
        Ok(writer.add(pair)?)
    })?;
    let written = writer.finish()?;
    runs.into_iter().for_each(|run| run.remove(into.env));
    Ok(written)
}
