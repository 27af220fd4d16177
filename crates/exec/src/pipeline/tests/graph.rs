//! `$graphLookup` in memory and in files, over random graphs.

use super::*;
use std::collections::BTreeMap;

/// A graph of nodes `{_id, name, to, big}`. `to` is a list of names of nodes.
struct Nodes {
    names: Vec<String>,
    to: Vec<Vec<usize>>,
}

impl Nodes {
    /// A random graph with about the same number of edges for each node, including circles; some edges lead to no node.
    /// Several nodes may have the same name.
    fn random(world: &World, count: usize, edges: usize) -> Self {
        let rng = &world.env().rng;
        let below = |most: usize| (rng.next_u64() % most as u64) as usize;
        let names = (0..count).map(|_| format!("node {}", below(count))).collect();
        let to = (0..count).map(|_| (0..below(2 * edges + 1)).map(|_| below(count + 3)).collect()).collect();
        Self { names, to }
    }

    /// A graph in which each node leads to the next one.
    fn chain(count: usize) -> Self {
        Self { names: (0..count).map(|n| format!("node {n}")).collect(), to: (0..count).map(|n| vec![n + 1]).collect() }
    }

    fn put_into(&self, world: &World) {
        let documents = self.names.iter().zip(&self.to).enumerate().map(|(id, (name, to))| {
            let to: Vec<Value> = to.iter().map(|to| Value::from(format!("node {to}"))).collect();
            let id = id as i32;
            Map::from([("_id", Value::Int32(id)), ("name", Value::from(name.as_str())), ("to", Value::Array(to))])
        });
        *world.0.graph.lock() = documents.collect();
    }

    /// The numbers of steps to all nodes that are reached from a name.
    fn depths(&self, start: usize, depth_max: u64, is_allowed: impl Fn(usize) -> bool) -> BTreeMap<i64, i64> {
        let mut reached = BTreeMap::new();
        let mut next: BTreeSet<String> = BTreeSet::from([format!("node {start}")]);
        let mut seen = next.clone();
        let mut depth = 0;
        while !next.is_empty() && depth as u64 <= depth_max {
            let mut led_to = BTreeSet::new();
            for (id, name) in self.names.iter().enumerate().filter(|(id, _)| is_allowed(*id)) {
                if next.contains(name) && !reached.contains_key(&(id as i64)) {
                    reached.insert(id as i64, depth);
                    led_to.extend(self.to[id].iter().map(|to| format!("node {to}")));
                }
            }
            next = led_to.into_iter().filter(|name| seen.insert(name.clone())).collect();
            depth += 1;
        }
        reached
    }
}

/// The settings of a stage that has this much memory.
fn small(world: &World, bytes: usize, allow_disk_use: bool) -> Settings {
    Settings { allow_disk_use, stage_bytes_max: bytes, ..world.settings() }
}

fn stage(start: usize, options: &str, after: &str) -> String {
    format!(
        r#"[{{"$graphLookup": {{"from": "graph", "startWith": "node {start}", "connectFromField": "to",
            "connectToField": "name", "as": "all", "depthField": "depth"{options}}}}}{after}]"#
    )
}

fn depths_of<'m>(documents: impl IntoIterator<Item = &'m Value>) -> BTreeMap<i64, i64> {
    let mut depths = BTreeMap::new();
    for document in documents {
        let number = |name| document.as_map().and_then(|map| map.get(name)).and_then(Value::as_i64).unwrap();
        assert_eq!(depths.insert(number("_id"), number("depth")), None, "a document is there twice");
    }
    depths
}

