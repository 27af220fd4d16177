//! Hostile content with valid checksums: a valid checksum does not prove that the content is valid, so every reader
//! must check it.

use super::storage::{options, read_all, small};
use crate::worlds::{PATH, World};
use alluvium_codec::entry::{Entry, EntryIter, Kind, MAX_SEQ};
use alluvium_env::{Env, OpenMode};
use alluvium_lsm::VersionEdit;
use alluvium_lsm::image::{manifest_number, walk_manifest, write_manifest};
use alluvium_sst::{Compression, DictionaryRegistry, FileMeta, FooterInfo, NoCache, Reader, Writer, WriterOptions};
use alluvium_wal::{Record, Wal};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The number of the sorted file in these targets.
const NUMBER: u64 = 7;
/// The size of the checksum of a stored block.
const CHECKSUM: usize = 4;

/// A sorted file, and the positions of its blocks.
struct Sorted {
    bytes: Vec<u8>,
    meta: FileMeta,
    blocks: Vec<(usize, usize)>,
}

/// Entries of all kinds, with keys of documents, or with keys of an index.
fn entries(small: bool) -> Vec<(Vec<u8>, u64, Kind, Vec<u8>)> {
    let entry = |n: u64| {
        let kind = if n.is_multiple_of(7) { Kind::Delete } else { Kind::Put };
        let key = [&b"key\0"[..], &(n / 3).to_be_bytes(), if small { b"" } else { b"tail" }].concat();
        let value = if kind == Kind::Delete || small { Vec::new() } else { format!("value {n}").into_bytes() };
        (key, 1000 - n, kind, value)
    };
    (0..120).map(entry).collect()
}

fn sorted_file(which: usize) -> Sorted {
    let compression = [Compression::None, Compression::Lz4, Compression::Zstd { level: 1 }][which % 3];
    let env = Env::in_memory(1);
    let path = Path::new("7.sst");
    let options = WriterOptions { block_bytes: 512, compression, ..WriterOptions::default() };
    let mut writer = Writer::create(&env, path, NUMBER, options).expect("a writer");
    for (key, seq, kind, value) in entries(which >= 3) {
        writer.add(Entry { key: &key, seq, kind, value: &value }).expect("an entry");
    }
    let footer = FooterInfo { inputs: vec![3], replaced: Vec::new(), aux: b"aux".to_vec() };
    let meta = writer.finish(footer).expect("a file");
    let mut blocks = Vec::new();
    let walked = alluvium_sst::walk_file(&env, path, NUMBER, &DictionaryRegistry::new(), &mut |block| {
        blocks.push((block.offset as usize, block.bytes as usize));
        Ok(())
    });
    walked.expect("a whole file");
    let file = env.fs.open(path, OpenMode::Read).expect("the file");
    let mut bytes = vec![0; file.len().expect("a length") as usize];
    file.read_exact_at(&mut bytes, 0).expect("a read");
    Sorted { bytes, meta, blocks }
}

/// A block of a sorted file is overwritten with the input, and sealed again. The first bytes select the file, the block
/// and the offset.
pub fn blocks(data: &[u8]) {
    static FILES: OnceLock<Vec<Sorted>> = OnceLock::new();
    let Some((&[file, block, low, high], content)) = data.split_first_chunk::<4>() else { return };
    let files = FILES.get_or_init(|| (0..6).map(sorted_file).collect());
    let sorted = &files[usize::from(file) % files.len()];
    let (offset, len) = sorted.blocks[usize::from(block) % sorted.blocks.len()];
    let mut bytes = sorted.bytes.clone();
    let (covered, checksum) = bytes[offset..offset + len].split_at_mut(len - CHECKSUM);
    let at = usize::from(u16::from_le_bytes([low, high])) % covered.len();
    let end = covered.len().min(at + content.len());
    covered[at..end].copy_from_slice(&content[..end - at]);
    let seed = NUMBER.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ offset as u64;
    checksum.copy_from_slice(&alluvium_codec::checksum32(covered, seed).to_le_bytes());
    let env = Env::in_memory(1);
    let path = Path::new("7.sst");
    let file = env.fs.open(path, OpenMode::CreateNew).expect("a new file");
    file.write_at(&bytes, 0).expect("a write");
    drop(file);
    let registry = DictionaryRegistry::new();
    let _walked = alluvium_sst::walk_file(&env, path, NUMBER, &registry, &mut |block| block.each(&mut |_| Ok(())));
    let _unlisted = Reader::open_unlisted(&env, path, NUMBER, Arc::new(NoCache), &registry);
    let Ok(reader) = Reader::open(&env, path, &sorted.meta, Arc::new(NoCache), &registry).map(Arc::new) else { return };
    read_file(&reader);
}

