//! What the planning of large questions takes: `cargo run --release -p alluvium-query --example planning`.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::time::Instant;

use alluvium_document::{Map, Value};
use alluvium_query::filter::Filter;
use alluvium_query::index::Definition;
use alluvium_query::plan::{Collection, Index, Query, plan};

/// A map of one field.
fn one(name: impl Into<Value>, value: impl Into<Value>) -> Map {
    Map { entries: vec![(name.into(), value.into())] }
}

fn list(count: i32, of: impl Fn(i32) -> Value) -> Value {
    Value::Array((0..count).map(of).collect())
}

/// An `$or` of branches on the first part of all indexes, and on the second of one.
fn choice(branches: i32) -> Map {
    let branch =
        |n: i32| Map { entries: vec![("f".into(), n.into()), (format!("g{}", n % 60).into(), one("$gt", n).into())] };
    one("$or", list(branches, |n| branch(n).into()))
}

fn measure(what: &str, filter: &Map, options: impl Fn(i32) -> Map) {
    let begun = Instant::now();
    let parsed = Filter::parse(filter).unwrap();
    let read = begun.elapsed();
    let keys = |n: i32| Map { entries: vec![("f".into(), 1.into()), (format!("g{n}").into(), 1.into())] };
    let definitions: Vec<Definition> = (0..60).map(|n| Definition::parse(&keys(n), &options(n)).unwrap()).collect();
    for multikey in [0, 3] {
        let index = |definition| Index {
            definition,
            multikey,
            cut: 0,
            entries: 1_000_000,
            distinct: &[1000],
            bytes: 20_000_000,
        };
        let indexes: Vec<Index<'_>> = definitions.iter().map(index).collect();
        let (documents, bytes) = (1_000_000, 1 << 30);
        let collection =
            Collection { documents, bytes, partitions: 4, natural_ids: true, indexes: &indexes, estimator: None };
        let begun = Instant::now();
        let plan = plan(&Query::of(&parsed), &collection).unwrap();
        let (took, ways) = (begun.elapsed(), plan.rejected.len());
        println!("{what}, multikey {multikey}: {took:.1?} (read in {read:.1?}; {ways} others)");
    }
}

fn main() {
    let plain = |_| Map::new();
    measure("an $or of 100", &choice(100), plain);
    measure("an $or of 500", &choice(500), plain);
    measure("an $or of 1,000", &choice(1000), plain);
    let both = |n: i32| list(2, |_| choice(n).into());
    measure("two $or of 40", &one("$and", both(40)), plain);
    let eight = list(8, |n| choice(40 + n).into());
    measure("eight $or of 40", &one("$and", eight), plain);
    measure("a list of 1,000,000", &one("f", one("$in", list(1_000_000, Value::from))), plain);
    measure("300,000 ranges", &one("$and", list(300_000, |n| one("f", one("$gt", n)).into())), plain);
    measure("300,000 branches", &one("$or", list(300_000, |n| one("f", one("$gt", n)).into())), plain);
    measure("a $nin of 1,000,000", &one("f", one("$nin", list(1_000_000, Value::from))), plain);
    let of_elements = list(300_000, |n| one("f", one("$elemMatch", one("x", n))).into());
    measure("300,000 $elemMatch", &one("$and", of_elements), plain);
    let partial = |n: i32| {
        let branches = list(50, |k| one("f", one("$gt", n + k)).into());
        Map { entries: vec![("partialFilterExpression".into(), one("$or", branches).into())] }
    };
    measure("300,000 ranges, partial", &one("$and", list(300_000, |n| one("f", one("$lt", n)).into())), partial);
    measure("an $or of 1,000, partial", &choice(1000), partial);
    let sparse = |_| one("sparse", true);
    measure("an $or of 1,000, sparse", &choice(1000), sparse);
}
