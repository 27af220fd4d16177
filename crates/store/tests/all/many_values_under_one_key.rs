//! Multivalue trees return values sorted, in both directions, from any number of streams at once, each at its own
//! snapshot, with an estimate of their number.

use alluvium_env::Env;
use alluvium_store::{Durability, Multivalue, Options, Store, TreeId, ValuesOf};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn open(env: &Env) -> Store {
    let options = Options { memory_bytes: 8 << 20, partitions: Some(3), ..Options::default() };
    Store::open(env.clone(), Path::new("db"), options).unwrap()
}

fn read(values: &Multivalue<'_>, wanted: ValuesOf<'_>) -> Vec<Vec<u8>> {
    let mut stream = values.values(wanted).unwrap();
    let mut found = Vec::new();
    while let Some(value) = stream.next().unwrap() {
        found.push(value.to_vec());
    }
    found
}

type Model = BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>;

fn check(store: &Store, tree: TreeId, model: &Model) {
    let values = store.multivalue(tree).unwrap();
    for (key, expected) in model {
        let forward: Vec<Vec<u8>> = expected.iter().cloned().collect();
        assert_eq!(read(&values, ValuesOf::key(key)), forward, "{key:?}");
        let mut back = read(&values, ValuesOf::key(key).reverse());
        back.reverse();
        assert_eq!(back, forward, "{key:?} backward");
        for value in expected.iter().take(3) {
            assert!(values.contains(key, value).unwrap());
            let from = read(&values, ValuesOf::key(key).from(value));
            assert_eq!(from, expected.range(value.clone()..).cloned().collect::<Vec<_>>());
            let below = read(&values, ValuesOf::key(key).below(value).reverse());
            assert_eq!(below, expected.range(..value.clone()).rev().cloned().collect::<Vec<_>>());
        }
        assert!(!values.contains(key, b"never a value").unwrap());
    }
    let mut keys = values.keys(None).unwrap();
    let mut found = Vec::new();
    while let Some(key) = keys.next().unwrap() {
        found.push(key.to_vec());
    }
    let expected: Vec<_> = model.iter().filter(|(_, values)| !values.is_empty()).map(|(key, _)| key.clone()).collect();
    assert_eq!(found, expected);
}

#[test]
fn values_match_a_map_of_sets() {
    let env = Env::in_memory(21);
    let store = open(&env);
    let tree = store.create_multivalue_tree(b"ids").unwrap();
    // Some keys are prefixes of others, or contain zeros and end marks.
    let keys: Vec<Vec<u8>> = [b"".as_slice(), b"a", b"a\0", b"a\0\x01", b"a\0\x02", b"a\0\xff", b"ab", b"\xff\xff"]
        .iter()
        .map(|key| key.to_vec())
        .collect();
    let mut model: Model = keys.iter().map(|key| (key.clone(), BTreeSet::new())).collect();
    let mut random = fastrand::Rng::with_seed(3);
    for round in 0..6 {
        let mut batch = store.batch();
        for _ in 0..3000 {
            let key = random.choice(&keys).unwrap();
            let value: Vec<u8> = (0..random.usize(0..4)).map(|_| random.choice([0u8, 1, 2, 255]).unwrap()).collect();
            let set = model.get_mut(key).unwrap();
            if random.u8(0..3) == 0 {
                batch.delete_value(tree, key, &value);
                set.remove(&value);
            } else {
                batch.put_value(tree, key, &value);
                set.insert(value);
            }
        }
        store.write(batch, Durability::Periodic).unwrap();
        check(&store, tree, &model);
        match round {
            1 | 3 => store.flush().unwrap(),
            4 => store.compact().unwrap(),
            _ => {}
        }
        check(&store, tree, &model);
    }
    drop(store);
    let store = open(&env);
    check(&store, tree, &model);
    store.drop_trees(&[tree]).unwrap();
    assert!(store.multivalue(tree).is_err());
    let plain = store.create_trees(&[b"plain"]).unwrap()[0];
    assert!(store.multivalue(plain).is_err(), "an ordinary tree");
}

