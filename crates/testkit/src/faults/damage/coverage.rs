//! Records which bytes were flipped over many seeds.

use super::{Case, Damage, kind_of};
use crate::replay::seed;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The bytes of each file of one subject that have been flipped so far.
#[derive(Debug, Default)]
pub struct Coverage {
    files: BTreeMap<PathBuf, Vec<bool>>,
}

/// A number of bytes, and the total number of bytes.
type Share = (u64, u64);

impl Coverage {
    /// Records the damage to a file.
    pub(super) fn note(&mut self, case: &Case) {
        let bytes = self.files.entry(case.path.clone()).or_insert_with(|| vec![false; case.len as usize]);
        if let Damage::Flip(at, _) = case.damage {
            bytes[at as usize] = true;
        }
    }

    /// For each kind of file, the number of flipped bytes and the total.
    pub fn of_kinds<'a>(subjects: impl IntoIterator<Item = &'a Self>) -> BTreeMap<String, Share> {
        let mut kinds: BTreeMap<String, Share> = BTreeMap::new();
        for (path, bytes) in subjects.into_iter().flat_map(|coverage| &coverage.files) {
            let (flipped, all) = kinds.entry(kind_of(path)).or_default();
            *flipped += bytes.iter().filter(|flipped| **flipped).count() as u64;
            *all += bytes.len() as u64;
        }
        kinds.retain(|_, (_, all)| *all > 0);
        kinds
    }

    /// Reports the coverage to the soak.
    pub fn tally<'a>(test: &str, subjects: impl IntoIterator<Item = &'a Self>) {
        for (kind, (flipped, all)) in Self::of_kinds(subjects) {
            seed::tally(&format!("bytes {test}, {kind}: all"), all);
            seed::tally(&format!("bytes {test}, {kind}: flipped"), flipped);
            if flipped == all {
                seed::tally(&format!("bytes {test}, {kind}: every byte was flipped"), 1);
            }
        }
    }
}
