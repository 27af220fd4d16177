//! Outdated files of the same database, which have the right id and valid checksums.

use super::{Case, Damage, Files, kind_of, mixed};
use crate::worlds::{FileKind, World, contents_of};
use alluvium_env::fault::{Op, OpKind};
use alluvium_env::sync::Mutex;
use alluvium_env::{Fs, OpenMode};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The maximum number of earlier contents of one file that a seed tries.
const EACH: usize = 6;
/// The maximum number of removed files that are created again under one seed.
const BACK: usize = 24;
/// The maximum number of recorded contents of one file.
const MOST: usize = 200;

/// The recorded contents of each file, the oldest first.
type Held = BTreeMap<PathBuf, Vec<Vec<u8>>>;

/// Records the contents of each file over time.
pub(super) struct Earlier(Arc<Mutex<Held>>);

fn note(held: &mut Held, path: PathBuf, bytes: Vec<u8>) {
    let known = held.entry(path).or_default();
    if known.last() == Some(&bytes) {
        return;
    }
    known.push(bytes);
    if known.len() > MOST {
        // Keeps every second content.
        let mut odd = false;
        known.retain(|_| {
            odd = !odd;
            !odd
        });
    }
}

impl Earlier {
    /// Records the directory whenever a file is created, renamed or removed, and the log and
    /// manifests whenever they are written to.
    pub fn watch(world: &World, dir: &'static str) -> Self {
        let seen: Arc<Mutex<Held>> = Arc::default();
        let (into, mem) = (seen.clone(), world.mem.clone());
        world.faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
            let mut seen = into.lock();
            match op.kind {
                OpKind::Create | OpKind::Rename | OpKind::Remove => {
                    contents_of(&*mem, Path::new(dir))
                        .into_iter()
                        .for_each(|(path, bytes)| note(&mut seen, path, bytes));
                }
                OpKind::Write if matches!(FileKind::of(op.path), FileKind::Log | FileKind::Manifest) => {
                    note(&mut seen, op.path.to_owned(), content(&*mem, op.path));
                }
                _ => {}
            }
        })));
        Self(seen)
    }

    /// Stops recording, and returns all recorded contents.
    pub fn end(self, world: &World) -> Files {
        world.faults.set_hook(None);
        let seen = std::mem::take(&mut *self.0.lock());
        seen.into_iter().flat_map(|(path, all)| all.into_iter().map(move |bytes| (path.clone(), bytes))).collect()
    }
}

/// Cases with earlier files. An earlier file replaces the current file with the same name, or another file of the same
/// kind, or is added to the current files.
pub(super) fn earlier_cases(files: &Files, earlier: &Files, seed: u64) -> Vec<Case> {
    let older: Vec<_> = earlier.iter().filter(|old| !old.1.is_empty() && !files.contains(old)).collect();
    let mut all = Vec::new();
    for (path, bytes) in files {
        let case = |(from, old): &(PathBuf, Vec<u8>)| {
            let words = format!("with what {} held earlier, {} bytes", from.display(), old.len());
            Case::new(path, bytes, Damage::Older(old.clone()), &words)
        };
        let kind = kind_of(path);
        let own: Vec<_> = older.iter().filter(|old| old.0 == *path).collect();
        let other: Vec<_> = older.iter().filter(|old| old.0 != *path && kind_of(&old.0) == kind).collect();
        for (among, most) in [(own, EACH), (other, 1)] {
            all.extend(some(&among, most, seed, path).map(|old| case(old)));
        }
    }
    // The recorded contents of each removed file, the oldest first.
    let gone: BTreeMap<&Path, Vec<&[u8]>> = older.iter().fold(BTreeMap::new(), |mut gone, old| {
        if !files.iter().any(|(path, _)| *path == old.0) {
            gone.entry(old.0.as_path()).or_default().push(old.1.as_slice());
        }
        gone
    });
    let gone: Vec<_> = gone.into_iter().collect();
    for (path, held) in some(&gone, BACK, seed, Path::new("gone")) {
        for at in [held.len() - 1, mixed(seed, path_salt(path)) as usize % held.len()] {
            let words = format!("back, with the {} bytes of moment {at}", held[at].len());
            all.push(Case::new(path, &[], Damage::Back(held[at].to_vec()), &words));
        }
    }
    all
}

/// A few of many items, spread evenly, from a start that the seed determines.
fn some<'a, T>(among: &'a [T], most: usize, seed: u64, of: &Path) -> impl Iterator<Item = &'a T> {
    let (count, from) = (most.min(among.len()), mixed(seed, path_salt(of)) as usize);
    (0..count).map(move |n| &among[(from % among.len() + n * among.len() / count) % among.len()])
}

fn content(fs: &dyn Fs, path: &Path) -> Vec<u8> {
    let file = fs.open(path, OpenMode::Read).expect("it is being written");
    let mut bytes = vec![0; file.len().expect("a length") as usize];
    file.read_exact_at(&mut bytes, 0).expect("it reads");
    bytes
}

fn path_salt(path: &Path) -> u64 {
    alluvium_codec::hash64(path.to_string_lossy().as_bytes())
}
