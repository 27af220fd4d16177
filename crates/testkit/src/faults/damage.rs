//! Damage to files: bits are flipped, and files are truncated, removed or replaced. Also the outcomes that are allowed
//! after each.
//!
//! A [`Subject`] is a directory on a disk, a function that opens and reads it, and a table of the allowed outcomes for
//! each kind of damage. Wrong results, panics, and errors that do not name a file are never allowed.

mod copies;
mod coverage;
mod database;
mod earlier;
mod intact;
mod probes;
mod repaired;

pub use copies::{checkpoint, dump, read_only};
pub use coverage::Coverage;
pub use database::{Specimen, fixture, last_segment, small, subject};
pub use intact::{Places, Unit, Version};

use crate::worlds::{World, files_in};
use alluvium::ErrorKind;
use alluvium_env::{Fs, OpenMode};
use earlier::earlier_cases;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Files with their paths and contents.
pub type Files = Vec<(PathBuf, Vec<u8>)>;

/// The kind of damage to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// These bits of the byte at an offset are flipped.
    Flip(u64, u8),
    /// The file is truncated to this length.
    Cut(u64),
    /// The file is removed.
    Remove,
    /// The file is replaced by the content of another file.
    Swap(Vec<u8>),
    /// The file is replaced by an earlier content of the same file, or of another file of its kind.
    Older(Vec<u8>),
    /// A file that was removed exists again, with its old content.
    Back(Vec<u8>),
}

/// Damage to one file.
#[derive(Debug, Clone)]
pub struct Case {
    /// The file.
    pub path: PathBuf,
    /// The length of the file before the damage.
    pub len: u64,
    /// The kind of damage.
    pub damage: Damage,
    /// A description of the damage.
    words: String,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl Case {
    fn new(path: &Path, bytes: &[u8], damage: Damage, words: &str) -> Self {
        Self { path: path.to_owned(), len: bytes.len() as u64, damage, words: format!("{} {words}", path.display()) }
    }

    /// Applies the damage to a disk.
    ///
    /// # Panics
    /// If the disk refuses the change.
    pub fn apply(&self, fs: &dyn Fs) {
        let file = || fs.open(&self.path, OpenMode::ReadWrite).expect("the file");
        match &self.damage {
            Damage::Flip(at, mask) => {
                let (file, mut byte) = (file(), [0]);
                file.read_exact_at(&mut byte, *at).expect("a byte");
                file.write_at(&[byte[0] ^ mask], *at).expect("a write");
            }
            Damage::Cut(len) => file().set_len(*len).expect("a cut"),
            Damage::Remove => fs.remove(&self.path).expect("a removal"),
            Damage::Back(bytes) => {
                let file = fs.open(&self.path, OpenMode::CreateNew).expect("a new file");
                file.write_at(bytes, 0).expect("a write");
            }
            Damage::Swap(bytes) | Damage::Older(bytes) => {
                let file = file();
                file.set_len(0).expect("a cut");
                file.write_at(bytes, 0).expect("a write");
            }
        }
    }
}

/// The outcome of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// Opening the directory, or the check, reports the damage. No file has changed.
    Refused,
    /// The directory opened. Reads and the check report the damage.
    Found,
    /// The directory opened, reported a torn end, and has its complete content.
    Reported,
    /// The directory opened, reported a torn end, and lacks this number of its last writes.
    Dropped(usize),
    /// The directory opened without a report, and lacks this number of its last writes.
    Earlier(usize),
    /// The directory opened without a report, and has its complete content.
    Harmless,
    /// The directory opened without a report, and has different content.
    Other,
}

/// Opens the directory on a disk, reads everything, and returns the outcome.
type Judge = Box<dyn Fn(&World, &str) -> Outcome>;
/// True if an outcome is allowed.
type Allowed = Box<dyn Fn(&Case, Outcome) -> bool>;

