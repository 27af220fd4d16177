//! Every plan finds the documents that match the filter, in the order that the plan promises. The test executes the
//! steps of the plan on the entries that the documents yield.

use crate::common;
use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::common::rules::{RULES, respelled, rules, with_rules};
use crate::common::{arbitrary, computed, filters, focused, nested};
use alluvium_document::compare::compare;
use alluvium_document::path::FieldPath;
use alluvium_document::{Binary, Map, Value, key};
use alluvium_query::collation::Collation as Rules;
use alluvium_query::expression::Variables;
use alluvium_query::filter::Filter;
use alluvium_query::index::{Definition, MAX_PART_BYTES};
use alluvium_query::plan::{Collection, Hint, Index, IndexScan, Needs, Node, Place, Query, plan};
use alluvium_query::sort::{Direction, SortPart};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// The documents and indexes on which plans are executed.
#[derive(Debug, Clone)]
struct World {
    documents: Vec<Map>,
    indexes: Vec<Definition>,
}

/// The result of a step: the positions of documents or, for a scan that needs no documents, the values of entries.
type Found = Vec<(usize, Option<Map>)>;

impl World {
    /// The parts that lead through arrays, and the parts with cut keys, as bits.
    fn marks(&self, index: &Definition) -> (u32, u32) {
        let keys = self.documents.iter().map(|document| index.keys(document).unwrap());
        keys.fold((0, 0), |(multikey, cut), keys| (multikey | keys.multikey, cut | keys.cut))
    }

    fn index(&self, name: &str) -> &Definition {
        self.indexes.iter().find(|index| index.name() == name).unwrap()
    }

    /// The documents of the entries that a scan finds, in its order.
    fn entries(&self, scan: &IndexScan) -> Found {
        let index = self.index(&scan.index);
        let ranges = scan.ranges();
        assert!(ranges.windows(2).all(|two| two[0].to.as_ref().is_some_and(|to| *to <= two[1].from)), "{ranges:?}");
        let mut met = Vec::new();
        for (at, document) in self.documents.iter().enumerate() {
            for found in index.keys(document).unwrap().keys {
                let mut entry = found.bytes.clone();
                key::encode(document.get("_id").unwrap(), &mut entry);
                let inside = ranges.iter().any(|range| range.contains(&entry));
                if inside && scan.admits(&entry) {
                    assert!(scan.admits(&found.bytes));
                    met.push((entry, at, index.values(&found.bytes, &found.values).unwrap()));
                }
            }
        }
        met.sort_by(|a, b| a.0.cmp(&b.0));
        if scan.backward {
            met.reverse();
        }
        let met_by_jumps = self.entries_by_jumps(scan);
        assert!(met.iter().map(|(entry, ..)| entry).eq(met_by_jumps.iter()), "{scan:?}: {met:?} {met_by_jumps:?}");
        let found = met.into_iter().filter_map(|(_, at, values)| match &scan.covered {
            None => scan.keys.matches_map(&scan.document(&values)).unwrap().then_some((at, None)),
            Some(filter) => {
                let mut values = scan.document(&values);
                values.push("_id", self.documents[at].get("_id").unwrap().clone());
                filter.matches_map(&values).unwrap().then_some((at, Some(values)))
            }
        });
        once(found.collect())
    }

    /// The entries that a reader finds without knowing the ranges. From each entry outside the ranges it continues at
    /// the key that the scan returns.
    fn entries_by_jumps(&self, scan: &IndexScan) -> Vec<Vec<u8>> {
        let index = self.index(&scan.index);
        let mut entries = Vec::new();
        for document in &self.documents {
            for mut key in index.keys(document).unwrap().keys {
                key::encode(document.get("_id").unwrap(), &mut key.bytes);
                entries.push(key.bytes);
            }
        }
        entries.sort();
        if scan.backward {
            entries.reverse();
        }
        let (mut met, mut at) = (Vec::new(), 0);
        while let Some(entry) = entries.get(at) {
            let lies_before = |to: &Vec<u8>, other: &Vec<u8>| if scan.backward { other >= to } else { other < to };
            at += 1;
            match scan.place(entry) {
                Place::Within => met.push(entry.clone()),
                Place::Outside(to) => {
                    assert!(lies_before(&to, entry), "{to:?} is no way ahead of {entry:?}");
                    at += entries[at..].iter().take_while(|other| lies_before(&to, other)).count();
                }
                Place::End => break,
            }
        }
        met
    }