#[test]
fn streams_are_independent_and_of_their_moment() {
    let env = Env::in_memory(22);
    let store = open(&env);
    let tree = store.create_multivalue_tree(b"ids").unwrap();
    let values = store.multivalue(tree).unwrap();
    for n in 0..100u8 {
        values.put(b"even", &[n * 2], Durability::Periodic).unwrap();
        values.put(b"odd", &[n * 2 + 1], Durability::Periodic).unwrap();
    }
    let before = store.snapshot();
    let mut even = values.values(ValuesOf::key(b"even")).unwrap();
    let mut odd = values.values(ValuesOf::key(b"odd").reverse()).unwrap();
    for n in 0..100u8 {
        assert_eq!(even.next().unwrap(), Some([n * 2].as_slice()));
        assert_eq!(odd.next().unwrap(), Some([199 - n * 2].as_slice()));
        values.delete(b"even", &[n * 2], Durability::Periodic).unwrap();
    }
    assert_eq!((even.next().unwrap(), odd.next().unwrap()), (None, None));
    assert_eq!(read(&values, ValuesOf::key(b"even")).len(), 0);
    store.flush().unwrap();
    assert_eq!(read(&values, ValuesOf::key(b"even").at(&before)).len(), 100);
}

#[test]
fn a_length_is_estimated_among_keys_that_are_packed_otherwise() {
    let env = Env::in_memory(24);
    let store = open(&env);
    let tree = store.create_multivalue_tree(b"ids").unwrap();
    let mut batch = store.batch();
    for n in 0..20_000u32 {
        let name = format!("{:08x} of some length", n.wrapping_mul(2_654_435_761));
        batch.put_value(tree, name.as_bytes(), &n.to_be_bytes());
    }
    for n in 0..4000u32 {
        batch.put_value(tree, b"80000000 with many", &(n * 5).to_be_bytes());
    }
    store.write(batch, Durability::Periodic).unwrap();
    store.compact().unwrap();
    let estimate = store.multivalue(tree).unwrap().estimate(b"80000000 with many").unwrap();
    assert!((3600..4400).contains(&estimate), "{estimate}");
}

#[test]
fn lengths_are_estimated_without_reading_the_values() {
    let env = Env::in_memory(23);
    let store = open(&env);
    let tree = store.create_multivalue_tree(b"ids").unwrap();
    let values = store.multivalue(tree).unwrap();
    let sizes: [(&[u8], u32); 4] = [(b"one", 1), (b"some", 20), (b"many", 20_000), (b"most", 200_000)];
    for (key, count) in sizes {
        for start in (0..count).step_by(2000) {
            let mut batch = store.batch();
            for n in start..count.min(start + 2000) {
                batch.put_value(tree, key, &n.wrapping_mul(2_654_435_761).to_be_bytes());
            }
            store.write(batch, Durability::Periodic).unwrap();
        }
    }
    for step in ["loaded", "flushed", "compacted"] {
        match step {
            "flushed" => store.flush().unwrap(),
            "compacted" => store.compact().unwrap(),
            _ => {}
        }
        for (key, count) in sizes {
            let estimate = values.values(ValuesOf::key(key)).unwrap().estimate();
            let near = (u64::from(count) * 8 / 10)..=(u64::from(count) * 12 / 10);
            // While many of the values are in memory, only the first few thousand of these are counted.
            let lower = if step == "loaded" { u64::from(count.min(2000)) } else { *near.start() };
            assert!((lower..=*near.end()).contains(&estimate), "{step}: {count} values, estimated {estimate}");
        }
        assert_eq!(values.estimate(b"none").unwrap(), 0, "{step}");
    }
    assert_eq!(read(&values, ValuesOf::key(b"many")).len(), 20_000);
}