/// A directory that is damaged by a test.
pub struct Subject {
    /// A disk with the undamaged directory.
    pub disk: World,
    /// The path of the directory.
    pub dir: &'static str,
    /// Files of another directory of the same kind, at the same paths where possible.
    pub foreign: Files,
    /// Earlier contents of files of this directory. A path may occur several times.
    pub earlier: Files,
    judge: Judge,
    allowed: Allowed,
}

/// The distance between the places in a file that are damaged under one seed. Bytes in long ranges of zeros are damaged
/// less often, unless the distance is 1.
#[derive(Debug, Clone, Copy)]
pub struct Stride {
    /// The distance between flipped bytes.
    pub flips: u64,
    /// The distance between the lengths to which the file is truncated.
    pub cuts: u64,
}

/// The number of cases with each outcome, for each kind of file and damage.
pub type Counts = BTreeMap<(String, &'static str, Outcome), u64>;

impl Subject {
    /// Applies each case of damage of a seed, and checks the outcome. `stride` returns the distances for a file.
    ///
    /// # Panics
    /// If a promise is broken.
    pub fn damage(&self, seed: u64, stride: impl Fn(&Path) -> Stride, coverage: &mut Coverage) -> Counts {
        let files = files_in(&*self.disk.mem, Path::new(self.dir));
        let mut counts = Counts::new();
        let whole = (self.judge)(&self.disk.killed(), "whole");
        assert_eq!(whole, Outcome::Harmless, "{}: whole", self.dir);
        for (path, bytes) in &files {
            for case in cases(&files, &self.foreign, path, bytes, seed, stride(path)) {
                coverage.note(&case);
                self.one(&case, &mut counts);
            }
        }
        for case in earlier_cases(&files, &self.earlier, seed) {
            self.one(&case, &mut counts);
        }
        counts
    }

    fn one(&self, case: &Case, counts: &mut Counts) {
        let disk = self.disk.killed();
        case.apply(&*disk.mem);
        let context = case.to_string();
        let _printed = PrintOnPanic(&context);
        let outcome = (self.judge)(&disk, &context);
        assert!((self.allowed)(case, outcome), "{context}: {outcome:?}");
        *counts.entry((kind_of(&case.path), what(&case.damage), outcome)).or_default() += 1;
    }
}

/// Prints the current case if the thread panics.
struct PrintOnPanic<'a>(&'a str);

impl Drop for PrintOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("with {}", self.0);
        }
    }
}

fn what(damage: &Damage) -> &'static str {
    match damage {
        Damage::Flip(..) => "flip",
        Damage::Cut(_) => "cut",
        Damage::Remove => "remove",
        Damage::Swap(_) => "swap",
        Damage::Older(_) => "older",
        Damage::Back(_) => "back",
    }
}

/// The kind of a file: its name without the digits.
pub fn kind_of(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let kind: String = name.chars().filter(|c| !c.is_ascii_digit()).collect();
    kind.trim_start_matches('.').trim_end_matches('-').to_owned()
}

/// A pseudorandom number for a seed and a position.
fn mixed(seed: u64, at: u64) -> u64 {
    alluvium_codec::checksum64(&at.to_le_bytes(), seed)
}

/// One in this many bytes of long ranges of zeros is damaged, because these bytes are many and alike.
const ZEROS: u64 = 40;

/// True if a byte is to be flipped in this round of seeds. Zeros are distributed over the rounds, so that each is
/// flipped in some round.
fn is_worth(bytes: &[u8], at: u64, round: u64, stride: u64) -> bool {
    let near = &bytes[at.saturating_sub(64) as usize..(at as usize + 64).min(bytes.len())];
    stride == 1 || near.iter().any(|byte| *byte != 0) || (at / stride + round).is_multiple_of(ZEROS)
}

