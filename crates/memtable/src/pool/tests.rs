#![cfg(not(feature = "shuttle"))]

use super::*;
use crate::Memtable;
use alluvium_codec::entry::{Entry, Kind};
use std::sync::Arc;

const MIB: usize = 1 << 20;

fn fill(pool: &Arc<ChunkPool>, bytes: usize, byte: u8) -> Memtable {
    let table = Memtable::with_pool(1, pool);
    let value = vec![byte; 1000];
    for seq in 0..bytes as u64 / 1000 {
        table.apply([Entry { key: &seq.to_be_bytes(), seq, kind: Kind::Put, value: &value }].into_iter());
    }
    table
}

fn check(table: &Memtable, byte: u8) {
    let mut value = Vec::new();
    for seq in 0..table.len() as u64 {
        assert_eq!(table.get(&seq.to_be_bytes(), seq, &mut value), Some((seq, Kind::Put)));
        assert!(value == [byte; 1000]);
    }
}

#[test]
fn chunks_go_from_one_memtable_to_the_next() {
    let pool = Arc::new(ChunkPool::new(100 * MIB));
    let first = fill(&pool, 12 * MIB, 1);
    let charged = first.charged_bytes();
    assert_eq!(pool.free_bytes(), 0);
    drop(first);
    let free = pool.free_bytes();
    assert!(free > 6 * MIB && free < charged, "{free}");
    let second = fill(&pool, 12 * MIB, 2);
    assert_eq!((pool.free_bytes(), second.charged_bytes()), (0, charged));
    check(&second, 2);
    second.seal(1 << 20);
    check(&second, 2);
    drop(second);
    assert_eq!(pool.free_bytes(), free, "frozen ones leave them too");
    pool.clear();
    assert_eq!(pool.free_bytes(), 0);
}

#[test]
fn a_pool_keeps_its_limit() {
    for limit in [0, 1, 3] {
        let pool = Arc::new(ChunkPool::new(limit * MIB + MIB / 2));
        drop(fill(&pool, 12 * MIB, 1));
        assert_eq!(pool.free_bytes(), limit * MIB);
    }
}
