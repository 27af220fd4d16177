//! If any byte of a file is changed, or the file is cut at any length, a walk of the file reads each entry or reports a
//! lost range of keys that contains it. The walk reads no entry that was not written.

use crate::common::{Fixture, Owned, sorted};
use alluvium_codec::entry::Entry;
use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_sst::{BlockReader, Compression, Dictionary, DictionaryRegistry, WalkedFile, WriterOptions};
use std::sync::Arc;

fn entries() -> Vec<Owned> {
    let entry = |n: u64| match n % 7 {
        5 => Owned::delete(format!("tree{:03}", n / 3 * 7), 300 - n),
        _ => Owned::put(
            format!("tree{:03}", n / 3 * 7),
            300 - n,
            format!("the value {n} of the key, again and again, {n}"),
        ),
    };
    sorted((0u64..100).map(entry).collect())
}

fn variants() -> Vec<(&'static str, WriterOptions)> {
    let samples: Vec<_> = (0..400).map(|n| format!("the value {n} of the key, again and again, {n}")).collect();
    let dictionary = Arc::new(Dictionary::train(&samples, 512).unwrap());
    let small = WriterOptions { block_bytes: 256, index_partition_blocks: 3, ..WriterOptions::default() };
    let zstd = Compression::Zstd { level: 3 };
    vec![
        ("none", WriterOptions { compression: Compression::None, ..small.clone() }),
        ("lz4", WriterOptions { compression: Compression::Lz4, ..small.clone() }),
        ("zstd", WriterOptions { compression: zstd, ..small.clone() }),
        ("dictionary", WriterOptions { compression: zstd, dictionary: Some(dictionary), ..small }),
    ]
}

/// Walks the file, and checks the result. Returns the number of missing entries.
fn walk(fixture: &Fixture, model: &[Owned], registry: &DictionaryRegistry, what: &str) -> (usize, WalkedFile) {
    let (mut seen, mut places) = (Vec::new(), Vec::new());
    let number = fixture.meta.number;
    let walked = alluvium_sst::walk_file(&fixture.env, &fixture.path, number, registry, &mut |block| {
        places.extend((block.role == "data").then_some((block.offset, block.bytes as u32)));
        block.each(&mut |entry| {
            seen.push((entry.key.to_vec(), entry.seq, entry.kind, entry.value.to_vec()));
            Ok(())
        })
    })
    .unwrap();
    let mut again = BlockReader::open(&fixture.env, &fixture.path, number, walked.dictionary.clone()).unwrap();
    let mut once_more = Vec::new();
    for (offset, bytes) in places {
        let visit = &mut |entry: Entry<'_>| {
            once_more.push((entry.key.to_vec(), entry.seq, entry.kind, entry.value.to_vec()));
            Ok(())
        };
        again.each(offset, bytes, visit).unwrap();
    }
    assert!(once_more == seen, "{what}: a block is not found again as it was");
    let all: Vec<_> = model.iter().map(|e| (e.key.clone(), e.seq, e.kind, e.value.clone())).collect();
    assert!(seen.is_sorted_by(|a, b| (&a.0, b.1) < (&b.0, a.1)), "{what}");
    assert!(seen.iter().all(|entry| all.contains(entry)), "{what}: something that was not written");
    let missing: Vec<_> = all.iter().filter(|entry| !seen.contains(entry)).collect();
    for (key, ..) in &missing {
        let named = |lost: &&alluvium_sst::LostBlock| {
            lost.entries && lost.from <= *key && lost.to.as_ref().is_none_or(|to| key <= to)
        };
        assert!(walked.lost.iter().any(|lost| named(&lost)), "{what}: {key:?} is lost and not named: {walked:?}");
    }
    assert_eq!(walked.entries as usize, seen.len());
    (missing.len(), walked)
}

#[test]
fn with_every_byte_changed() {
    for (name, options) in variants() {
        let model = entries();
        let fixture = Fixture::new(&model, options);
        let (missing, whole) = walk(&fixture, &model, &DictionaryRegistry::new(), name);
        assert!(missing == 0 && whole.lost.is_empty() && whole.data_blocks > 6, "{name}: {whole:?}");
        let largest = model.len() / 4;
        let bytes = fixture.bytes();
        // Another file has registered the dictionary.
        let registry = DictionaryRegistry::new();
        let (_, kept) = walk(&fixture, &model, &registry, name);
        for at in 0..bytes.len() {
            let what = format!("{name}, offset {at}");
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x20;
            fixture.set_bytes(&damaged);
            let (missing, walked) = walk(&fixture, &model, &registry, &what);
            assert!(!walked.lost.is_empty(), "{what}");
            // Damage to a block loses only that block, whatever else is damaged.
            assert!(missing <= largest, "{what}: {missing} entries are missing: {walked:?}");
        }
        assert_eq!(kept.dictionary.is_some(), name == "dictionary");
    }
}

