//! A process was killed during a merge, and its left-over files fill the disk. The next process opens the database with
//! a smaller budget, must flush during the replay, and frees the space of the left-over files.

use alluvium_env::mem::MemFs;
use alluvium_env::{Env, Fs, ManualClock, OpenMode, SeededRng};
use alluvium_store::{Durability, Options, Store, Tuning};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn options(memory_bytes: usize) -> Options {
    Options { memory_bytes, partitions: Some(2), background: false, segment_bytes: Some(1 << 20), ..Options::default() }
}

#[test]
fn a_full_disk_with_left_overs_opens() {
    let disk = Arc::new(MemFs::new());
    let env =
        |fs: &Arc<MemFs>| Env { fs: fs.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
    let store = Store::open(env(&disk), Path::new("db"), options(64 << 20)).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    for n in 0..5000u32 {
        let mut batch = store.batch();
        batch.put(tree, &n.to_be_bytes(), &[n as u8; 1000]);
        store.write(batch, Durability::Bulk).unwrap();
    }
    let disk = Arc::new(disk.kill_clone());
    drop(store);
    for partition in ["p000", "p001"] {
        let left_over = Path::new("db").join(partition).join("00000100.sst");
        disk.open(&left_over, OpenMode::CreateNew).unwrap().write_at(&[1; 2 << 20], 0).unwrap();
    }
    disk.set_capacity(disk.used_bytes() + (64 << 10));
    let store = Store::open(env(&disk), Path::new("db"), options(8 << 20)).unwrap();
    let found = (0..5000u32).filter(|n| store.contains(tree, &n.to_be_bytes()).unwrap()).count();
    assert_eq!(found, 5000);
}

/// A file that seems left over may have been lost from a damaged manifest. Therefore it is kept until the whole log has
/// been read and shows no such loss.
#[test]
fn what_a_damaged_manifest_has_forgotten_is_no_left_over() {
    let disk = Arc::new(MemFs::new());
    let env =
        |fs: &Arc<MemFs>| Env { fs: fs.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
    let tuning = Tuning { memtable_bytes: Some(4 << 20), ..Tuning::default() };
    let store = Store::open(env(&disk), Path::new("db"), Options { tuning, ..options(256 << 20) }).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let mut keys: [Vec<[u8; 4]>; 2] = Default::default();
    for key in (0..40_000u32).map(u32::to_be_bytes) {
        keys[(alluvium_codec::hash64(&key) >> 63) as usize].push(key);
    }
    // The second partition is flushed first, then the first one; the log has only the end of the first one's
    // operations. The log shows this only after the records that fill the memory of the second partition, and a small
    // budget cannot hold these records.
    for (partition, count) in [(0, 2000), (1, 4300), (1, 3700), (0, 2300)] {
        for key in keys[partition].drain(..count) {
            // The values do not compress.
            let words = (0..125u32).map(|at| alluvium_codec::hash64(&[key, at.to_be_bytes()].concat()).to_be_bytes());
            let mut batch = store.batch();
            batch.put(tree, &key, &words.flatten().collect::<Vec<u8>>());
            store.write(batch, Durability::Bulk).unwrap();
        }
        store.run_pending().unwrap();
    }
    let disk = Arc::new(disk.kill_clone());
    drop(store);
    let partition = Path::new("db/p000");
    let manifest = names(&disk, partition, "MANIFEST-").pop().unwrap();
    let file = disk.open(&manifest, OpenMode::ReadWrite).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    let last = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    file.write_at(&[bytes[last] ^ 1], last as u64).unwrap();
    let sorted = names(&disk, partition, "0");
    disk.set_capacity(disk.used_bytes() + (64 << 10));
    let error = Store::open(env(&disk), Path::new("db"), options(8 << 20)).err().expect("a flush is lost");
    assert!(error.to_string().contains("lost a flush"), "{error}");
    assert_eq!(names(&disk, partition, "0"), sorted);
}

fn names(disk: &MemFs, dir: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = disk.list(dir).unwrap().into_iter();
    entries.filter(|entry| entry.name.starts_with(prefix)).map(|entry| dir.join(entry.name)).collect()
}
