use crate::item::Fields;
use crate::testing::{Find, Memory, examined};
use alluvium_query::pipeline::RecordRef;
use alluvium_query::plan::Node;

fn memory() -> Memory {
    let document = |n: i64| match n % 10 {
        0 => format!(r#"{{"_id": {n}, "age": {}}}"#, n % 7),
        1 => format!(r#"{{"_id": {n}, "kind": null, "age": {}}}"#, n % 7),
        kind => format!(r#"{{"_id": {n}, "kind": "k{kind}", "age": {}, "tags": [{}, 8]}}"#, n % 7, n % 3),
    };
    let old = |n: i64| format!(r#"{{"_id": {n}, "kind": "k0", "age": 3}}"#);
    let indexes = [r#"{"kind": 1, "age": 1}"#, r#"{"tags": 1}"#];
    Memory::with_old_versions((0..500).map(document), (100..140).map(old), &indexes)
}

fn texts(find: &Find) -> Vec<String> {
    let mut execution = find.execution();
    let mut texts = Vec::new();
    while let Some(item) = execution.next_item().unwrap() {
        assert!(item.fields != Fields::Whole);
        texts.push(item.document.unwrap().to_string());
    }
    texts
}

#[test]
fn an_index_alone_answers_without_stale_entries() {
    let memory = memory();
    for batch_max in [1, 5, 64] {
        memory.conduct().batch_max.set(batch_max);
        let filter = r#"{"kind": {"$gte": "k0", "$lt": "k4"}, "age": {"$ne": 2}}"#;
        let find = memory.find(filter).needs(&["kind", "age"]).hint("kind_1_age_1");
        assert!(matches!(find.plan(), Node::Index(_)), "{:?}", find.plan());
        let texts = texts(&find);
        assert_eq!(texts.len(), memory.matching(filter).len());
        assert!(texts.iter().all(|text| text.contains(r#""kind":"k"#) && text.contains("age")), "{texts:?}");
        let counted = memory.find(filter).needs(&[]).hint("kind_1_age_1");
        assert_eq!(counted.execution().count().unwrap(), memory.matching(filter).len() as u64);
    }
}

#[test]
fn a_count_over_arrays_counts_documents_within_and_beyond_memory() {
    let memory = memory();
    let filter = r#"{"tags": {"$gte": 1}}"#;
    for seen_bytes_max in [0, 200, usize::MAX] {
        let find = memory.find(filter).needs(&[]).hint("tags_1");
        let find = find.with(|request| request.seen_bytes_max = seen_bytes_max);
        assert!(matches!(find.plan(), Node::Index(_)), "{:?}", find.plan());
        assert_eq!(find.execution().count().unwrap(), memory.matching(filter).len() as u64);
    }
}

#[test]
fn distinct_values_pass_over_equal_entries_but_not_over_null() {
    let memory = memory();
    let find = memory.find("{}").needs(&["kind"]).hint("kind_1_age_1").with(|request| request.any_of_equals = true);
    let Node::Index(_) = find.plan() else { panic!("{:?}", find.plan()) };
    let mut texts = texts(&find);
    texts.dedup();
    // In the index, missing values look like null.
    assert_eq!(texts.iter().filter(|text| text.contains("null")).count(), 1, "{texts:?}");
    assert_eq!(texts.iter().filter(|text| text.contains(r#":"k"#)).count(), 8, "{texts:?}");
    let mut execution = find.execution();
    execution.count().unwrap();
    let (keys, _) = examined(&execution.report());
    // Examined are all entries without a value, one null, 40 stale entries, and a few entries of
    // each other value.
    assert!(keys < 50 + 1 + 40 + 9 * 6, "{keys}");
}

#[test]
fn equal_entries_are_passed_once_with_their_number() {
    let memory = memory();
    for (filter, needs, any_of_equals) in [
        ("{}", &["kind"][..], false),
        ("{}", &["kind", "age"], false),
        ("{}", &[], false),
        (r#"{"kind": {"$gte": "k0"}, "age": {"$ne": 2}}"#, &["kind"], false),
        ("{}", &["kind"], true),
    ] {
        let find = memory.find(filter).needs(needs).hint("kind_1_age_1");
        let find = find.with(|request| request.any_of_equals = any_of_equals);
        let mut each = std::collections::BTreeMap::new();
        let mut alone = find.execution();
        while let Some(item) = alone.next_item().unwrap() {
            let mut map = item.document.unwrap_or_default().to_map().unwrap();
            map.entries.retain(|(name, _)| needs.contains(&name.as_str().unwrap()));
            *each.entry(map.to_string()).or_insert(0) += 1;
        }
        let (mut together, mut passed) = (std::collections::BTreeMap::new(), 0);
        let mut execution = find.execution();
        let visited = execution.visit_equals(&mut |record, times| {
            let mut map = match record {
                RecordRef::Row(document) => document.to_map().unwrap(),
                RecordRef::View(_) | RecordRef::Map(_) => panic!("not a row"),
            };
            map.entries.retain(|(name, _)| needs.contains(&name.as_str().unwrap()));
            *together.entry(map.to_string()).or_insert(0) += times;
            passed += 1;
            Ok(())
        });
        visited.unwrap();
        if any_of_equals {
            assert!(together.keys().eq(each.keys()), "{together:?} {each:?}");
            continue;
        }
        assert_eq!(together, each, "{filter} {needs:?}");
        assert_eq!(execution.report().counts.returned, each.values().sum::<u64>());
        assert!(passed < each.values().sum::<u64>() / 2, "{passed}");
    }
}