#[test]
fn a_search_in_files_reaches_what_a_walk_reaches() {
    let mut spilled = 0;
    for (count, edges, chain) in [(1, 1, false), (30, 1, false), (200, 2, false), (600, 5, false), (40, 1, true)] {
        let world = World::new();
        let nodes = if chain { Nodes::chain(count) } else { Nodes::random(&world, count, edges) };
        nodes.put_into(&world);
        for (options, depth_max, is_even) in [
            ("", u64::MAX, false),
            (r#", "maxDepth": 0"#, 0, false),
            (r#", "maxDepth": 3"#, 3, false),
            (r#", "restrictSearchWithMatch": {"_id": {"$mod": [2, 0]}}"#, u64::MAX, true),
        ] {
            let start = if chain { 0 } else { count / 2 };
            let expected = nodes.depths(start, depth_max, |id| !is_even || id % 2 == 0);
            for bytes in [1, 2000, 20_000, 1 << 20] {
                let settings = small(&world, bytes, true);
                let mut execution = world.run_with(1, &stage(start, options, ""), settings.clone());
                let record = execution.next_record().unwrap().unwrap().into_map().unwrap();
                let found = record.get("all").and_then(Value::as_array).unwrap();
                assert_eq!(depths_of(found), expected, "{count} {edges} {options} {bytes}");
                spilled += usize::from(execution.reports()[0].spilled);
                // The stage returns one document for each element.
                let unwound = stage(start, options, r#", {"$unwind": {"path": "$all", "includeArrayIndex": "at"}}"#);
                let found = all(world.run_with(1, &unwound, settings)).unwrap();
                let elements: Vec<&Value> = found.iter().map(|map| map.get("all").unwrap()).collect();
                assert_eq!(depths_of(elements), expected, "{count} {edges} {options} {bytes}");
                let positions = found.iter().map(|map| map.get("at").and_then(Value::as_i64).unwrap());
                assert!(positions.eq(0..expected.len() as i64), "{count} {edges} {options} {bytes}");
            }
        }
    }
    assert!(spilled > 20, "{spilled}");
}

#[test]
fn an_unwound_search_is_the_array_unwound() {
    let world = World::new();
    Nodes::random(&world, 50, 2).put_into(&world);
    for unwind in [
        r#""$in.all""#,
        r#"{"path": "$in.all", "preserveNullAndEmptyArrays": true}"#,
        r#"{"path": "$in.all", "includeArrayIndex": "at"}"#,
        r#"{"path": "$in.all", "preserveNullAndEmptyArrays": true, "includeArrayIndex": "in.at"}"#,
    ] {
        let of = |between: &str| {
            // Some names lead to no node.
            let start = r#"{"$concat": ["node ", {"$toString": {"$multiply": ["$_id", 10]}}]}"#;
            let stages = format!(
                r#"[{{"$set": {{"in": {{"x": "$_id"}}}}}}, {{"$graphLookup": {{"from": "graph", "startWith": {start},
                    "connectFromField": "to", "connectToField": "name", "as": "in.all"}}}}{between}, {{"$unwind": {unwind}}}]"#
            );
            all(world.run(20, &stages)).unwrap()
        };
        let expected = of(r#", {"$set": {"none": "$$REMOVE"}}"#);
        assert!(expected.len() > 50, "{}", expected.len());
        assert_eq!(of(""), expected, "{unwind}");
    }
}

#[test]
fn a_search_without_files_ends_with_the_name_of_the_stage() {
    let world = World::new();
    Nodes::random(&world, 500, 3).put_into(&world);
    for after in ["", r#", {"$unwind": "$all"}"#] {
        match all(world.run_with(1, &stage(1, "", after), small(&world, 5000, false))) {
            Err(Failure::Pipeline(error)) => {
                assert!(error.to_string().contains("$graphLookup"), "{error}");
                assert_eq!(error.code().number(), 292);
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(world.0.held.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn an_unwound_search_of_any_length_takes_the_memory_of_its_stage() {
    const BYTES: usize = 100_000;
    for nodes in [60, 3000] {
        let world = World::new();
        Nodes::random(&world, nodes, 8).put_into(&world);
        // The stage after `$graphLookup` takes some memory.
        world.0.allowed.store(BYTES + 20_000, Ordering::Relaxed);
        let stages = stage(1, "", r#", {"$unwind": "$all"}, {"$count": "n"}"#);
        let found = all(world.run_with(1, &stages, small(&world, BYTES, true))).unwrap();
        let count = found[0].get("n").and_then(Value::as_i64).unwrap();
        assert!(count > nodes as i64 / 3, "{count}");
        // Keys are in files only if they must be.
        let keys = world.0.filed_keys.load(Ordering::Relaxed);
        assert_eq!((keys > 2 * BYTES / 100, keys > 0), (nodes == 3000, nodes == 3000), "{keys}");
        assert_eq!(world.0.held.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn a_limit_after_an_unwound_search_ends_it() {
    let world = World::new();
    Nodes::chain(1000).put_into(&world);
    let stages = stage(0, "", r#", {"$unwind": "$all"}, {"$limit": 5}"#);
    assert_eq!(all(world.run(1, &stages)).unwrap().len(), 5);
    assert_eq!(world.opened().len(), 5);
}
