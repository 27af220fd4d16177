use super::*;
use crate::meta::FooterInfo;
use crate::options::{Compression, WriterOptions};
use crate::writer::Writer;
use alluvium_env::fault::{FaultFs, OpKind};

const NUMBER: u64 = 7;

/// A file of some 100 KB, in blocks of up to 2 KB.
fn write(env: &Env, path: &Path) -> Vec<u8> {
    let options = WriterOptions {
        compression: Compression::None,
        block_bytes: 512,
        index_partition_blocks: 20,
        ..WriterOptions::default()
    };
    let mut writer = Writer::create(env, path, NUMBER, options).unwrap();
    let mut rng = fastrand::Rng::with_seed(4);
    for n in 0..200u64 {
        let value: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(100 + n as usize * 7 % 1800).collect();
        let key = format!("tree{n:05}");
        writer.add(Entry { key: key.as_bytes(), seq: n + 1, kind: Kind::Put, value: &value }).unwrap();
    }
    writer.finish(FooterInfo::default()).unwrap();
    let file = env.fs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

/// The result of a walk, and the locations of whole blocks.
fn walk(env: &Env, path: &Path, limits: Limits) -> (WalkedFile, Vec<(u64, u64, &'static str)>) {
    let mut places = Vec::new();
    let found = walk_within(env, path, NUMBER, &DictionaryRegistry::new(), limits, &mut |block| {
        places.push((block.offset, block.bytes, block.role));
        Ok(())
    });
    (found.unwrap(), places)
}

#[test]
fn a_file_without_its_end_is_gone_through_in_windows() {
    let mut env = Env::in_memory(1);
    let path = Path::new("/7.sst");
    let mut bytes = write(&env, path);
    let disk = Arc::new(FaultFs::new(env.fs.clone()));
    env.fs = disk.clone();
    // Damages a block in the middle, two blocks that follow each other, and the footer.
    for at in [1000, 40_000, 70_000, 71_500] {
        bytes[at] ^= 0x20;
    }
    bytes.truncate(bytes.len() - 20);
    let file = env.fs.open(path, OpenMode::ReadWrite).unwrap();
    file.write_at(&bytes, 0).unwrap();
    file.set_len(bytes.len() as u64).unwrap();

    let count = |limits| {
        let before = disk.count(OpKind::Read);
        let found = walk(&env, path, limits);
        (disk.count(OpKind::Read) - before, found)
    };
    let (whole, (expected, places)) = count(Limits::USUAL);
    assert!(expected.lost.len() >= 4 && places.len() > 150, "{expected:?}");
    let window = 4 << 10;
    let (parts, (found, found_places)) = count(Limits { window, ..Limits::USUAL });
    assert_eq!(found.lost, expected.lost);
    assert_eq!(found_places, places);
    assert_eq!((found.entries, found.numbers), (expected.entries, expected.numbers));
    // The number of reads shows that the file was not read at once.
    assert!(parts >= whole + (bytes.len() / (window + 8192)) as u64 - 1, "{parts} reads, not {whole}");
}

#[test]
fn what_is_lost_of_a_large_file_is_told_whole() {
    let (env, dir) = (Env::os(), tempfile::tempdir().unwrap());
    let path = dir.path().join("7.sst");
    let len = (5 << 30) + 77;
    env.fs.open(&path, OpenMode::CreateNew).unwrap().set_len(len).unwrap();
    let (found, places) = walk(&env, &path, Limits { window: 64 << 10, hashed: 64 << 10 });
    assert_eq!(places, []);
    assert_eq!(found.lost.iter().map(|lost| lost.bytes).sum::<u64>(), len, "{found:?}");
}
