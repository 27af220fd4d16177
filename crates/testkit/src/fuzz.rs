//! Fuzz targets: functions that accept any bytes, and fail if a parser accepts an input and then does not preserve it.
//!
//! `fuzz/` runs each target under libFuzzer, guided by coverage (`fuzz/README.md`). The test
//! `any_input_is_taken_or_refused` runs them deterministically on the corpora in `fuzz/corpus`, and on inputs that
//! [`mutate`] derives from the corpora.

mod catalog;
mod copies;
mod documents;
mod language;
mod messages;
mod pipelines;
mod questions;
mod sealed;
mod seeds;
mod storage;

pub use seeds::seeds;

/// A function that accepts any bytes.
pub type Target = fn(&[u8]);

/// All targets, by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("json", documents::json),
    ("json_lines", documents::json_lines),
    ("bson", documents::bson),
    ("encoding", documents::encoding),
    ("keys", documents::keys),
    ("rows", documents::rows),
    ("paths", documents::paths),
    ("updates", questions::updates),
    ("deltas", questions::deltas),
    ("filters", questions::filters),
    ("pipelines", pipelines::pipelines),
    ("expressions", language::expressions),
    ("dates", language::dates),
    ("collations", language::collations),
    ("schemas", language::schemas),
    ("indexes", questions::indexes),
    ("loads", storage::loads),
    ("edits", storage::edits),
    ("segments", storage::segments),
    ("sorted_files", storage::sorted_files),
    ("blocks", sealed::blocks),
    ("records", sealed::records),
    ("manifests", sealed::manifests),
    ("superblocks", copies::superblocks),
    ("listings", copies::listings),
    ("read_only", copies::read_only),
    ("index_files", copies::index_files),
    ("metadata", copies::metadata),
    ("catalog", catalog::catalog),
    ("messages", messages::messages),
];

/// Runs a target by its name.
///
/// # Panics
/// If there is no such target, or the target fails.
pub fn run(name: &str, data: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no target {name}"));
    target(data);
}

/// Changes an input slightly, or combines it with another one: bytes are flipped, removed, duplicated, or set to
/// boundary values.
pub fn mutate(rng: &mut fastrand::Rng, input: &mut Vec<u8>, other: &[u8]) {
    const TURNS: [u8; 12] = [0, 1, 0x7f, 0x80, 0xff, b'"', b'{', b'}', b'[', b']', b'\\', b'$'];
    for _ in 0..rng.usize(1..5) {
        let at = rng.usize(0..=input.len());
        let end = (at + rng.usize(1..9)).min(input.len());
        match rng.u32(0..8) {
            0 if at < end => input[at] ^= 1 << rng.u32(0..8),
            1 if at < end => input[at] = TURNS[rng.usize(0..TURNS.len())],
            2 if at < end => input[at] = rng.u8(..),
            3 => drop(input.drain(at.min(end)..end)),
            4 => {
                let piece = input[at.min(end)..end].to_vec();
                input.splice(at..at, piece);
            }
            5 => input.insert(at, TURNS[rng.usize(0..TURNS.len())]),
            6 if !other.is_empty() => {
                let from = rng.usize(0..other.len());
                let to = (from + rng.usize(1..40)).min(other.len());
                input.splice(at..end.max(at), other[from..to].iter().copied());
            }
            7 if rng.u8(0..8) == 0 => input.truncate(at),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