#[test]
fn cut_at_every_length_and_without_its_dictionary() {
    for (name, options) in variants() {
        let model = entries();
        let fixture = Fixture::new(&model, options);
        let bytes = fixture.bytes();
        let (registry, mut ends) = (DictionaryRegistry::new(), Vec::new());
        let whole =
            alluvium_sst::walk_file(&fixture.env, &fixture.path, fixture.meta.number, &registry, &mut |block| {
                ends.extend((block.role == "data").then_some(block.offset + block.bytes));
                Ok(())
            });
        assert!(whole.unwrap().lost.is_empty());
        for len in 0..bytes.len() {
            fixture.set_bytes(&bytes[..len]);
            let (_, walked) = walk(&fixture, &model, &DictionaryRegistry::new(), &format!("{name}, {len} bytes"));
            // Only the cut blocks are lost, wherever the cut is. Without its dictionary block, a file has no known dictionary.
            let left = ends.iter().filter(|end| **end <= len as u64).count() as u64;
            assert!(walked.data_blocks == left || name == "dictionary", "{name}, {len} bytes: {walked:?}, not {left}");
            assert!(walked.lost.last().is_some_and(|lost| lost.offset + lost.bytes == len as u64), "{name}, {len}");
        }
        // Without its footer all blocks are found, the dictionary included.
        fixture.set_bytes(&bytes[..bytes.len() - 20]);
        let (missing, walked) = walk(&fixture, &model, &DictionaryRegistry::new(), name);
        assert!(missing == 0 && walked.properties.is_some(), "{name}: {missing} of {walked:?}");
    }
}

#[test]
fn random_bytes_are_no_entries() {
    let model = entries();
    let fixture = Fixture::new(&model, WriterOptions::default());
    let mut rng = fastrand::Rng::with_seed(4);
    for len in [0, 1, 15, 111, 112, 113, 1000, 20_000] {
        let bytes: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(len).collect();
        fixture.set_bytes(&bytes);
        let (_, walked) = walk(&fixture, &model, &DictionaryRegistry::new(), "random bytes");
        assert!(walked.entries == 0 && !walked.lost.is_empty());
    }
}

#[test]
fn with_every_sector_unreadable() {
    const SECTOR: u64 = 4096;
    for (name, options) in variants().into_iter().take(2) {
        let entry =
            |n: u64| Owned::put(format!("tree{n:05}"), n + 1, format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let model: Vec<Owned> = (0..2000).map(entry).collect();
        let mut fixture = Fixture::new(&model, options);
        let (_, whole) = walk(&fixture, &model, &DictionaryRegistry::new(), name);
        assert!(whole.file_bytes > 8 * SECTOR);
        // The block that extends into the sector is lost, and at most one index partition of other blocks.
        let largest = (SECTOR + 512) as usize * model.len() / whole.file_bytes as usize * 2;
        let disk = Arc::new(FaultFs::new(fixture.env.fs.clone()));
        fixture.env.fs = disk.clone();
        for from in (0..whole.file_bytes).step_by(SECTOR as usize) {
            let fault = Fault::nth(1).of(OpKind::Read).touching(from..from + SECTOR).from_then_on();
            disk.inject(fault);
            let what = format!("{name}, sector at {from}");
            let (missing, walked) = walk(&fixture, &model, &DictionaryRegistry::new(), &what);
            assert!(missing <= largest, "{what}: {missing} entries of at most {largest} are missing");
            assert!(walked.lost.iter().any(|lost| lost.what.contains("cannot be read")), "{what}: {:?}", walked.lost);
            // One sector fails; unless it has an index, nothing else is lost.
            let beside =
                |lost: &&alluvium_sst::LostBlock| lost.offset + lost.bytes <= from || lost.offset >= from + SECTOR;
            assert_eq!(walked.lost.iter().filter(beside).count(), 0, "{what}: {:?}", walked.lost);
            disk.clear();
        }
    }
}
