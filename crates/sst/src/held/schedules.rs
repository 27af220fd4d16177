//! Readers hold and release partitions while the limit falls, under many schedules: the counts
//! always equal the held partitions. Run with `--features shuttle`.

use super::tests::{block, held};
use super::*;
use alluvium_env::thread::spawn;

#[test]
fn what_is_held_is_counted() {
    let test = "-p alluvium-sst --lib what_is_held_is_counted";
    alluvium_env::schedules::check(test, 1000, || {
        let block = block(1000);
        let each = block.weight();
        let holder = Holder::new(3 * each);
        let files: Vec<_> = (0..2).map(|_| Held::new(2, Some(holder.clone()))).collect();
        let mut threads = Vec::new();
        for reader in 0..2 {
            let (file, block) = (files[0].clone(), block.clone());
            threads.push(spawn("reader", move || {
                for slot in [0, 1] {
                    file.put(slot, &block);
                    let _used = file.get(slot);
                }
                drop(file.take(reader));
            }));
        }
        // No other file holds this partition, so the partition is freed when it is dropped.
        let (file, other) = (files[1].clone(), block.clone());
        drop(files.into_iter().next_back());
        threads.push(spawn("closer", move || {
            file.put(0, &other);
            drop(file);
        }));
        let limited = holder.clone();
        threads.push(spawn("budget", move || {
            limited.set_limit(each);
            assert!(limited.blocks() < 10, "{} blocks, counted off before they were counted", limited.blocks());
        }));
        let counted = holder.blocks();
        assert!(counted < 10, "{counted} blocks, counted off before they were counted");
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let files: Vec<_> = holder.ring.lock().files.iter().filter_map(Weak::upgrade).collect();
        let found: usize = files.iter().map(|file| held(file).len()).sum();
        assert_eq!((holder.blocks(), holder.bytes()), (found, found * each));
        holder.clear();
        assert_eq!((holder.blocks(), holder.bytes()), (0, 0));
    });
}
