#![allow(clippy::disallowed_methods)]
#![cfg(not(feature = "shuttle"))]

use super::*;
use crate::Env;
use crate::sync::Mutex;

/// A file in memory with the restrictions that operating systems have on direct I/O. It records the
/// transferred bytes.
struct Strict {
    file: Arc<dyn File>,
    /// Reads return at most this many bytes.
    most: usize,
    written: Mutex<Vec<(u64, usize)>>,
}

impl Strict {
    fn check(bytes: &[u8], offset: u64) {
        assert_eq!(bytes.as_ptr() as usize % DIRECT_BLOCK_BYTES, 0, "the address");
        assert_eq!(bytes.len() % DIRECT_BLOCK_BYTES, 0, "the length");
        assert_eq!(offset % DIRECT_BLOCK_BYTES as u64, 0, "the offset");
    }
}

impl Blocks for Strict {
    fn read_blocks(&self, blocks: &mut [u8], offset: u64) -> Result<usize> {
        Self::check(blocks, offset);
        let len = blocks.len().min(self.most);
        self.file.read_at(&mut blocks[..len], offset)
    }

    fn write_blocks(&self, blocks: &[u8], offset: u64) -> Result<()> {
        Self::check(blocks, offset);
        self.written.lock().push((offset, blocks.len()));
        self.file.write_at(blocks, offset)
    }
}

fn strict(most: usize) -> (Arc<Strict>, DirectFile) {
    let env = Env::in_memory(1);
    let file = env.fs.open(Path::new("/f"), OpenMode::CreateNew).unwrap();
    let strict = Arc::new(Strict { file: file.clone(), most, written: Mutex::new(Vec::new()) });
    (strict.clone(), DirectFile::new(strict, file))
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 251) as u8).collect()
}

#[test]
fn any_range_is_written_and_read_as_of_another_file() {
    let (_, file) = strict(usize::MAX);
    let mut model = Vec::new();
    let mut random = fastrand::Rng::with_seed(1);
    let bytes = pattern(3 * PIECE_BYTES);
    for round in 0..300 {
        let len = match round % 3 {
            0 => random.usize(0..10),
            1 => random.usize(0..20_000),
            _ => random.usize(0..bytes.len()),
        };
        let offset = random.usize(0..=model.len());
        let from = random.usize(0..=bytes.len() - len);
        file.write_at(&bytes[from..from + len], offset as u64).unwrap();
        model.resize(model.len().max(offset + len), 0);
        model[offset..offset + len].copy_from_slice(&bytes[from..from + len]);
        let (at, wanted) = (random.usize(0..model.len() + 9000), random.usize(0..600_000));
        let mut read = vec![0xee; wanted];
        let got = file.read_at(&mut read, at as u64).unwrap();
        let expected = &model[at.min(model.len())..(at + wanted).min(model.len()).max(at.min(model.len()))];
        assert!(read[..got] == *expected, "round {round}: {got} bytes at {at}, {} expected", expected.len());
    }
    assert_eq!(file.len().unwrap(), model.len() as u64);
}

#[test]
fn a_short_read_continues() {
    let (strict, file) = strict(2 * DIRECT_BLOCK_BYTES);
    let bytes = pattern(50_000);
    strict.file.write_at(&bytes, 0).unwrap();
    let mut read = vec![0; 49_000];
    assert_eq!(file.read_at(&mut read, 1000).unwrap(), 49_000);
    assert!(read == bytes[1000..]);
    assert_eq!(file.read_at(&mut read, 48_000).unwrap(), 2000);
    assert_eq!(file.read_at(&mut read, 50_000).unwrap(), 0);
    assert_eq!(file.read_at(&mut read, 70_000).unwrap(), 0);
}

#[test]
fn whole_blocks_go_past_the_cache() {
    let (strict, file) = strict(usize::MAX);
    let bytes = pattern(100_000);
    file.write_at(&bytes, 0).unwrap();
    file.write_at(&bytes, 100_000).unwrap();
    file.write_at(&bytes[..100], 200_000).unwrap();
    let block = DIRECT_BLOCK_BYTES as u64;
    let second = 100_000_u64.next_multiple_of(block);
    let expected = [(0, 24 * DIRECT_BLOCK_BYTES), (second, (200_000 / block * block - second) as usize)];
    assert_eq!(*strict.written.lock(), expected);
}

#[test]
fn the_systems_files_do_it_or_say_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let fs = DirectFs::new(Env::os().fs);
    let bytes = pattern(300_001);
    match fs.open(&path, OpenMode::CreateNew) {
        Ok(file) => {
            file.write_at(&bytes[..5000], 0).unwrap();
            file.write_at(&bytes[5000..], 5000).unwrap();
            file.sync().unwrap();
            assert!(fs.open(&path, OpenMode::CreateNew).is_err());
            let file = fs.open(&path, OpenMode::Read).unwrap();
            assert_eq!(file.len().unwrap(), bytes.len() as u64);
            let mut read = vec![0; bytes.len() + 10];
            assert_eq!(file.read_at(&mut read, 0).unwrap(), bytes.len());
            assert!(read[..bytes.len()] == bytes);
            assert_eq!(file.read_at(&mut read[..100], 300_000).unwrap(), 1);
            assert!(file.write_at(b"x", 0).is_err(), "it was opened for reading");
        }
        Err(error) => {
            assert!(error.to_string().contains("without the page cache"), "{error}");
            assert!(!path.exists(), "what could not be opened is not left behind");
        }
    }
}