    fn run(&self, node: &Node) -> Found {
        let keep = |found: Found, filter: &Filter| -> Found {
            found.into_iter().filter(|(at, _)| filter.matches_map(&self.documents[*at]).unwrap()).collect()
        };
        let id = |at: usize| self.documents[at].get("_id").unwrap();
        match node {
            Node::Nothing => Vec::new(),
            Node::Scan { ids, backward, filter } => {
                let mut all: Found = (0..self.documents.len()).map(|at| (at, None)).collect();
                all.retain(|(at, _)| ids.iter().any(|interval| interval.contains(id(*at))));
                all.sort_by(|a, b| compare(id(a.0), id(b.0)));
                if *backward {
                    all.reverse();
                }
                keep(all, filter)
            }
            Node::Lookup { ids, filter } => {
                let at = |wanted: &Value| (0..self.documents.len()).find(|at| compare(id(*at), wanted).is_eq());
                keep(ids.iter().filter_map(|wanted| at(wanted).map(|at| (at, None))).collect(), filter)
            }
            Node::Index(scan) => self.entries(scan),
            Node::Fetch { input, filter } => keep(self.run(input), filter),
            Node::Union { inputs, merge } => {
                let inputs: Vec<Found> = inputs.iter().map(|input| self.run(input)).collect();
                inputs.iter().for_each(|input| self.check_order(input, merge));
                let mut all = once(inputs.into_iter().flatten().collect());
                all.sort_by(|a, b| self.compare(a.0, b.0, merge));
                all
            }
            Node::Intersection(scans) => {
                let sets: Vec<BTreeSet<usize>> =
                    scans.iter().map(|scan| self.entries(scan).into_iter().map(|(at, _)| at).collect()).collect();
                sets[0].iter().filter(|at| sets.iter().all(|set| set.contains(at))).map(|at| (*at, None)).collect()
            }
            Node::Sort { input, by, first } => {
                let mut all = self.run(input);
                all.sort_by(|a, b| self.compare(a.0, b.0, by));
                all.truncate(first.map_or(usize::MAX, |first| first as usize));
                all
            }
            Node::Limit { input, skip, limit } => {
                let all = self.run(input).into_iter().skip(*skip as usize);
                all.take(limit.map_or(usize::MAX, |limit| limit as usize)).collect()
            }
        }
    }

