//! Inspection: the content of a single file of a database. It takes no lock and changes nothing.

mod log;
mod sorted;

use crate::error::{Error, Result};
use crate::files::listing::{self, FileChecksum, Listing};
use crate::files::superblock::{self, Superblock};
use alluvium_env::{Env, OpenMode};
use std::collections::BTreeMap;
use std::path::Path;

/// Options of an inspection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InspectOptions {
    /// Visit every entry of a sorted file and every operation in the log.
    pub entries: bool,
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A sorted file.
    Sorted,
    /// A segment of the write-ahead log.
    Segment,
    /// A manifest.
    Manifest,
    /// The superblock.
    Superblock,
    /// The listing of a checkpoint.
    Checkpoint,
    /// An index file of a read-only store.
    Index,
    /// The superblock of a read-only store. The layer above inspects it, since this crate does not
    /// know its format.
    ReadOnly,
}

impl FileKind {
    /// The name of the kind, for users.
    ///
    /// ```
    /// let env = alluvium_env::Env::in_memory(1);
    /// alluvium_store::Store::open(env.clone(), "db".as_ref(), alluvium_store::Options::default())?;
    /// let options = alluvium_store::InspectOptions::default();
    /// let kind = alluvium_store::inspect(&env, "db/ALLUVIUM".as_ref(), options, &mut |_| Ok(()))?;
    /// assert_eq!(kind.name(), "superblock");
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Sorted => "sorted file",
            Self::Segment => "log segment",
            Self::Manifest => "manifest",
            Self::Superblock => "superblock",
            Self::Checkpoint => "checkpoint",
            Self::Index => "index file",
            Self::ReadOnly => "superblock of a read-only store",
        }
    }
}

/// The value of a [`Fact`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FactValue {
    /// A number.
    Number(u64),
    /// An id or a checksum, which is shown in hexadecimal.
    Id(u64),
    /// Text.
    Text(String),
    /// The key of an entry, without its tree.
    Key(Vec<u8>),
    /// The value of an entry.
    Bytes(Vec<u8>),
    /// Several numbers.
    Numbers(Vec<u64>),
    /// The value of an entry as JSON. A layer that understands the value sets it.
    Json(String),
}

/// A property of a file or of a part of it, by name.
pub type Fact = (&'static str, FactValue);

/// An item that [`inspect`] visits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A property of the whole file.
    Fact(Fact),
    /// One of several parts of the same kind, such as a block.
    Row(&'static str, Vec<Fact>),
    /// The definitions that the values of a tree use, by number. They come before the first entry,
    /// and only with [`InspectOptions::entries`].
    Definitions(u32, BTreeMap<u32, Vec<u8>>),
    /// Damage: its offset, and a description.
    Damage(u64, String),
}

/// Receives the visited items.
type Visit<'a> = dyn FnMut(Item) -> Result<()> + 'a;

fn number(name: &'static str, value: u64) -> Fact {
    (name, FactValue::Number(value))
}

fn id(name: &'static str, value: u64) -> Fact {
    (name, FactValue::Id(value))
}

fn text(name: &'static str, value: impl Into<String>) -> Fact {
    (name, FactValue::Text(value.into()))
}

/// The kind of a file, from its name or from its first or last bytes; `None` if it is not a file of a database.
fn file_kind(env: &Env, path: &Path) -> Result<Option<FileKind>> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if alluvium_lsm::image::sst_number(&name).is_some() {
        return Ok(Some(FileKind::Sorted));
    }
    if alluvium_wal::segment_number(&name).is_some() {
        return Ok(Some(FileKind::Segment));
    }
    if name.starts_with("MANIFEST-") {
        return Ok(Some(FileKind::Manifest));
    }
    if name.starts_with("index-") && name.ends_with(".idx") {
        return Ok(Some(FileKind::Index));
    }
    match name.as_str() {
        superblock::NAME | superblock::TEMPORARY | superblock::NEXT => return Ok(Some(FileKind::Superblock)),
        listing::NAME | listing::TEMPORARY => return Ok(Some(FileKind::Checkpoint)),
        _ => {}
    }
    let file = env.fs.open(path, OpenMode::Read)?;
    let (mut head, mut tail) = ([0; 20], [0; 8]);
    let got = file.read_at(&mut head, 0)?;
    let _got = file.read_at(&mut tail, file.len()?.saturating_sub(8))?;
    let head = &head[..got];
    Ok(match head {
        _ if head.starts_with(b"ALLUVWAL") => Some(FileKind::Segment),
        _ if head.starts_with(b"ALLUVMAN") => Some(FileKind::Manifest),
        _ if head.starts_with(b"alluvium checkpoint ") => Some(FileKind::Checkpoint),
        _ if head.starts_with(b"alluvium") => Some(FileKind::Superblock),
        _ if tail == alluvium_sst::MAGIC && alluvium_sst::is_index_file(env, path)? => Some(FileKind::Index),
        _ if tail == alluvium_sst::MAGIC => Some(FileKind::Sorted),
        _ => None,
    })
}

