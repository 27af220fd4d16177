use super::Execution;
use crate::limits::Interrupted;
use crate::testing::{Memory, TestError, id, ids};

fn memory() -> Memory {
    Memory::new((0..500).map(|n| format!(r#"{{"_id": {n}, "age": {}}}"#, n % 50)), &[r#"{"age": 1}"#])
}

#[test]
fn a_caller_that_ends_early_has_read_little() {
    let check = |mut execution: Execution<Memory>, memory: &Memory, reads: &[(u64, u64)]| {
        for (number, read) in reads {
            while execution.report().counts.returned < *number {
                execution.next_item().unwrap().unwrap();
            }
            assert_eq!(memory.counters().reads.get(), *read, "for {number} documents");
        }
    };
    let memory = self::memory();
    let scan = memory.find("{}").execution();
    check(scan, &memory, &[(1, 1), (2, 5), (5, 5), (6, 21), (21, 21), (22, 85)]);
    // Reads of entries and documents. At most seven documents are read ahead.
    let memory = self::memory();
    let by_index = memory.find(r#"{"age": {"$gte": 0}}"#).hint("age_1").execution();
    let reads = [(1, 2), (2, 10), (5, 10), (6, 33), (12, 33), (13, 40), (19, 40), (20, 42), (21, 42), (22, 113)];
    check(by_index, &memory, &reads);
}

#[test]
fn documents_before_an_error_are_returned_before_it() {
    let memory = memory();
    memory.conduct().fails_at.set(100);
    let mut execution = memory.find("{}").execution();
    for number in 0..99 {
        assert_eq!(execution.next_item().unwrap().map(|item| id(&item)), Some(number));
    }
    assert_eq!(execution.next_item().unwrap_err(), TestError::Broken);
    assert_eq!(memory.find("{}").execution().count(), Err(TestError::Broken));
}

#[test]
fn a_stopped_execution_returns_nothing_that_was_read_ahead() {
    let memory = memory();
    let mut execution = memory.find("{}").max_time_ms(0).execution();
    for _ in 0..3 {
        execution.next_item().unwrap().unwrap();
    }
    memory.conduct().stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(execution.next_item().unwrap_err(), TestError::Interrupted(Interrupted::Stopped));
}

#[test]
fn items_and_counts_agree_at_the_end() {
    let memory = memory();
    let find = memory.find(r#"{"age": {"$lt": 13}}"#);
    let mut execution = find.execution();
    let found = ids(&mut execution).unwrap();
    assert!(execution.next_item().unwrap().is_none());
    assert_eq!(found.len() as u64, find.execution().count().unwrap());
    assert_eq!(execution.report().counts.returned, found.len() as u64);
}