    /// Compares by the least value at the path, or by the greatest for descending parts, as MongoDB sorts.
    fn compare(&self, a: usize, b: usize, by: &[SortPart]) -> Ordering {
        let value = |at: usize, part: &SortPart| {
            let document = Value::Map(self.documents[at].clone());
            let mut found = Vec::new();
            let mut visit = |value: &Value| match value {
                Value::Array(elements) if elements.is_empty() => found.push(Value::Undefined),
                Value::Array(elements) => found.extend(elements.iter().cloned()),
                value => found.push(value.clone()),
            };
            if part.path.visit(&document, &mut |value| visit(value)) == 0 {
                found.push(Value::Null);
            }
            let all = found.into_iter();
            let order = |a: &Value, b: &Value| ordered(part, a, b);
            if part.is_descending() { all.max_by(order) } else { all.min_by(order) }.unwrap()
        };
        let one = |part: &SortPart| {
            let order = ordered(part, &value(a, part), &value(b, part));
            if part.is_descending() { order.reverse() } else { order }
        };
        by.iter().map(one).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    fn check_order(&self, found: &Found, by: &[SortPart]) {
        assert!(found.windows(2).all(|two| self.compare(two[0].0, two[1].0, by).is_le()), "not in order: {found:?}");
    }
}

/// Compares values by the collation of a part.
fn ordered(part: &SortPart, a: &Value, b: &Value) -> Ordering {
    part.collation.as_ref().map_or_else(|| compare(a, b), |rules| rules.compare_values(a, b))
}

fn once(found: Found) -> Found {
    let mut seen = BTreeSet::new();
    found.into_iter().filter(|(at, _)| seen.insert(*at)).collect()
}

fn check(world: &World, map: &Map, sort: &[SortPart], counts: &[u64], needs: Needs<'_>, limit: Option<u64>) {
    check_collated(world, map, sort, counts, needs, limit, None);
}

fn check_collated(
    world: &World,
    map: &Map,
    sort: &[SortPart],
    counts: &[u64],
    needs: Needs<'_>,
    limit: Option<u64>,
    rules: Option<&Rules>,
) {
    let filter = Filter::parse_in(map, &Variables::NONE.collated(rules.cloned())).unwrap();
    let sort: Vec<SortPart> = sort.iter().map(|part| SortPart { collation: rules.cloned(), ..part.clone() }).collect();
    let sort = &sort[..];
    let infos: Vec<Index<'_>> = world
        .indexes
        .iter()
        .zip(counts)
        .map(|(definition, count)| {
            let (multikey, cut) = world.marks(definition);
            Index { definition, multikey, cut, entries: 1000, distinct: std::slice::from_ref(count), bytes: 1 << 20 }
        })
        .collect();
    let collection = Collection {
        documents: 1000,
        bytes: 1 << 20,
        partitions: 1,
        natural_ids: true,
        indexes: &infos,
        estimator: None,
    };
    let expected: BTreeSet<usize> =
        (0..world.documents.len()).filter(|at| filter.matches_map(&world.documents[*at]).unwrap()).collect();
    let names = world.indexes.iter().map(|index| Some(Hint::Name(index.name())));
    let ways = [None, Some(Hint::Name("_id_")), Some(Hint::Natural { backward: true })];
    for hint in names.chain(ways) {
        let query = Query { filter: &filter, sort, needs, skip: 0, limit, hint };
        let plan = plan(&query, &collection).unwrap();
        plan.to_map();
        // A hint is obeyed even if the index lacks documents that match.
        let all = &expected;
        let lacks = |at: &usize| match query.hint {
            Some(Hint::Name(name)) if name != "_id_" => {
                world.index(name).keys(&world.documents[*at]).unwrap().keys.is_empty()
            }
            _ => false,
        };
        let expected: BTreeSet<usize> = all.iter().copied().filter(|at| !lacks(at)).collect();
        let found = world.run(&plan.root);
        let positions: BTreeSet<usize> = found.iter().map(|(at, _)| *at).collect();
        assert_eq!(positions.len(), found.len(), "twice: {filter}\n{plan}");
        match limit {
            None => assert_eq!(positions, expected, "{filter}\n{plan}\n{:?}", world.documents),
            Some(limit) => {
                assert_eq!(positions.len(), expected.len().min(limit as usize), "{filter}\n{plan}");
                assert!(positions.is_subset(&expected), "{filter}\n{plan}");
                let mut all: Vec<usize> = expected.iter().copied().collect();
                all.sort_by(|a, b| world.compare(*a, *b, sort));
                for (first, (at, _)) in all.iter().zip(&found) {
                    assert!(world.compare(*first, *at, sort).is_eq(), "{filter}\n{plan}");
                }
            }
        }
        world.check_order(&found, sort);
        if let Needs::Paths(paths) = needs {
            for (at, told) in found.iter().filter_map(|(at, told)| told.as_ref().map(|told| (*at, told))) {
                for path in paths {
                    assert_eq!(path.get_in(told), path.get_in(&world.documents[at]), "{filter}\n{plan}");
                }
            }
        }
    }
}

/// Index keys of any kind.
fn keys() -> impl Strategy<Value = Vec<&'static str>> {
    let path = select(vec!["a", "b", "c", "a.b", "a.c", "b.a", "a.b.c", "a.0", "a.0.b", "_id"]);
    vec(path, 1..4)
}

/// Index keys of which some lead through the same array.
fn keys_through_arrays() -> impl Strategy<Value = Vec<&'static str>> {
    select(vec![
        vec!["a.b", "a.c"],
        vec!["a.c", "a.b", "b"],
        vec!["a.b", "b", "a.c"],
        vec!["a", "b"],
        vec!["a", "a.b"],
        vec!["b", "a.b"],
        vec!["a.b"],
        vec!["a"],
        vec!["a.0"],
        vec!["a.0.b", "a.c"],
        vec!["b", "c"],
    ])
}

/// Index keys through arrays in arrays, by position and through all elements.
fn keys_by_positions() -> impl Strategy<Value = Vec<&'static str>> {
    let path = select(vec!["a", "b", "a.b", "a.0", "a.1", "a.0.b", "a.0.0", "a.b.0", "a.0.b.0", "a.0.1", "_id"]);
    vec(path, 1..4)
}

fn keys_of_one_field() -> impl Strategy<Value = Vec<&'static str>> {
    select(vec![vec!["a"], vec!["a"], vec!["a.b"], vec!["a.0"], vec!["a.0.b"], vec!["a", "a.b"]])
}

