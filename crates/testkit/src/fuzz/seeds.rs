//! The initial inputs of the targets.

use alluvium_document::json;
use alluvium_document::shape::{Field, FieldKind, Shape};
use alluvium_document::{Map, Value, bson, encoding, key};
use alluvium_query::update::{Context, Update};

const JSON: &[&str] = &[
    r#"{"_id":1,"a":1,"b":"text \u00e9\n","c":[1,2.5,-3e10,true,null],"d":{"e":1.5,"":{}}}"#,
    r#"{"_id":"x","t":{"$date":"2020-01-01T00:00:00.123Z"},"o":{"$oid":"0123456789abcdef01234567"},"l":{"$numberLong":"5"}}"#,
    r#"{"_id":{"$numberDecimal":"-1.10E+5"},"b":{"$binary":{"base64":"AQI=","subType":"80"}},"m":{"$minKey":1},"n":{"$maxKey":1}}"#,
    r#"{"_id":3,"r":{"$regularExpression":{"pattern":"^a","options":"im"}},"s":{"$timestamp":{"t":1,"i":2}},"u":{"$undefined":true}}"#,
    r#"{"_id":4,"c":{"$code":"f()","$scope":{"x":1}},"y":{"$symbol":"s"},"p":{"$dbPointer":{"$ref":"a.b","$id":{"$oid":"0123456789abcdef01234567"}}}}"#,
    r#"{"_id":9223372036854775807,"f":{"$numberDouble":"-0.0"},"g":{"$numberDouble":"NaN"},"big":123456789012345678901234567890}"#,
    r#"[1,[2,[3,[4]]],{"a":{"b":{"c":{"d":[]}}}}]"#,
];

const UPDATES: &[&str] = &[
    r#"{"$set":{"a":1,"d.e":{"x":[1]}},"$unset":{"b":""},"$inc":{"c.0":2}}"#,
    r#"{"$push":{"c":{"$each":[3,1],"$position":1,"$slice":-4,"$sort":-1}},"$mul":{"a":2.5}}"#,
    r#"{"$addToSet":{"c":{"$each":[1,9]}},"$min":{"a":0},"$max":{"b":"z"},"$rename":{"d":"dd"}}"#,
    r#"{"$pull":{"c":{"$gte":2}},"$pop":{"a":-1},"$currentDate":{"t":true},"$setOnInsert":{"n":1}}"#,
    r#"{"$pullAll":{"c":[1,null]},"$bit":{"b":{"and":5,"or":1}}}"#,
];

const FILTERS: &[&str] = &[
    r#"{"a":1,"b":{"$gt":"a","$lte":"z"},"$or":[{"c":{"$in":[1,null]}},{"d":{"$exists":false}}]}"#,
    r#"{"c":{"$elemMatch":{"d":1,"e":{"$ne":3}}},"a.b":{"$all":[1,2]},"$nor":[{"a":{"$size":2}}]}"#,
    r#"{"b":{"$regex":"^t","$options":"i"},"a":{"$not":{"$mod":[2,0]}},"c":{"$type":["int","array"]}}"#,
    r#"{"b":{"$bitsAllSet":[0,2]},"a":{"$bitsAnyClear":6},"c.0":{"$nin":[1]}}"#,
    r#"{"a":1,"c":-1,"d.e":1}"#,
    r#"{"$expr":{"$and":[{"$eq":["$a",1]},{"$lt":["$b","$c"]}]},"$jsonSchema":{"properties":{"c":{"type":"array"}}}}"#,
    r#"{"c":{"$slice":[1,2]},"a":{"$elemMatch":{"b":1}}}"#,
];

const INDEXES: &[&str] = &[
    "{\"a\":1,\"d.e\":-1}\n{}",
    "{\"c\":1}\n{\"unique\":true,\"sparse\":true,\"name\":\"one\"}",
    "{\"a.b\":\"hashed\"}\n{}",
    "{\"t\":1}\n{\"expireAfterSeconds\":60}",
    "{\"c.0\":1,\"_id\":1}\n{\"partialFilterExpression\":{\"a\":{\"$gt\":3},\"b\":{\"$exists\":true}}}",
];

