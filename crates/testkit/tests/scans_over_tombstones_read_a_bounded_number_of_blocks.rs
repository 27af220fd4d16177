//! A queue: documents are inserted at one end and deleted at the other, a hundred times the length of the queue. The
//! first documents are found after a bounded number of blocks, no matter how many were deleted before them. The same is
//! true after deletes of whole ranges, even while an iterator is open.
#![cfg(not(feature = "shuttle"))]

use alluvium::{Collection, Database, Durability};
use alluvium_store::{BlockCounts, Options};
use alluvium_testkit::{World, pressure, seed};

/// The number of documents in the queue.
const LENGTH: u64 = 2000;
/// The maximum number of blocks that are accessed for the first ten documents. Each of the two partitions may keep 4096
/// tombstones (`alluvium_lsm::Options::few_tombstones`) and the documents of about 150 bytes that they hide, in blocks
/// of 2 KiB.
const MOST: u64 = 700;
/// The maximum number of blocks after everything was merged.
const MOST_COMPACTED: u64 = 20;

fn open(world: &World) -> (Database, Collection) {
    let options = Options {
        partitions: Some(2),
        memory_bytes: 8 << 20,
        threads: Some(1),
        durability: Durability::Bulk,
        background: false,
        ..Options::default()
    };
    let db = world.open(&options).unwrap();
    let queue = db.create_collection("queue").run().unwrap();
    (db, queue)
}

/// The number of blocks that are accessed to read the first ten documents.
fn first_ten(queue: &Collection, from: u64) -> u64 {
    let before = BlockCounts::of_thread();
    let found: Vec<i64> =
        queue.scan().limit(10).run().unwrap().map(|found| found.unwrap().id().as_i64().unwrap()).collect();
    let expected: Vec<i64> = (from..from + 10).map(|id| id as i64).collect();
    assert_eq!(found, expected);
    (BlockCounts::of_thread() - before).looked_up
}

#[test]
fn the_head_of_a_queue_is_found_among_tombstones() {
    let world = World::new(1);
    let (db, queue) = open(&world);
    let mut text = pressure::Text::new(1, 0);
    let (mut head, mut tail, mut worst) = (0u64, 0u64, 0);
    for _ in 0..pressure::amount(100, 10) {
        for _ in 0..LENGTH {
            queue.insert_one(text.document(tail, 120)).unwrap();
            tail += 1;
        }
        while tail - head > LENGTH {
            queue.delete(head as i64).unwrap();
            head += 1;
        }
        // A background thread would do this work now.
        db.store().run_pending().unwrap();
        worst = first_ten(&queue, head).max(worst);
    }
    println!("{worst} blocks at worst, {head} documents gone");
    assert!(worst <= MOST, "{worst} blocks for ten documents");
    db.wait_for_compaction().unwrap();
    let settled = first_ten(&queue, head);
    assert!(settled <= MOST, "{settled} blocks for ten documents, settled");
    db.compact().run().unwrap();
    let compacted = first_ten(&queue, head);
    println!("{settled} settled, {compacted} compacted");
    assert!(compacted <= MOST_COMPACTED, "{compacted} blocks for ten documents, compacted");
    seed::tally_rare();
}

#[test]
fn deleted_ranges_are_passed_over_whole() {
    let world = World::new(2);
    let (db, queue) = open(&world);
    let mut text = pressure::Text::new(2, 0);
    let count = 40_000u64;
    for id in 0..count {
        queue.insert_one(text.document(id, 120)).unwrap();
    }
    db.wait_for_compaction().unwrap();
    let store = db.store();
    // The tree with the highest id contains the documents of the collection.
    let documents = store.trees().into_iter().map(|(tree, _)| tree).max().unwrap();
    let bounds: Vec<Vec<u8>> = [10, count - 10]
        .iter()
        .map(|id| alluvium_document::key::id_key(&alluvium::Value::from(*id as i64)).unwrap())
        .collect();
    store.delete_range(documents, &bounds[0], &bounds[1], Durability::Sync).unwrap();
    for when in ["in memory", "flushed", "settled"] {
        let before = BlockCounts::of_thread();
        assert_eq!(queue.scan().run().unwrap().filter(|found| found.is_ok()).count(), 20, "{when}");
        let blocks = (BlockCounts::of_thread() - before).looked_up;
        println!("{when}: {blocks} blocks");
        assert!(blocks <= 40, "{when}: {blocks} blocks for twenty documents");
        if when == "in memory" { db.flush().unwrap() } else { db.wait_for_compaction().unwrap() }
    }
    seed::tally_rare();
}
