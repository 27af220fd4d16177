//! A history in a file, one call per line as JSON, so that it can be checked again.

use super::checker::Call;
use super::spec::{Act, Answer, Doc, Docs, Write};
use alluvium::{Map, Value};

fn list(values: impl IntoIterator<Item = Value>) -> Value {
    Value::Array(values.into_iter().collect())
}

fn of_doc(doc: Option<Doc>) -> Value {
    doc.map_or(Value::Null, |(v, n)| list([v.into(), n.into()]))
}

fn of_docs(docs: &Docs) -> Value {
    list(docs.iter().map(|doc| of_doc(*doc)))
}

fn of_act(act: &Act) -> Value {
    let place = |at: &usize| Value::from(*at as i64);
    let named = |name: &str, values: Vec<Value>| list([Value::from(name)].into_iter().chain(values));
    match act {
        Act::Write(writes) => named(
            "write",
            writes
                .iter()
                .map(|(at, write)| match write {
                    Write::Put(v) => list([place(at), "put".into(), (*v).into()]),
                    Write::Delete => list([place(at), "delete".into(), 0.into()]),
                    Write::AddN(by) => list([place(at), "add n".into(), (*by).into()]),
                    Write::AddV(by) => list([place(at), "add v".into(), (*by).into()]),
                })
                .collect(),
        ),
        Act::Update(at, by) => named("update", vec![place(at), (*by).into()]),
        Act::FindAndAdd(at, by) => named("find and add", vec![place(at), (*by).into()]),
        Act::Take(at) => named("take", vec![place(at)]),
        Act::Insert(at, v) => named("insert", vec![place(at), (*v).into()]),
        Act::Swap(at, doc, v) => named("swap", vec![place(at), of_doc(Some(*doc)), (*v).into()]),
        Act::Get(at) => named("get", vec![place(at)]),
        Act::All => named("all", vec![]),
        Act::Find(half, from, to) => named("find", vec![place(half), (*from).into(), (*to).into()]),
        Act::Scan(half) => named("scan", vec![place(half)]),
    }
}

fn of_answer(answer: &Answer) -> Value {
    match answer {
        Answer::Done => list(["done".into()]),
        Answer::Whether(done) => list(["whether".into(), (*done).into()]),
        Answer::One(doc) => list(["one".into(), of_doc(*doc)]),
        Answer::Many(docs) => list(["many".into(), of_docs(docs)]),
    }
}

/// A history, and the documents before it.
pub fn print(first: &Docs, calls: &[Call]) -> String {
    let mut lines = Vec::new();
    let mut line = |map: Map| {
        let done = alluvium_document::json::print_map(&map, alluvium_document::json::Format::RELAXED, &mut lines);
        done.expect("a map of numbers and text");
        lines.push(b'\n');
    };
    line(Map::from([("first", of_docs(first))]));
    for call in calls {
        let mut map = Map::from([
            ("client", Value::from(call.client as i64)),
            ("from", Value::from(call.from as i64)),
            ("act", of_act(&call.act)),
            ("durable", call.durable.into()),
            ("recovery", call.recovery.into()),
        ]);
        if let Some((to, answer)) = &call.returned {
            map.push("to", *to as i64);
            map.push("answer", of_answer(answer));
        }
        line(map);
    }
    String::from_utf8(lines).expect("JSON is text")
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value:?} is no number"))
}

fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        other => panic!("{other:?} is no list"),
    }
}

fn doc(value: &Value) -> Option<Doc> {
    match value {
        Value::Null => None,
        value => Some((number(&items(value)[0]), number(&items(value)[1]))),
    }
}

fn docs(value: &Value) -> Docs {
    items(value).iter().map(doc).collect()
}

fn act(value: &Value) -> Act {
    let (name, rest) = items(value).split_first().expect("an act has a name");
    let at = |index: usize| number(&rest[index]) as usize;
    match name.as_str().expect("an act has a name") {
        "write" => Act::Write(
            rest.iter()
                .map(|write| {
                    let [at, name, by] = items(write) else { panic!("{write:?} is no write") };
                    let write = match name.as_str() {
                        Some("put") => Write::Put(number(by)),
                        Some("delete") => Write::Delete,
                        Some("add n") => Write::AddN(number(by)),
                        Some("add v") => Write::AddV(number(by)),
                        other => panic!("no write {other:?}"),
                    };
                    (number(at) as usize, write)
                })
                .collect(),
        ),
        "update" => Act::Update(at(0), number(&rest[1])),
        "find and add" => Act::FindAndAdd(at(0), number(&rest[1])),
        "take" => Act::Take(at(0)),
        "insert" => Act::Insert(at(0), number(&rest[1])),
        "swap" => Act::Swap(at(0), doc(&rest[1]).expect("a document"), number(&rest[2])),
        "get" => Act::Get(at(0)),
        "all" => Act::All,
        "find" => Act::Find(at(0), number(&rest[1]), number(&rest[2])),
        "scan" => Act::Scan(at(0)),
        other => panic!("no act {other}"),
    }
}

fn answer(value: &Value) -> Answer {
    let parts = items(value);
    match parts[0].as_str() {
        Some("done") => Answer::Done,
        Some("whether") => Answer::Whether(parts[1] == Value::Bool(true)),
        Some("one") => Answer::One(doc(&parts[1])),
        Some("many") => Answer::Many(docs(&parts[1])),
        other => panic!("no answer {other:?}"),
    }
}

/// Parses the output of [`print`].
///
/// # Panics
/// If the text is not an output of [`print`].
pub fn read(text: &str) -> (Docs, Vec<Call>) {
    let mut lines = text.lines().map(crate::model::map_of);
    let first = docs(lines.next().and_then(|map| map.get("first").cloned()).as_ref().expect("a first line"));
    let calls = lines.map(|map| {
        let field = |name: &str| map.get(name).unwrap_or_else(|| panic!("a call without {name}: {map:?}"));
        let returned = map.get("to").map(|to| (number(to) as u64, answer(field("answer"))));
        Call {
            act: act(field("act")),
            from: number(field("from")) as u64,
            returned,
            durable: *field("durable") == Value::Bool(true),
            recovery: *field("recovery") == Value::Bool(true),
            client: number(field("client")) as usize,
        }
    });
    (first, calls.collect())
}