/// Reads a file of a database and visits its content, including damaged places. Takes no lock and writes nothing.
/// Therefore the end of the log or of a manifest may be incomplete while the database is open.
///
/// # Errors
/// [`Error::NotOfADatabase`] for another file; [`Error::Storage`] for a newer format or a failed
/// read; the errors of `visit`.
pub fn inspect(
    env: &Env,
    path: &Path,
    options: InspectOptions,
    visit: &mut dyn FnMut(Item) -> Result<()>,
) -> Result<FileKind> {
    let Some(kind) = file_kind(env, path)?.filter(|kind| *kind != FileKind::ReadOnly) else {
        return Err(Error::NotOfADatabase(path.to_owned()));
    };
    visit(Item::Fact(text("file", path.display().to_string())))?;
    visit(Item::Fact(text("kind", kind.name())))?;
    visit(Item::Fact(number("bytes", env.fs.open(path, OpenMode::Read)?.len()?)))?;
    match kind {
        FileKind::Sorted | FileKind::Index => sorted::inspect(env, path, options, visit)?,
        FileKind::Segment => log::inspect(env, path, options, visit)?,
        FileKind::Manifest => inspect_manifest(env, path, visit)?,
        FileKind::Superblock => inspect_superblock(env, path, visit)?,
        FileKind::Checkpoint => inspect_checkpoint(env, path, visit)?,
        FileKind::ReadOnly => {}
    }
    Ok(kind)
}

/// Visits damage. Returns all other errors.
fn visit_damage(error: Error, visit: &mut Visit<'_>) -> Result<()> {
    match error {
        Error::Storage(alluvium_env::Error::Corrupt { offset, what, .. }) => visit(Item::Damage(offset, what)),
        error => Err(error),
    }
}

fn inspect_superblock(env: &Env, path: &Path, visit: &mut Visit<'_>) -> Result<()> {
    match Superblock::read_file(env, path) {
        Ok(found) => {
            visit(Item::Fact(id("database", found.database_id)))?;
            visit(Item::Fact(number("partitions", found.partitions.into())))
        }
        Err(error) => visit_damage(error, visit),
    }
}

fn inspect_checkpoint(env: &Env, path: &Path, visit: &mut Visit<'_>) -> Result<()> {
    let listing = match Listing::read_file(env, path) {
        Ok(listing) => listing,
        Err(error) => return visit_damage(error, visit),
    };
    visit(Item::Fact(id("id", listing.id)))?;
    visit(Item::Fact(id("database", listing.database_id)))?;
    visit(Item::Fact(number("sequence", listing.seq)))?;
    visit(Item::Fact(number("partitions", listing.partitions.into())))?;
    if let Some(base) = listing.base {
        visit(Item::Fact(id("base", base)))?;
    }
    visit(Item::Fact(number("listed_bytes", listing.bytes())))?;
    for file in listing.files {
        let sum = match file.checksum {
            FileChecksum::Footer(sum) => id("footer", sum),
            FileChecksum::Content(sum) => id("content", sum),
        };
        let place = text("place", if file.in_base { "base" } else { "new" });
        visit(Item::Row("file", vec![text("path", file.path), number("bytes", file.bytes), sum, place]))?;
    }
    Ok(())
}

fn inspect_manifest(env: &Env, path: &Path, visit: &mut Visit<'_>) -> Result<()> {
    let walked = alluvium_lsm::image::walk_manifest(env, path, None)?;
    visit(Item::Fact(id("database", walked.database_id)))?;
    visit(Item::Fact(number("partition", walked.partition.into())))?;
    visit(Item::Fact(number("number", walked.number)))?;
    visit(Item::Fact(number("edits", walked.edits.len() as u64)))?;
    visit(Item::Fact(number("end", walked.end)))?;
    let version = &walked.version;
    for (name, value) in [
        ("flushed", version.flushed_seq),
        ("next_file", version.next_file),
        ("next_run", version.next_run),
        ("files", Some(version.added.len() as u64)),
        ("file_bytes", Some(version.added.iter().map(|file| file.meta.bytes).sum())),
    ] {
        visit(Item::Fact(number(name, value.unwrap_or(0))))?;
    }
    if !version.ranges.is_empty() {
        visit(Item::Fact(number("ranges", version.ranges.len() as u64)))?;
    }
    for (offset, edit) in &walked.edits {
        let mut facts = vec![number("offset", *offset)];
        facts.extend(edit.flushed_seq.map(|seq| number("flushed", seq)));
        let numbers = |files: Vec<u64>| FactValue::Numbers(files);
        for (name, files) in [
            ("added", edit.added.iter().map(|file| file.meta.number).collect()),
            ("removed", edit.removed.clone()),
            ("moved", edit.moved.iter().map(|(file, _)| *file).collect::<Vec<_>>()),
        ] {
            if !files.is_empty() {
                facts.push((name, numbers(files)));
            }
        }
        visit(Item::Row("edit", facts))?;
    }
    let mut files: Vec<_> = version.added.iter().collect();
    files.sort_by_key(|file| (std::cmp::Reverse(file.run), file.meta.smallest.clone()));
    for file in files {
        let mut facts = vec![number("number", file.meta.number), number("run", file.run)];
        facts.extend(sorted::facts(&file.meta));
        facts.push(("trees", FactValue::Numbers(file.trees.iter().map(|tree| u64::from(*tree)).collect())));
        visit(Item::Row("file", facts))?;
    }
    walked.damage.into_iter().try_for_each(|(offset, what)| visit(Item::Damage(offset, what)))
}