/// Calls all operations of a reader, and ignores their results.
fn read_file(reader: &Arc<Reader>) {
    let _checked = (reader.verify(), reader.properties(), reader.aux());
    let mut value = Vec::new();
    for n in [0u64, 1, 20, 39, 40] {
        for tail in [&b""[..], b"tail", b"\xff"] {
            let key = [&b"key\0"[..], &n.to_be_bytes(), tail].concat();
            let _found = reader.get(&key, alluvium_codec::hash64(&key), MAX_SEQ, &mut value);
            let _found = reader.get(&key, alluvium_codec::hash64(&key), 900, &mut value);
            let _between = reader.entries_between(b"key", &key);
        }
    }
    let mut iter = reader.iter(false);
    // Entries out of order could form a cycle, so the number of steps is limited by the number of entries that ever
    // existed.
    let mut steps = 0;
    let mut at = iter.seek_first();
    while at.is_ok() && iter.valid() && steps < 100_000 {
        steps += 1;
        let _bytes = (iter.key().len(), iter.value().to_vec());
        at = iter.next();
    }
    let mut at = iter.seek_last();
    while at.is_ok() && iter.valid() && steps < 200_000 {
        steps += 1;
        let _bytes = (iter.value().len(), iter.key().to_vec());
        at = iter.prev();
    }
    let _sought = iter.seek(b"key\0\0\0\0\0\0\0\0\x14", 950);
}

fn manifest(world: &World) -> (PathBuf, PathBuf) {
    let dir = Path::new(PATH).join("p000");
    let names = world.env.fs.list(&dir).expect("a directory");
    let name = names.into_iter().find(|entry| manifest_number(&entry.name).is_some()).expect("a manifest").name;
    (dir.join(name), dir)
}

fn log_options(world: &World) -> alluvium_wal::Options {
    let walked = walk_manifest(&world.env, &manifest(world).0, None).expect("a manifest");
    alluvium_wal::Options { segment_bytes: 1 << 20, must_exist: true, ..alluvium_wal::Options::new(walked.database_id) }
}

/// A record is appended to the log. If the first byte is 128 or more, the other bytes are stored as the compressed form
/// of a payload.
pub fn records(data: &[u8]) {
    let Some((&numbers, payload)) = data.split_first() else { return };
    let world = small();
    append(&world, numbers, payload);
    read_all(&world, &options());
}

/// Appends a record to the log; `numbers` is the number of sequence numbers after its first one.
pub(super) fn append(world: &World, numbers: u8, payload: &[u8]) {
    let log = Path::new(PATH).join("wal");
    let (wal, found) = Wal::recover(&world.env, &log, log_options(world), &mut |_| Ok(())).expect("a whole log");
    let (first_seq, last_seq) = (found.last_seq + 1, found.last_seq + 1 + u64::from(numbers));
    let record = Record::new(first_seq, last_seq, payload);
    let raw = vec![0; 64 * usize::from(numbers)];
    let record = match numbers {
        0..128 => record,
        _ => Record { payload: &raw, compressed: Some(payload), ..record },
    };
    let end = wal.append(&[record]).expect("an append");
    wal.sync_to(end).expect("a sync");
}

/// A manifest with one edit, which is decoded from the input.
pub fn manifests(data: &[u8]) {
    let Ok(edit) = VersionEdit::decode(data) else { return };
    let world = small();
    let (path, dir) = manifest(&world);
    let walked = walk_manifest(&world.env, &path, None).expect("a manifest");
    world.env.fs.remove(&path).expect("a removal");
    write_manifest(&world.env, &dir, walked.database_id, 0, &edit).expect("a manifest");
    read_all(&world, &options());
}

/// The seeds of these targets, made from the small database.
pub(super) fn seeds(target: &str) -> Vec<Vec<u8>> {
    let world = small();
    match target {
        "records" => {
            let (mut found, log) = (Vec::new(), Path::new(PATH).join("wal"));
            let read = Wal::read(&world.env, &log, log_options(&world), &mut |record| {
                let numbers = (record.last_seq - record.first_seq) as u8;
                found.push([&[numbers][..], record.payload].concat());
                Ok(())
            });
            read.expect("a whole log");
            found
        }
        "blocks" => {
            let each = |file: u8| [0u8, 1, 5].map(|block| vec![file, block, 0, 0, 3, 1, 0, 0]);
            (0..6).flat_map(each).collect()
        }
        _ => {
            let walked = walk_manifest(&world.env, &manifest(&world).0, None).expect("a manifest");
            let mut bytes = Vec::new();
            walked.version.encode(&mut bytes);
            let mut all = vec![bytes];
            for (_, edit) in &walked.edits {
                let mut bytes = Vec::new();
                edit.encode(&mut bytes);
                all.push(bytes);
            }
            all
        }
    }
}
