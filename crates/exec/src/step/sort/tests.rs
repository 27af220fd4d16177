use crate::item::Fields;
use crate::limits::Interrupted;
use crate::testing::{Memory, TestError};
use alluvium_query::sort::SortError;

fn pets(number: i64) -> Memory {
    let pet = |n: i64| format!(r#"{{"_id": {n}, "age": {}, "kind": "k{}", "name": "pet {n}"}}"#, n * 7919 % 101, n % 3);
    Memory::new((0..number).map(pet), &[r#"{"kind": 1, "age": 1}"#])
}

#[test]
fn a_spilled_sort_equals_one_in_memory() {
    for hint in ["$natural", "kind_1_age_1"] {
        let memory = pets(2000);
        let find = || {
            let find = memory.find(r#"{"kind": {"$gte": "k1"}}"#).sort(r#"{"age": -1}"#);
            if hint == "$natural" { find } else { find.hint(hint) }
        };
        let in_memory = find().ids().unwrap();
        assert_eq!(memory.counters().spilled.get(), 0);
        let spilled = find().with(|request| request.sort_bytes_max = 10_000).ids().unwrap();
        assert_eq!(memory.counters().spilled.get(), spilled.len() as u64);
        assert_eq!(spilled, in_memory);
        assert_eq!(spilled.len(), memory.matching(r#"{"kind": {"$gte": "k1"}}"#).len());
    }
}

#[test]
fn values_without_documents_are_spilled_too() {
    let memory = pets(500);
    let find = || memory.find(r#"{"kind": "k1"}"#).needs(&["age", "kind"]).sort(r#"{"kind": 1, "_id": -1}"#);
    let items = |find: crate::testing::Find| {
        let mut execution = find.hint("kind_1_age_1").execution();
        let mut items = Vec::new();
        while let Some(item) = execution.next_item().unwrap() {
            items.push((
                execution.key_of(&item).map(|key| key.to_vec()),
                item.fields,
                item.document.unwrap().to_string(),
            ));
        }
        items
    };
    let in_memory = items(find());
    assert!(
        in_memory
            .iter()
            .all(|(_, fields, text)| *fields == Fields::Some && text.contains("age") && !text.contains("name"))
    );
    assert_eq!(items(find().with(|request| request.sort_bytes_max = 3000)), in_memory);
    assert!(memory.counters().spilled.get() > 0);
}

#[test]
fn documents_with_the_needed_fields_alone_are_sorted_as_whole_ones() {
    let padding = "x".repeat(200);
    let pet = |n: i64| {
        let age = n * 7919 % 101;
        format!(r#"{{"_id": {n}, "kind": "k{}", "text": "{padding}", "bred": {{"by": {n}}}, "age": {age}}}"#, n % 3)
    };
    let memory = Memory::new((0..500).map(pet), &[]);
    let find = || memory.find("{}").needs(&["kind", "bred.by"]).sort(r#"{"age": -1}"#);
    let rows = |find: crate::testing::Find| {
        let mut execution = find.execution();
        let mut rows = Vec::new();
        while let Some(item) = execution.next_item().unwrap() {
            let key = execution.key_of(&item).unwrap();
            let document = item.document.unwrap();
            assert_eq!(
                key[..],
                alluvium_document::key::id_key(document.id()).unwrap()[..],
                "writers find it by its key"
            );
            rows.push((item.fields, document.to_string()));
        }
        rows
    };
    let ids: Vec<i64> = {
        let mut ids: Vec<i64> = (0..500).collect();
        ids.sort_by_key(|n| (-(n * 7919 % 101), *n));
        ids
    };
    let row = |n: &i64| (Fields::Some, format!(r#"{{"_id":{n},"kind":"k{}","bred":{{"by":{n}}}}}"#, n % 3));
    let expected: Vec<_> = ids.iter().map(row).collect();
    assert_eq!(rows(find()), expected, "in memory");
    assert_eq!(rows(find().limit(7)), expected[..7], "the first ones");
    // The memory limit is reached at different places of a batch.
    for (n, bytes) in (3000..=30_000).step_by(150).enumerate() {
        assert_eq!(rows(find().with(|request| request.sort_bytes_max = bytes)), expected, "in files from {bytes} on");
        assert_eq!(memory.counters().spilled.get(), 500 * (n as u64 + 1));
    }
}

#[test]
fn memory_is_counted_and_limited() {
    let memory = pets(500);
    let find = || memory.find("{}").sort(r#"{"age": 1}"#).with(|request| request.sort_bytes_max = 20_000);
    let refused = find().with(|request| request.allow_disk_use = false).ids();
    assert!(matches!(refused, Err(TestError::Sort(SortError::Memory { limit: 20_000 }))), "{refused:?}");
    // The first few documents fit into memory, however many documents are sorted.
    let first = find().with(|request| request.allow_disk_use = false).limit(5).ids().unwrap();
    assert_eq!(first, find().ids().unwrap()[..5]);
    assert!(memory.counters().memory_max.get() >= 20_000);
    assert_eq!(memory.counters().memory.get(), 0);
}

#[test]
fn a_stop_flag_ends_a_long_sort() {
    for sort_bytes_max in [usize::MAX, 5000] {
        let memory = pets(5000);
        memory.conduct().stops_at.set(700);
        let find = memory.find("{}").sort(r#"{"age": 1}"#).max_time_ms(0);
        let stopped = find.with(|request| request.sort_bytes_max = sort_bytes_max).ids();
        assert_eq!(stopped, Err(TestError::Interrupted(Interrupted::Stopped)));
        assert_eq!(memory.counters().reads.get(), 700);
    }
}

#[test]
fn a_time_limit_ends_a_long_sort() {
    let memory = pets(5000);
    memory.conduct().read_ms.set(1);
    let expired = memory.find("{}").sort(r#"{"age": 1}"#).max_time_ms(300).ids();
    assert_eq!(expired, Err(TestError::Interrupted(Interrupted::MaxTimeExpired { limit_ms: 300 })));
    assert!((300..500).contains(&memory.counters().reads.get()));
}
