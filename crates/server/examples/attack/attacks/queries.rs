//! Attacks with commands that take much time or memory, by a user who may read and write one database. Each command has
//! `maxTimeMS`, and has to end soon after this time.

use super::{Attacker, message};
use alluvium::{Map, Value, doc};
use std::io::Write;
use std::time::{Duration, Instant};

const MILLIS: i32 = 500;

/// The most time between the time limit of a command and its reply. The limit is long because all attacks load the
/// machine.
const LATE_MAX: Duration = Duration::from_secs(30);

/// Runs a command that has to end soon after its time limit.
fn limited(attacker: &mut Attacker<'_>, mut command: Map) {
    command.push("maxTimeMS", MILLIS);
    let (began, name) = (Instant::now(), attacker.attack.name);
    let shown = command.to_string();
    attacker.run_as_guest("guests", command);
    let shown: String = shown.chars().take(300).collect();
    assert!(began.elapsed() < LATE_MAX, "{name}: it took {} s: {shown}", began.elapsed().as_secs());
}

fn pipeline(stages: Vec<Map>) -> Map {
    let stages = stages.into_iter().map(Value::Map).collect();
    doc! {"aggregate": "many", "pipeline": (Value::Array(stages)), "cursor": {}}
}

/// Regular expressions that take long.
pub(super) fn patterns(attacker: &mut Attacker<'_>) {
    let text = "a".repeat(attacker.rng.usize(1..80_000));
    let hostile = [
        "(a+)+$",
        "^(a|a)*b",
        "(?=.*b)a",
        "(?=(a+)+b)",
        "(?<=a*)b",
        "(a*)*\\1b",
        "(.*)(.*)(.*)(.*)b",
        "((((a{0,100}){0,100}){0,100}){0,100})b",
        "(?:a?){1000}a{1000}b",
    ];
    let pattern = match attacker.rng.usize(..=hostile.len()) {
        at if at < hostile.len() => hostile[at].to_owned(),
        _ => "(a|b)".repeat(attacker.rng.usize(1..6000)),
    };
    let input = Value::from(text.as_str());
    match attacker.rng.u8(..3) {
        0 => {
            let find = doc! {"$regexMatch": {"input": input, "regex": (pattern.as_str())}};
            limited(attacker, doc! {"find": "many", "filter": {"$expr": find}, "limit": 1});
        }
        1 => {
            let find = doc! {"$regexFindAll": {"input": input, "regex": (pattern.as_str())}};
            limited(attacker, pipeline(vec![doc! {"$limit": 1}, doc! {"$project": {"found": find}}]));
        }
        _ => limited(attacker, doc! {"find": "many", "filter": {"text": {"$regex": (pattern.as_str())}}}),
    }
}

/// Expressions that take long, over one document.
pub(super) fn expressions(attacker: &mut Attacker<'_>) {
    let range = |count: i32| Value::Map(doc! {"$range": [0, count]});
    let long = || Value::from("ab".repeat(1 << 20));
    let inner = match attacker.rng.u8(..9) {
        0 => doc! {"$setUnion": [(range(600_000)), (range(600_000))]},
        1 => doc! {"$setIntersection": [(range(600_000)), (range(599_999))]},
        2 => doc! {"$replaceAll": {"input": (long()), "find": "b", "replacement": "cc"}},
        3 => doc! {"$toUpper": (long())},
        4 => doc! {"$size": {"$split": [(long()), "b"]}},
        5 => doc! {"$sortArray": {"input": (range(1_000_000)), "sortBy": (-1)}},
        6 => doc! {"$reverseArray": (range(1_000_000))},
        7 => doc! {"$concatArrays": [(range(500_000)), (range(500_000))]},
        _ => doc! {"$indexOfCP": [(long()), "c"]},
    };
    // The loop multiplies the time of the inner expression.
    let result = doc! {"$map": {"input": {"$range": [0, 200]}, "in": {"$gt": [(inner), 0]}}};
    limited(attacker, pipeline(vec![doc! {"$limit": 1}, doc! {"$project": {"result": result}}]));
}

