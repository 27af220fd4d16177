use crate::testing::{Memory, TestError, examined, id};

fn memory() -> Memory {
    let document = |n: i64| {
        format!(r#"{{"_id": {n}, "tags": ["a{}", "b{}", "a{}"], "age": {}}}"#, n % 9, n % 5, n % 4, n * 37 % 101)
    };
    Memory::new((0..300).map(document), &[r#"{"tags": 1}"#, r#"{"age": 1}"#, r#"{"tags": 1, "age": 1}"#])
}

const TAGS: &str = r#"{"tags": {"$in": ["a1", "a3", "b2"]}}"#;

#[test]
fn a_document_with_several_entries_comes_once_within_and_beyond_memory() {
    let memory = memory();
    for batch_max in [1, 3, 64] {
        memory.conduct().batch_max.set(batch_max);
        for seen_bytes_max in [0, 700, usize::MAX] {
            for sort in [1, -1] {
                let find = memory.find(TAGS).hint("tags_1").sort(&format!(r#"{{"tags": {sort}}}"#));
                let find = find.with(|request| request.seen_bytes_max = seen_bytes_max);
                assert_eq!(find.sorted_ids(), memory.matching(TAGS));
            }
        }
    }
}

#[test]
fn a_document_that_is_remembered_is_read_once() {
    let memory = memory();
    let mut execution = memory.find(TAGS).hint("tags_1").execution();
    let returned = execution.count().unwrap();
    let (keys, documents) = examined(&execution.report());
    assert!(keys > returned, "some documents have several entries");
    assert_eq!(documents, returned);
}

#[test]
fn stale_entries_are_refuted() {
    let document = |n: i64| format!(r#"{{"_id": {n}, "age": {}}}"#, n % 10);
    let old = |n: i64| format!(r#"{{"_id": {n}, "age": {}}}"#, (n + 5) % 10);
    // The last ten documents no longer exist.
    let memory = Memory::with_old_versions((0..100).map(document), (50..110).map(old), &[r#"{"age": 1}"#]);
    let find = memory.find(r#"{"age": {"$lt": 5}}"#).hint("age_1");
    assert_eq!(find.sorted_ids(), memory.matching(r#"{"age": {"$lt": 5}}"#));
    let mut execution = find.execution();
    execution.count().unwrap();
    assert_eq!(execution.report().counts.stale, 30);
}

#[test]
fn a_limit_requests_no_more_than_it_needs() {
    let memory = memory();
    // A query in the order of an index, with a condition that the entries do not decide.
    let find = memory.find(r#"{"age": {"$gte": 10}, "tags": "b1"}"#).hint("age_1").sort(r#"{"age": 1}"#);
    let all = find.ids().unwrap();
    let needed = |count: usize| {
        let last = all[count - 1] * 37 % 101;
        let position = |n: &i64| (n * 37 % 101, *n);
        (0..300).filter(|n| (10..=last).contains(&(n * 37 % 101)) && position(n) <= position(&all[count - 1])).count()
    };
    for (skip, limit) in [(0, 1), (0, 3), (0, 10), (7, 5), (30, 20)] {
        let find = memory.find(r#"{"age": {"$gte": 10}, "tags": "b1"}"#).hint("age_1").sort(r#"{"age": 1}"#);
        let find = find.skip(skip).limit(limit);
        let (skip, end) = (skip as usize, (skip + limit) as usize);
        assert_eq!(find.ids().unwrap(), all[skip..end]);
        for pulled in [false, true] {
            let mut execution = find.execution();
            if pulled {
                while execution.next_item().unwrap().is_some() {}
            } else {
                execution.count().unwrap();
            }
            let (keys, documents) = examined(&execution.report());
            assert_eq!((keys, documents), (needed(end) as u64, needed(end) as u64));
        }
    }
}

#[test]
fn errors_of_the_source_pass_through_after_what_was_found() {
    for fails_at in 1..40 {
        let memory = memory();
        memory.conduct().fails_at.set(fails_at);
        let mut execution = memory.find(r#"{"age": {"$gte": 0}}"#).hint("age_1").execution();
        let mut found = Vec::new();
        let error = loop {
            match execution.next_item() {
                Ok(item) => found.push(id(&item.expect("an error before the end"))),
                Err(error) => break error,
            }
        };
        assert_eq!(error, TestError::Broken);
        // Batches of 1, 4 and 16: their entries are read first, then their documents.
        let expected = [(1, 0), (2, 0), (6, 1), (10, 5), (26, 5), (42, 21)];
        let whole = expected.windows(2).find(|pair| (pair[0].0 + 1..=pair[1].0).contains(&fails_at));
        let most = whole.map_or(0, |pair| pair[1].1);
        assert!(found.len() as u64 <= fails_at / 2 && found.len() <= most, "{fails_at}: {}", found.len());
        assert!(found.is_sorted_by_key(|n| n * 37 % 101));
    }
}

#[test]
fn entries_outside_the_bounds_are_jumped_over_in_both_directions() {
    let document = |n: i64| format!(r#"{{"_id": {n}, "kind": {}, "age": {}, "size": {}}}"#, n % 20, n % 50, n % 3);
    let memory = Memory::new((0..3000).map(document), &[r#"{"kind": 1, "age": 1, "size": -1}"#]);
    let filter = r#"{"kind": {"$gte": 3, "$lt": 17}, "age": {"$in": [13, 24, 33]}, "size": {"$gte": 1}}"#;
    for batch_max in [1, 4, 64] {
        memory.conduct().batch_max.set(batch_max);
        for sort in [r#"{"kind": 1, "age": 1}"#, r#"{"kind": -1, "age": -1}"#] {
            let find = memory.find(filter).hint("kind_1_age_1_size_-1").sort(sort);
            assert_eq!(find.sorted_ids(), memory.matching(filter));
            let mut execution = find.execution();
            execution.count().unwrap();
            let report = execution.report();
            let (keys, _) = examined(&report);
            // 2100 entries are of these kinds.
            assert!(keys < 1000, "{keys}");
            assert!(report.inputs[0].counts.seeks > 10);
        }
    }
}