/// The cases of damage to a file under a seed. Consecutive seeds damage different bytes and use different lengths.
/// After all of these, they flip other bits.
pub fn cases(files: &Files, foreign: &Files, path: &Path, bytes: &[u8], seed: u64, stride: Stride) -> Vec<Case> {
    let case = |damage: Damage, words: &str| Case::new(path, bytes, damage, words);
    let (len, mut all) = (bytes.len() as u64, vec![case(Damage::Remove, "is missing")]);
    let round = seed / stride.flips;
    for at in
        (0..len).filter(|at| at % stride.flips == seed % stride.flips && is_worth(bytes, *at, round, stride.flips))
    {
        // Usually one bit is flipped, and sometimes several.
        let mask = match mixed(seed, at) {
            n if n % 4 > 0 => 1 << ((at + seed / stride.flips) % 8),
            n => (n >> 8) as u8 | 1,
        };
        all.push(case(Damage::Flip(at, mask), &format!("with {mask:02x} flipped at {at}")));
    }
    let wanted = |at: &u64| at % stride.cuts == seed % stride.cuts || *at == 0 || *at + 1 == len;
    let behind =
        |at: &u64| bytes[..*at as usize].iter().rev().take(64).any(|byte| *byte != 0) || at % 512 == seed % 512;
    let cuts = (0..len).filter(|at| wanted(at) && (*at < 64 || behind(at)));
    all.extend(cuts.map(|at| case(Damage::Cut(at), &format!("cut at {at} of {len}"))));
    let mut swap = |from: &str, other: &(PathBuf, Vec<u8>)| {
        if other.1 != bytes {
            let words = format!("with what {from}{} held", other.0.display());
            all.push(case(Damage::Swap(other.1.clone()), &words));
        }
    };
    // Contents to swap in: the file with the same path in the other directory, a file of the same kind there, a file of
    // the same kind here, and any file here.
    let place = foreign.iter().position(|(other, _)| other == path);
    let pick = |files: &Files, kind: Option<&str>, salt: u64| -> Option<(PathBuf, Vec<u8>)> {
        let fits = |other: &&(PathBuf, Vec<u8>)| other.0 != *path && kind.is_none_or(|kind| kind_of(&other.0) == kind);
        let found: Vec<_> = files.iter().filter(fits).collect();
        found.get(mixed(seed, salt) as usize % found.len().max(1)).map(|found| (*found).clone())
    };
    let kind = kind_of(path);
    place.iter().for_each(|at| swap("another's ", &foreign[*at]));
    pick(foreign, Some(&kind), len).iter().for_each(|other| swap("another's ", other));
    pick(files, Some(&kind), len + 1).iter().for_each(|other| swap("", other));
    pick(files, None, len + 2).iter().for_each(|other| swap("", other));
    all
}

/// Checks that an error reports damage, and names the file.
///
/// # Panics
/// If the error does not report damage, or does not name the file.
fn named(error: &alluvium::Error, name: &str, context: &str) {
    let (kind, text) = (error.kind(), error.to_string());
    assert!(matches!(kind, ErrorKind::Corruption | ErrorKind::Open), "{context}: {kind:?}: {error}");
    assert!(text.contains(name), "{context}: the error names no file: {error}");
}

/// Checks that all outcomes of a table occurred.
///
/// # Panics
/// If an outcome did not occur.
pub fn must_have_met(counts: &Counts, wanted: &[(&str, &str, Outcome)]) {
    for (kind, what, outcome) in wanted {
        let met = counts.keys().any(|(k, w, o)| k == kind && w == what && o == outcome);
        assert!(met, "never met: {kind}, {what}, {outcome:?}; but {counts:#?}");
    }
}

/// Reports the counts to the soak, and adds them to the earlier counts.
pub fn tally(counts: &mut Counts, more: Counts) {
    let sum = |flips: bool| more.iter().filter(|((_, what, _), _)| (*what == "flip") == flips).map(|(_, n)| n).sum();
    crate::replay::seed::tally("flips", sum(true));
    crate::replay::seed::tally("files cut, removed or swapped", sum(false));
    more.into_iter().for_each(|(what, count)| *counts.entry(what).or_default() += count);
}
