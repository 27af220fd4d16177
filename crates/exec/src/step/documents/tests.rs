use crate::testing::{Memory, examined};

fn memory() -> Memory {
    Memory::new((0..200).map(|n| format!(r#"{{"_id": {n}, "age": {}}}"#, n % 8)), &[])
}

#[test]
fn ranges_of_ids_come_in_order_in_both_directions() {
    let memory = memory();
    let filter = r#"{"$or": [{"_id": {"$lt": 20}}, {"_id": {"$gte": 50, "$lt": 80}}], "age": {"$lt": 3}}"#;
    let mut expected = memory.matching(filter);
    for batch_max in [1, 9, 64] {
        memory.conduct().batch_max.set(batch_max);
        for sort in [r#"{"_id": 1}"#, r#"{"_id": -1}"#] {
            assert_eq!(memory.find(filter).sort(sort).ids().unwrap(), expected);
            expected.reverse();
        }
    }
}

#[test]
fn a_scan_with_a_limit_ends_at_the_last_document_it_needs() {
    let memory = memory();
    let find = memory.find(r#"{"age": 7}"#).limit(2);
    let mut execution = find.execution();
    assert_eq!(execution.count().unwrap(), 2);
    assert_eq!(examined(&execution.report()), (0, 16));
}

#[test]
fn lookups_read_existing_documents_only_as_far_as_needed() {
    let memory = memory();
    let filter = r#"{"_id": {"$in": [190, 7, 1000, 3, 15, -1]}, "age": {"$gt": 4}}"#;
    for batch_max in [1, 2, 64] {
        memory.conduct().batch_max.set(batch_max);
        assert_eq!(memory.find(filter).ids().unwrap(), [7, 15, 190]);
    }
    let before = memory.counters().reads.get();
    let mut execution = memory.find(filter).limit(1).execution();
    assert_eq!(execution.count().unwrap(), 1);
    // The document -1 does not exist, and the document 3 does not match.
    assert_eq!((memory.counters().reads.get() - before, examined(&execution.report()).1), (3, 2));
}