/// Nested filters, expressions and pipelines.
pub(super) fn nesting(attacker: &mut Attacker<'_>) {
    // Each level is an object and an array. Deeper nesting is an attack of its own.
    let levels = attacker.rng.usize(1..45);
    let nested = |wrap: fn(Value) -> Map, inner: Map| {
        let mut value = inner;
        for _ in 0..levels {
            value = wrap(Value::Map(value));
        }
        value
    };
    match attacker.rng.u8(..5) {
        0 => {
            let filter = nested(|inner| doc! {"$and": [inner]}, doc! {"n": 1});
            limited(attacker, doc! {"find": "many", "filter": filter});
        }
        1 => {
            let filter = nested(|inner| doc! {"$nor": [inner, {"n": 1}]}, doc! {"n": 1});
            limited(attacker, doc! {"find": "many", "filter": filter});
        }
        2 => {
            let sum = nested(|inner| doc! {"$add": [inner, "$n"]}, doc! {"$add": [1]});
            limited(attacker, pipeline(vec![doc! {"$project": {"sum": sum}}, doc! {"$limit": 10}]));
        }
        3 => {
            let wide: Vec<Value> = (0..10_000).map(|n| Value::Map(doc! {"n": n, "text": {"$ne": "x"}})).collect();
            limited(attacker, doc! {"find": "many", "filter": {"$or": (Value::Array(wide))}});
        }
        _ => {
            let many: Vec<Map> =
                (0..attacker.rng.usize(1..1200)).map(|_| doc! {"$match": {"n": {"$gte": 0}}}).collect();
            limited(attacker, pipeline(many));
        }
    }
}

/// Stages that keep many documents in memory.
pub(super) fn stages(attacker: &mut Attacker<'_>) {
    let window = || {
        let mut output = Map::new();
        for n in 0..20 {
            let name = format!("all{n}");
            output.push(name.as_str(), doc! {"$push": "$$ROOT", "window": {"documents": ["unbounded", "unbounded"]}});
        }
        doc! {"$setWindowFields": {"sortBy": {"_id": 1}, "output": output}}
    };
    let push = |name: &str| doc! {"$group": {"_id": null, "all": {(name): "$$ROOT"}}};
    let graph = doc! {"$graphLookup": {"from": "many", "startWith": "$n", "connectFromField": "n", "connectToField": "n",
    "as": "others"}};
    let lookup = doc! {"$lookup": {"from": "many", "localField": "n", "foreignField": "n", "as": "others"}};
    let stages = match attacker.rng.u8(..9) {
        0 => vec![window()],
        1 => vec![push("$push")],
        2 => vec![push("$addToSet")],
        3 => vec![doc! {"$group": {"_id": "$text", "all": {"$push": "$$ROOT"}}}],
        4 => vec![graph, doc! {"$sort": {"others": 1}}],
        5 => vec![lookup, doc! {"$sort": {"others": 1}}],
        6 => vec![doc! {"$sort": {"text": -1, "n": 1}}, doc! {"$group": {"_id": null, "all": {"$push": "$text"}}}],
        7 => vec![doc! {"$bucketAuto": {"groupBy": "$text", "buckets": 5, "output": {"all": {"$push": "$$ROOT"}}}}],
        _ => vec![doc! {"$facet": {"a": [{"$sort": {"text": 1}}], "b": [{"$group": {"_id": "$text"}}]}}],
    };
    let mut command = pipeline(stages);
    command.push("allowDiskUse", attacker.rng.bool());
    limited(attacker, command);
}

/// Long commands without `maxTimeMS`, whose client disconnects.
pub(super) fn lost_clients(attacker: &mut Attacker<'_>) {
    let Some(mut stream) = attacker.connect_as_guest() else { return };
    let sum = doc! {"$reduce": {"input": {"$range": [0, 100_000]}, "initialValue": 0, "in": {"$add": ["$$value", 1]}}};
    let find = doc! {"find": "many", "filter": {"$expr": {"$lt": [sum, 0]}}};
    if stream.write_all(&message("guests", find)).is_ok() {
        attacker.tally.attempts += 1;
        attacker.tally.silent += 1;
        // Gives the command time to begin.
        std::thread::sleep(Duration::from_millis(attacker.rng.u64(..30)));
    }
}
