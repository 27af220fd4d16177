use crate::testing::{Find, Memory, examined, ids};
use alluvium_query::plan::Node;

const EITHER: &str = r#"{"$or": [{"a": {"$in": [1, 5, 9, 77]}}, {"b": {"$in": [6, 7]}}, {"c": {"$in": [3, 4]}}]}"#;

fn memory() -> Memory {
    let document = |n: i64| {
        let (a, b, c) = (n * 7919 % 300, n * 104_729 % 200, n % 50);
        format!(r#"{{"_id": {n}, "a": {a}, "b": {b}, "c": [{c}, {}], "d": {}}}"#, c + 1, n * 31 % 97)
    };
    Memory::new((0..600).map(document), &[r#"{"a": 1, "d": 1}"#, r#"{"b": 1}"#, r#"{"c": 1}"#, r#"{"c": 1, "d": 1}"#])
}

fn is_union(find: &Find) -> bool {
    fn of(node: &Node) -> bool {
        matches!(node, Node::Union { .. }) || node.inputs().into_iter().any(of)
    }
    of(&find.plan())
}

#[test]
fn each_document_comes_once_within_and_beyond_memory() {
    let memory = memory();
    for batch_max in [1, 3, 64] {
        memory.conduct().batch_max.set(batch_max);
        for seen_bytes_max in [0, 500, usize::MAX] {
            let find = memory.find(EITHER).with(|request| request.seen_bytes_max = seen_bytes_max);
            assert!(is_union(&find));
            assert_eq!(find.sorted_ids(), memory.matching(EITHER));
        }
    }
}

/// Each branch returns its documents in the order of `d`.
const ORDERED: &str = r#"{"$or": [{"c": 3}, {"c": 4}, {"c": 20}]}"#;

fn ordered(memory: &Memory) -> Find {
    memory.find(ORDERED).sort(r#"{"d": 1}"#)
}

/// The plan of a merged union, even if the planner prefers another plan.
fn merged(memory: &Memory) -> Node {
    let branch = |filter: &str| {
        let find = memory.find(filter).sort(r#"{"d": 1}"#).hint("c_1_d_1");
        let plan = find.plan();
        assert!(matches!(plan, Node::Fetch { .. }), "{plan:?}");
        plan
    };
    let inputs = [r#"{"c": 3}"#, r#"{"c": 4}"#, r#"{"c": 20}"#].map(branch).to_vec();
    let sort = alluvium_query::sort::Sort::parse(&crate::testing::map(r#"{"d": 1}"#)).unwrap();
    Node::Union { inputs, merge: sort.parts().to_vec() }
}

#[test]
fn a_merged_union_keeps_the_order_beyond_memory() {
    let memory = memory();
    let plan = merged(&memory);
    let order = |id: &i64| (id * 31 % 97, *id);
    for batch_max in [1, 5, 64] {
        memory.conduct().batch_max.set(batch_max);
        for seen_bytes_max in [0, 300, usize::MAX] {
            let find = ordered(&memory).with(|request| request.seen_bytes_max = seen_bytes_max);
            let mut found = ids(&mut find.execution_of(&plan)).unwrap();
            assert!(found.is_sorted_by_key(|id| id * 31 % 97), "{found:?}");
            let mut expected = memory.matching(ORDERED);
            expected.sort_by_key(order);
            found.sort_by_key(order);
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn a_limited_merge_reads_one_document_ahead_in_each_branch() {
    let memory = memory();
    let plan = Node::Limit { input: Box::new(merged(&memory)), skip: 2, limit: Some(6) };
    let mut execution = ordered(&memory).execution_of(&plan);
    assert_eq!(execution.count().unwrap(), 6);
    let (keys, documents) = examined(&execution.report());
    // There are 8 documents and 3 heads. Documents with both 3 and 4 are read twice.
    let heads = 3;
    assert!(keys == documents && (8 + heads..=16 + heads).contains(&keys), "{keys} {documents}");
}

#[test]
fn a_failed_branch_ends_the_union_after_what_was_found() {
    for merged_too in [false, true] {
        let memory = memory();
        let find = if merged_too { ordered(&memory) } else { memory.find(EITHER) };
        let plan = if merged_too { merged(&memory) } else { find.plan() };
        let all = ids(&mut find.execution_of(&plan)).unwrap();
        memory.conduct().fails_at.set(memory.counters().reads.get() + 40);
        let mut execution = find.execution_of(&plan);
        let mut found = Vec::new();
        let error = loop {
            match execution.next_item() {
                Ok(item) => found.push(crate::testing::id(&item.expect("an error before the end"))),
                Err(error) => break error,
            }
        };
        assert_eq!(error, crate::testing::TestError::Broken);
        assert!(found.len() > 3 && found[..] == all[..found.len()], "{found:?}");
    }
}
