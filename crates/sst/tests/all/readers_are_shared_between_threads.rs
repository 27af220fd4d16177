//! Many threads share a reader and a dictionary: concurrent gets and scans return the right
//! results.

use crate::common::{Fixture, KeepAll, Owned, all, get};
use alluvium_sst::{BlockCache, Dictionary, DictionaryRegistry, NoCache, Reader, SstIter, Writer, WriterOptions};
use std::sync::Arc;

fn is_shared<T: Send + Sync>() {}
fn is_sent<T: Send>() {}

#[test]
fn types_may_go_between_threads() {
    is_shared::<Reader>();
    is_shared::<Dictionary>();
    is_shared::<DictionaryRegistry>();
    is_sent::<SstIter>();
    is_sent::<Writer>();
}

/// Caches every block, even if two threads read the same one at once.
struct Tolerant(KeepAll);

impl BlockCache for Tolerant {
    fn get(&self, file: u64, offset: u64) -> Option<Arc<alluvium_sst::Block>> {
        self.0.get(file, offset)
    }

    fn insert(&self, file: u64, offset: u64, block: &Arc<alluvium_sst::Block>) {
        self.0.blocks.lock().insert((file, offset), block.clone());
    }
}

#[test]
fn gets_and_scans_at_the_same_time() {
    let entries: Vec<_> =
        (0..2000u32).map(|n| Owned::put(format!("tree{n:05}"), 9, format!("{n} and more words of row {n}"))).collect();
    let samples: Vec<_> = entries.iter().map(|entry| entry.value.clone()).collect();
    let dictionary = Arc::new(Dictionary::train(&samples, 2048).unwrap());
    let options = WriterOptions { block_bytes: 1024, dictionary: Some(dictionary), ..WriterOptions::default() };
    let fixture = Fixture::new(&entries, options);
    let entries = Arc::new(entries);
    let caches: [Arc<dyn BlockCache>; 2] = [Arc::new(NoCache), Arc::new(Tolerant(KeepAll::default()))];
    for cache in caches {
        let reader = fixture.open_with(cache).unwrap();
        let bytes = fixture.registry.bytes();
        assert!(bytes > 0 && fixture.open().dictionary().is_some());
        assert_eq!(fixture.registry.bytes(), bytes, "a second reader shares the dictionary");
        let threads: Vec<_> = (0..4)
            .map(|thread: usize| {
                let (reader, entries) = (reader.clone(), entries.clone());
                alluvium_env::thread::spawn("reader", move || {
                    for entry in entries.iter().skip(thread * 13).step_by(7) {
                        let found = get(&reader, &entry.key, 9).unwrap().unwrap();
                        assert_eq!(found.2, entry.value);
                    }
                    assert_eq!(all(&reader, thread < 2).unwrap(), *entries);
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }
    assert_eq!(fixture.registry.bytes(), 0, "the last reader is gone, and its dictionary with it");
}
