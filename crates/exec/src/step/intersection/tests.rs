use crate::testing::{Find, Memory, ids};
use alluvium_query::plan::Node;

const BOTH: &str = r#"{"a": {"$lt": 40}, "b": {"$gte": 20}}"#;

fn memory() -> Memory {
    let document = |n: i64| format!(r#"{{"_id": {n}, "a": [{}, {}], "b": {}}}"#, n % 90, n % 70, n * 13 % 61);
    let old = |n: i64| format!(r#"{{"_id": {n}, "a": 5, "b": 30}}"#);
    Memory::with_old_versions((0..400).map(document), (350..420).map(old), &[r#"{"a": 1}"#, r#"{"b": 1}"#])
}

fn plan(find: &Find, memory: &Memory) -> Node {
    let first = memory.find(r#"{"b": {"$gte": 20}}"#).hint("b_1").scan();
    let second = memory.find(r#"{"a": {"$lt": 40}}"#).hint("a_1").scan();
    assert!(second.multikey && !first.multikey);
    let _ = find;
    let filter = alluvium_query::filter::Filter::parse(&crate::testing::map(BOTH)).unwrap();
    Node::Fetch { input: Box::new(Node::Intersection(vec![first, second])), filter }
}

#[test]
fn an_intersection_finds_each_document_once_within_and_beyond_memory() {
    let memory = memory();
    for batch_max in [1, 7, 64] {
        memory.conduct().batch_max.set(batch_max);
        for seen_bytes_max in [0, 1000, usize::MAX] {
            let find = memory.find(BOTH).with(|request| request.seen_bytes_max = seen_bytes_max);
            let mut found = ids(&mut find.execution_of(&plan(&find, &memory))).unwrap();
            found.sort_unstable();
            assert_eq!(found, memory.matching(BOTH));
        }
    }
}

#[test]
fn the_first_scan_ends_where_memory_does() {
    let memory = memory();
    let find = memory.find(BOTH).with(|request| request.seen_bytes_max = 1000);
    let mut execution = find.execution_of(&plan(&find, &memory));
    execution.count().unwrap();
    let report = execution.report();
    let first = &report.inputs[0].inputs[0].counts;
    // Each key takes 33 to 64 bytes; the entry that did not fit was examined, too.
    assert!((17..=32).contains(&first.keys), "{}", first.keys);
    assert!(report.counts.stale > 0);
}
