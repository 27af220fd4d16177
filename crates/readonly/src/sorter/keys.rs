//! A set of keys in files.

use super::Files;
use crate::arena::Pair;
use crate::error::{Error, Result};
use crate::layout;
use crate::merge::merge_into_run;
use crate::options::OnDuplicate;
use crate::runs::{Run, RunWriter};
use alluvium_codec::entry::{EntryIter, MAX_SEQ};
use alluvium_env::Env;
use alluvium_sst::Reader;
use std::path::PathBuf;
use std::sync::Arc;

/// The number of runs that are merged into one. Each key is looked up in all runs, so there should be few of them.
const MERGED: usize = 4;

/// The number of keys between two calls of `proceed`.
const CHECK_EVERY: usize = 64;

/// A set of keys in files. Keys that are added together form a run, and runs that were merged equally often are merged.
/// Keys are added and looked up many at a time, in their order, so that a block of a run is read once for all of them.
///
/// ```
/// # fn main() -> alluvium_readonly::Result<()> {
/// use alluvium_readonly::sorter::KeySet;
/// let mut set = KeySet::new(&alluvium_env::Env::in_memory(1), "sort-1".into());
/// set.add(&[b"a".to_vec(), b"c".to_vec()], |_| alluvium_readonly::Result::Ok(()))?;
/// let found = set.contains(&[b"b", b"c"], |_| alluvium_readonly::Result::Ok(()))?;
/// assert_eq!(found, [false, true]);
/// # Ok(())
/// # }
/// ```
pub struct KeySet {
    /// The runs that were merged most often are first.
    runs: Vec<SetRun>,
    next_run: u64,
    files: Files,
}

/// A run, and the number of merges that its keys have passed.
struct SetRun {
    merges: u32,
    run: Run,
    reader: Arc<Reader>,
}

impl KeySet {
    /// An empty set. Its files are in the folder `dir`, which is created when it is needed, and removed at the end.
    ///
    /// ```
    /// # use alluvium_readonly::sorter::KeySet;
    /// let mut set = KeySet::new(&alluvium_env::Env::in_memory(1), "sort-1".into());
    /// assert_eq!(set.contains(&[b"a"], |_| alluvium_readonly::Result::Ok(()))?, [false]);
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    pub fn new(env: &Env, dir: PathBuf) -> Self {
        Self { runs: Vec::new(), next_run: 0, files: Files { env: env.clone(), dir, made: false } }
    }

    /// Adds keys in ascending order. `proceed` is called as in [`super::Sorter::add`].
    ///
    /// ```
    /// # use alluvium_readonly::sorter::KeySet;
    /// let mut set = KeySet::new(&alluvium_env::Env::in_memory(1), "sort-1".into());
    /// set.add(&["a", "b"], |_| alluvium_readonly::Result::Ok(()))?;
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// I/O errors, and errors of `proceed`. After an error no more keys may be added.
    pub fn add<E: From<Error>>(
        &mut self,
        keys: &[impl AsRef<[u8]>],
        mut proceed: impl FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        if keys.is_empty() {
            return Ok(());
        }
        proceed(keys.iter().map(|key| key.as_ref().len() as u64).sum())?;
        let mut writer = self.writer()?;
        for some in keys.chunks(CHECK_EVERY) {
            proceed(0)?;
            for key in some {
                writer.add(Pair { key: key.as_ref(), value: &[], rank: MAX_SEQ }).map_err(E::from)?;
            }
        }
        let run = writer.finish().map_err(E::from)?.run;
        self.push(0, run)?;
        self.merge_alike(&mut proceed)
    }

    fn writer(&mut self) -> Result<RunWriter> {
        self.files.make()?;
        let writer = RunWriter::create(&self.files.run(self.next_run), OnDuplicate::Skip)?;
        self.next_run += 1;
        Ok(writer)
    }

    fn push(&mut self, merges: u32, run: Run) -> Result<()> {
        let reader = run.reader(&self.files.env)?;
        self.runs.push(SetRun { merges, run, reader });
        Ok(())
    }

    fn merge_alike<E: From<Error>>(
        &mut self,
        proceed: &mut dyn FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        while let Some(last) = self.runs.last() {
            let merges = last.merges;
            let alike = self.runs.iter().rev().take_while(|other| other.merges == merges).count();
            if alike < MERGED {
                break;
            }
            let merged = self.runs.split_off(self.runs.len() - alike);
            proceed(merged.iter().map(|merged| merged.run.meta.bytes).sum())?;
            let runs = merged.into_iter().map(|merged| merged.run).collect();
            let into = self.files.run(self.next_run);
            self.next_run += 1;
            let written = merge_into_run(&into, runs, OnDuplicate::Skip, &mut || proceed(0))?;
            self.push(merges + 1, written.run)?;
        }
        Ok(())
    }

    /// Returns for each of these keys, which are in ascending order, whether it is in the set. `proceed` is called now
    /// and then with 0.
    ///
    /// ```
    /// # use alluvium_readonly::sorter::KeySet;
    /// let mut set = KeySet::new(&alluvium_env::Env::in_memory(1), "sort-1".into());
    /// set.add(&["a", "b"], |_| alluvium_readonly::Result::Ok(()))?;
    /// let found = set.contains(&["", "a", "c"], |_| alluvium_readonly::Result::Ok(()))?;
    /// assert_eq!(found, [false, true, false]);
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// Damage, I/O errors, and errors of `proceed`.
    pub fn contains<E: From<Error>>(
        &self,
        keys: &[impl AsRef<[u8]>],
        mut proceed: impl FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<Vec<bool>, E> {
        let mut found = vec![false; keys.len()];
        let mut internal = Vec::new();
        for SetRun { reader, .. } in &self.runs {
            let mut iter = reader.iter(true);
            for (at, (key, found)) in keys.iter().zip(&mut found).enumerate() {
                if at % CHECK_EVERY == 0 {
                    proceed(0)?;
                }
                if !*found {
                    layout::internal_key(&mut internal, key.as_ref());
                    iter.seek(&internal, MAX_SEQ).map_err(Error::from)?;
                    *found = iter.valid() && iter.key() == internal;
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