const PATHS: &[&str] = &["a", "a.b", "a.0.b", "", ".", "a..b", "$a", "a.$[].b"];

/// Inputs of loads. The first byte selects the format.
const LOADS: &[(u8, &str)] = &[
    (0, "{\"_id\":1,\"a\":\"x\"}\n\n{\"_id\":2,\"a\":[1]}\n"),
    (
        0,
        "{\"_id\":{\"$numberLong\":\"1\"},\"d\":{\"$numberDouble\":\"1.0\"},\"t\":{\"$date\":{\"$numberLong\":\"7\"}}}\n",
    ),
    (1, " [ {\"a\":1}, {\"a\":2} ] "),
    (2, "{\"a\":\n1}{\"a\":2}\n"),
    (3, "{\"x\":{\"a\":1},\"y\":[1,2]}"),
    (5, "{\"_id\":{\"$numberInt\":\"1\"}}\n"),
    (6, "_id,a.b,c\n1,x,2.5\n2,\"y,\"\"z\",true\n"),
    (7, "_id\ta\n1\tx\n"),
    (8, "\x02\x17_id;a.b;c\n1;\"x;y\";2.5\n"),
    (8, "\x03\x0a1|2|{\"d\":1}\n2|x|\n"),
    (0x80, "{\"_id\":1}\n{\"_id\":\n{\"_id\":3}\n"),
];

fn text(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn values() -> Vec<Value> {
    JSON.iter().filter_map(|text| json::parse(text.as_bytes()).ok()).collect()
}

fn maps(texts: &[&str]) -> Vec<Map> {
    let map = |text: &&str| match json::parse(text.as_bytes()) {
        Ok(Value::Map(map)) => Some(map),
        _ => None,
    };
    texts.iter().filter_map(map).collect()
}

fn made<T>(from: Vec<T>, make: impl Fn(&T, &mut Vec<u8>)) -> Vec<Vec<u8>> {
    let each = |value: &T| {
        let mut out = Vec::new();
        make(value, &mut out);
        out
    };
    from.iter().map(each).collect()
}

/// The initial inputs of a target.
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    match target {
        "json" => text(JSON),
        "json_lines" => vec![JSON.join("\n").into_bytes(), [JSON[0], JSON[0], JSON[0]].join("\n").into_bytes()],
        "bson" => {
            made(maps(JSON), |map, out| bson::encode_document(map, out).unwrap_or_else(|e| panic!("{e}: {map:?}")))
        }
        "encoding" => made(values(), encoding::encode),
        "keys" => made(values(), |value, out| {
            key::encode(value, out);
            key::encode(&Value::Int32(7), out);
        }),
        "rows" => rows(),
        "paths" => text(PATHS),
        "updates" => text(UPDATES),
        "deltas" => deltas(),
        "filters" => text(FILTERS),
        "pipelines" => text(super::pipelines::SEEDS),
        "expressions" | "dates" | "collations" | "schemas" => text(super::language::seeds(target)),
        "indexes" => text(INDEXES),
        "loads" => LOADS.iter().map(|(kind, text)| [&[*kind], text.as_bytes()].concat()).collect(),
        "edits" | "manifests" | "records" | "blocks" => super::sealed::seeds(target),
        "superblocks" | "listings" | "read_only" | "index_files" | "metadata" => super::copies::seeds(target),
        "catalog" => super::catalog::seeds(),
        _ => vec![Vec::new(), vec![1, 2, 3, 4, 5, 6, 7, 8]],
    }
}

/// A shape with two fields, and a row with two values.
fn rows() -> Vec<Vec<u8>> {
    let fields = ["_id", "a", "b"].map(|name| Field { name: name.into(), kind: FieldKind::Stored }).to_vec();
    let Ok(shape) = Shape::new(1, fields) else { return Vec::new() };
    let mut out = Vec::new();
    shape.encode(&mut out);
    out.push(1);
    encoding::encode(&Value::Int32(5), &mut out);
    encoding::encode(&Value::String("text".into()), &mut out);
    vec![out]
}

fn deltas() -> Vec<Vec<u8>> {
    let context = Context { time_ms: 1, inserting: false };
    maps(UPDATES).iter().filter_map(|map| Update::parse(map).ok()?.to_delta(&context).ok()).collect()
}