fn index(keys: impl Strategy<Value = Vec<&'static str>>) -> impl Strategy<Value = Definition> {
    let order = select(vec![Value::from(1), Value::from(-1)]);
    let partial = select(vec![
        None,
        None,
        None,
        Some(r#"{"a":{"$exists":true}}"#),
        Some(r#"{"a":{"$gte":0}}"#),
        Some(r#"{"$or":[{"a":{"$lt":2}},{"b":null}]}"#),
        Some(r#"{"a":{"$type":"array"}}"#),
        Some(r#"{"a":{"$gte":"B"}}"#),
    ]);
    let shape = (keys, vec(order, 3), any::<bool>(), partial, 0..6);
    shape.prop_filter_map("no index", |(paths, orders, sparse, partial, hashed)| {
        let mut keys = Map::new();
        paths.into_iter().zip(orders).for_each(|(path, order)| drop(keys.insert(path, order)));
        if hashed == 0 {
            keys.entries[0].1 = Value::from("hashed");
        }
        let mut options = Map::new();
        match partial {
            Some(partial) => options.push("partialFilterExpression", common::map_of(partial)),
            None => options.push("sparse", sparse),
        }
        Definition::parse(&keys, &options).ok()
    })
}

fn world(
    documents: impl Strategy<Value = Map>,
    index: impl Strategy<Value = Definition>,
) -> impl Strategy<Value = World> {
    (vec(documents, 1..8), vec(index, 1..4)).prop_map(|(mut documents, mut indexes)| {
        for (at, document) in documents.iter_mut().enumerate() {
            document.insert("_id", at as i32);
        }
        indexes.sort_by(|a, b| a.name().cmp(b.name()));
        indexes.dedup_by(|a, b| a.name() == b.name());
        // A document that cannot be indexed is left out.
        documents.retain(|document| indexes.iter().all(|index| index.keys(document).is_ok()));
        World { documents, indexes }
    })
}

fn sort() -> impl Strategy<Value = Vec<SortPart>> {
    let path = select(vec!["a", "b", "c", "a.b", "_id"]);
    vec((path, any::<bool>()), 0..3).prop_map(|parts| {
        let mut sort: Vec<SortPart> = Vec::new();
        for (path, descending) in parts {
            let path: FieldPath = path.parse().unwrap();
            if sort.iter().all(|part| part.path != path) {
                let direction = if descending { Direction::Descending } else { Direction::Ascending };
                sort.push(SortPart { path, direction, collation: None });
            }
        }
        sort
    })
}

fn sort_of_one_field() -> impl Strategy<Value = Vec<SortPart>> {
    let part = (select(vec!["a", "a", "a.b"]), select(vec![Direction::Ascending, Direction::Descending]));
    let part = part.prop_map(|(path, direction)| SortPart { path: path.parse().unwrap(), direction, collation: None });
    prop::option::of(part).prop_map(|part| part.into_iter().collect())
}

fn needs() -> impl Strategy<Value = Option<Vec<FieldPath>>> {
    let path = select(vec!["a", "b", "c", "a.b", "_id"]);
    prop::option::of(vec(path, 0..3).prop_map(|paths| paths.into_iter().map(|path| path.parse().unwrap()).collect()))
}

/// Values whose keys are just within the limit, just beyond it, or far beyond it with the same
/// first bytes; and also short values.
fn long_value() -> impl Strategy<Value = Value> {
    let text = |len: usize, end: &str| Value::from("k".repeat(len) + end);
    // Three bytes are taken by the rank of the type and the two bytes at the end.
    let most = MAX_PART_BYTES - 3;
    let bytes = |last| Value::Binary(Binary { subtype: 0, bytes: [vec![7; MAX_PART_BYTES], vec![last]].concat() });
    select(vec![
        Value::from(1),
        Value::Null,
        Value::from("a"),
        Value::from("k"),
        Value::from("z"),
        text(most - 1, ""),
        text(most, ""),
        text(most, "\0"),
        text(most, "a"),
        text(most, "kk"),
        text(most, "kka"),
        text(most, "kkb"),
        text(most, "kkc"),
        text(most, "kkd"),
        text(most, "kke"),
        text(most, "kkz"),
        text(most, "z"),
        bytes(1),
        bytes(2),
        Value::Map(Map::from([("b", text(most, "kkc"))])),
        Value::Map(Map::from([("b", text(most, "kkd"))])),
    ])
}

fn long_document() -> impl Strategy<Value = Map> {
    let field = || prop_oneof![12 => long_value(), 1 => vec(long_value(), 0..3).prop_map(Value::Array)];
    let nested = vec(long_value(), 1..3)
        .prop_map(|all| Value::Array(all.into_iter().map(|value| Value::Map(Map::from([("b", value)]))).collect()));
    (prop_oneof![12 => field(), 1 => nested], prop::option::of(field()), prop::option::of(0..3i32)).prop_map(
        |(a, b, c)| {
            let mut map = Map::from([("a", a)]);
            b.into_iter().for_each(|b| map.push("b", b));
            c.into_iter().for_each(|c| map.push("c", c));
            map
        },
    )
}

fn long_keys() -> impl Strategy<Value = Vec<&'static str>> {
    select(vec![
        vec!["a"],
        vec!["a"],
        vec!["a", "b"],
        vec!["b", "a"],
        vec!["c", "a"],
        vec!["a", "c"],
        vec!["a.b"],
        vec!["a.b", "c"],
    ])
}

fn long_filter() -> impl Strategy<Value = Map> {
    let test = prop_oneof![
        (select(vec!["$eq", "$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), long_value())
            .prop_map(|(operator, value)| Map::from([(operator, value)])),
        (long_value(), long_value()).prop_map(|(low, high)| Map::from([("$gte", low), ("$lt", high)])),
        (select(vec!["$in", "$nin", "$all"]), vec(long_value(), 0..4))
            .prop_map(|(operator, values)| Map::from([(operator, Value::Array(values))])),
        long_value().prop_map(|value| Map::from([("$not", Value::Map(Map::from([("$gt", value)])))])),
        long_value().prop_map(|value| Map::from([("$elemMatch", Value::Map(Map::from([("$lte", value)])))])),
        Just(Map::from([("$regex", Value::from(format!("^{}", "k".repeat(MAX_PART_BYTES))))])),
    ];
    let one = (select(vec!["a", "a", "b", "a.b", "c"]), test).prop_map(|(path, test)| (path, Value::Map(test)));
    let all = vec(one.clone(), 0..3).prop_map(|all| {
        let mut map = Map::new();
        all.into_iter().for_each(|(path, test)| drop(map.insert(path, test)));
        map
    });
    let or = vec(one, 1..4).prop_map(|all| {
        let branches = all.into_iter().map(|(path, test)| Value::Map(Map::from([(path, test)])));
        Map::from([("$or", Value::Array(branches.collect()))])
    });
    prop_oneof![3 => all, 1 => or]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn every_way_finds_what_a_collation_matches(
        world in prop_oneof![
            world(arbitrary::document(), index(keys())).boxed(),
            world(long_document(), index(long_keys())).boxed(),
        ],
        filter in prop_oneof![filters::filter().boxed(), long_filter().boxed()],
        sort in prop_oneof![sort(), sort_of_one_field()],
        counts in vec(1u64..2000, 4),
        needs in needs(),
        limit in prop::option::of(0u64..4),
        of_indexes in vec(0..RULES.len(), 4),
        of_query in 0..RULES.len(),
        mut bits: u64,
    ) {
        let mut world = world;
        world.documents.iter_mut().for_each(|document| *document = respelled(document, &mut bits));
        let indexes = world.indexes.iter().zip(&of_indexes);
        world.indexes = indexes.map(|(index, at)| with_rules(index, *at)).collect();
        let World { documents, indexes } = &mut world;
        documents.retain(|document| indexes.iter().all(|index| index.keys(document).is_ok()));
        let filter = respelled(&filter, &mut bits);
        let needs = needs.as_deref().map_or(Needs::Documents, Needs::Paths);
        let rules = rules(of_query);
        check_collated(&world, &filter, &sort, &counts, needs, limit, rules.as_ref());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn every_way_finds_long_values(
        world in world(long_document(), index(long_keys())),
        filter in long_filter(),
        sort in prop_oneof![sort(), sort_of_one_field()],
        counts in vec(1u64..2000, 4),
        needs in needs(),
        limit in prop::option::of(0u64..4),
    ) {
        let needs = needs.as_deref().map_or(Needs::Documents, Needs::Paths);
        check(&world, &filter, &sort, &counts, needs, limit);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn every_way_finds_the_documents_that_match(
        world in world(arbitrary::document(), index(keys())),
        filter in filters::filter(),
        sort in sort(),
        counts in vec(1u64..2000, 4),
        needs in needs(),
        limit in prop::option::of(0u64..4),
    ) {
        let needs = needs.as_deref().map_or(Needs::Documents, Needs::Paths);
        check(&world, &filter, &sort, &counts, needs, limit);
    }

    #[test]
    fn every_way_finds_arrays_in_arrays(
        (world, filter) in world(nested::document(), index(keys_by_positions())).prop_flat_map(|world| {
            let filter = nested::filter(&nested::pool(&world.documents));
            (Just(world), filter)
        }),
        sort in sort(),
        counts in vec(1u64..2000, 4),
        needs in needs(),
        limit in prop::option::of(0u64..4),
    ) {
        let needs = needs.as_deref().map_or(Needs::Documents, Needs::Paths);
        check(&world, &filter, &sort, &counts, needs, limit);
    }

    #[test]
    fn every_way_finds_what_one_field_has(
        (world, filter) in world(nested::small(), index(keys_of_one_field())).prop_flat_map(|world| {
            let filter = nested::of_small(&nested::pool(&world.documents));
            (Just(world), filter)
        }),
        sort in sort_of_one_field(),
        counts in vec(1u64..2000, 4),
    ) {
        check(&world, &filter, &sort, &counts, Needs::Documents, None);
    }

    #[test]
    fn every_way_finds_the_documents_that_nearly_match(
        world in world(focused::document(), index(keys_through_arrays())),
        filter in focused::filter(),
        sort in sort(),
        counts in vec(1u64..2000, 4),
        needs in needs(),
        limit in prop::option::of(0u64..4),
    ) {
        let needs = needs.as_deref().map_or(Needs::Documents, Needs::Paths);
        check(&world, &filter, &sort, &counts, needs, limit);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6000))]

    #[test]
    fn every_way_finds_what_expressions_compare(
        world in prop_oneof![
            world(focused::document(), index(keys_through_arrays())).boxed(),
            world(arbitrary::document(), index(keys())).boxed(),
            world(long_document(), index(long_keys())).boxed(),
        ],
        filter in computed::filter(prop_oneof![(0i32..4).prop_map(Value::from), arbitrary::value(), long_value()].boxed()),
        sort in sort(),
        counts in vec(1u64..2000, 4),
        limit in prop::option::of(0u64..4),
        of_indexes in vec(0..RULES.len(), 4),
        of_query in 0..RULES.len(),
    ) {
        let mut world = world;
        let indexes = world.indexes.iter().zip(&of_indexes);
        world.indexes = indexes.map(|(index, at)| with_rules(index, *at)).collect();
        let World { documents, indexes } = &mut world;
        documents.retain(|document| indexes.iter().all(|index| index.keys(document).is_ok()));
        let rules = rules(of_query);
        check_collated(&world, &filter, &sort, &counts, Needs::Documents, limit, rules.as_ref());
    }
}

/// Two conditions on fields of maps in one array may be met by two different maps. The conditions of one `$elemMatch`
/// must be met by the same map.
#[test]
fn two_elements_may_meet_two_conditions() {
    let definition = |keys: &str| Definition::parse(&common::map_of(keys), &Map::new()).unwrap();
    let documents = [
        r#"{"_id":0,"a":[{"b":1,"c":2},{"b":3,"c":4}]}"#,
        r#"{"_id":1,"a":[{"b":1,"c":4}]}"#,
        r#"{"_id":2,"a":[{"b":[1,3],"c":2},{"c":4}]}"#,
        r#"{"_id":3,"a":[{"b":[{"x":1,"y":2},{"x":3,"y":4}]}]}"#,
    ];
    let world = World {
        documents: documents.map(common::map_of).to_vec(),
        indexes: [r#"{"a.b":1,"a.c":1}"#, r#"{"a.c":-1,"a.b":1}"#, r#"{"a.b.x":1,"a.b.y":1}"#].map(definition).to_vec(),
    };
    for filter in [
        r#"{"a.b":1,"a.c":4}"#,
        r#"{"a":{"$elemMatch":{"b":1,"c":4}}}"#,
        r#"{"a":{"$elemMatch":{"b":1}},"a.c":4}"#,
        r#"{"$and":[{"a":{"$elemMatch":{"b":1}}},{"a":{"$elemMatch":{"c":4}}}]}"#,
        r#"{"a":{"$elemMatch":{"b.x":1,"b.y":4}}}"#,
        r#"{"a.b":{"$elemMatch":{"x":1,"y":4}}}"#,
        r#"{"a.b":{"$gt":1,"$lt":3}}"#,
        r#"{"a.b":{"$gt":2,"$lt":2}}"#,
    ] {
        check(&world, &common::map_of(filter), &[], &[100, 100, 100], Needs::Documents, None);
    }
}
