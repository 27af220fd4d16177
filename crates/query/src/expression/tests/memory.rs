//! Evaluations count the memory of the values that they hold, and release it.

use crate::code::ErrorCode;
use crate::expression::{EvaluateError, Expression, Memory, MemoryCharge, Scope, Variables};
use crate::pipeline::{Groups, Pipeline, RecordRef, Stage};
use alluvium_document::{Document, Value, doc, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes that are charged at present, the maximum so far, and the number of charges.
#[derive(Default)]
struct Account {
    bytes: AtomicUsize,
    peak: AtomicUsize,
    charges: AtomicUsize,
}

struct Charge(Arc<Account>, usize);

const LIMIT: usize = 8 << 20;

impl MemoryCharge for Charge {
    fn grow(&mut self, bytes: usize) -> Option<usize> {
        if bytes > LIMIT {
            return None;
        }
        self.0.bytes.fetch_add(bytes - self.1, Ordering::Relaxed);
        self.0.peak.fetch_max(self.0.bytes.load(Ordering::Relaxed), Ordering::Relaxed);
        self.1 = bytes;
        Some(bytes)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.0.bytes.fetch_sub(self.1, Ordering::Relaxed);
    }
}

fn counted() -> (Variables, Arc<Account>) {
    let account = Arc::new(Account::default());
    let kept = account.clone();
    let memory = Memory::new(move || {
        kept.charges.fetch_add(1, Ordering::Relaxed);
        Box::new(Charge(kept.clone(), 0))
    });
    (Variables::NONE.counted_in(memory), account)
}

fn evaluate(text: &str, variables: &Variables) -> Result<Option<Value>, EvaluateError> {
    let value = json::parse(text.as_bytes()).expect("JSON");
    let map = doc! {"n": 1, "few": [1, 2, 3]};
    Expression::parse_in(&value, variables).map_err(EvaluateError::Expression)?.evaluate(&mut Scope::of_map(&map))
}

fn nested(levels: usize, value: &str, body: &str) -> String {
    (0..levels).fold(body.to_owned(), |inner, n| format!(r#"{{"$let":{{"vars":{{"v{n}":{value}}},"in":{inner}}}}}"#))
}

#[test]
fn small_values_are_not_counted() {
    let (variables, account) = counted();
    for text in [
        r#"{"$add":["$n",1]}"#,
        r#"{"$map":{"input":{"$range":[0,100]},"in":{"a":"$$this"}}}"#,
        r#"{"$reduce":{"input":{"$range":[0,100000]},"initialValue":0,"in":{"$add":["$$value",1]}}}"#,
        r#"{"$concatArrays":["$few","$few",["$n"]]}"#,
    ] {
        let result = evaluate(text, &variables);
        assert!(result.is_ok(), "{text}: {result:?}");
    }
    // Only the numbers of the long range are charged.
    assert_eq!(account.charges.load(Ordering::Relaxed), 1);
    assert!(account.peak.load(Ordering::Relaxed) >= 100_000 * size_of::<Value>());
}

#[test]
fn what_is_dropped_is_not_held() {
    let (variables, account) = counted();
    // Each value on its own fits, and is dropped before the next one is made.
    let sizes = vec![r#"{"$size":{"$range":[0,150000]}}"#; 50].join(",");
    let each = r#"{"$map":{"input":{"$range":[0,50]},"in":{"$size":{"$range":[0,150000]}}}}"#;
    let kept = r#"{"$reduce":{"input":{"$range":[0,50]},"initialValue":[],"in":{"$range":[0,100000]}}}"#;
    for text in
        [format!("[{sizes}]"), each.to_owned(), kept.to_owned(), nested(20, r#"{"$size":{"$range":[0,150000]}}"#, "1")]
    {
        let result = evaluate(&text, &variables);
        assert!(result.is_ok(), "{text}: {result:?}");
        assert_eq!(account.bytes.load(Ordering::Relaxed), 0, "{text}");
    }
}

#[test]
fn what_is_held_together_is_refused() {
    let (variables, account) = counted();
    let large = r#"{"$range":[0,80000]}"#;
    let pairs = r#"{"$map":{"input":{"$range":[0,50000]},"in":["$$this",{"a":1}]}}"#;
    let text = "ab".repeat(60_000);
    for text in [
        nested(5, large, "1"),
        format!("[{}]", [large; 5].join(",")),
        format!(r#"{{"a":{large},"b":{large},"c":{large},"d":{large},"e":{large}}}"#),
        format!(r#"{{"$concatArrays":[{large},{large}]}}"#),
        format!(r#"{{"$reverseArray":{}}}"#, r#"{"$range":[0,150000]}"#),
        r#"{"$range":[0,300000]}"#.to_owned(),
        pairs.to_owned(),
        r#"{"$filter":{"input":{"$range":[0,200000]},"cond":{"$gte":["$$this",0]}}}"#.to_owned(),
        r#"{"$reduce":{"input":{"$range":[0,20]},"initialValue":[],"in":{"$concatArrays":["$$value",{"$range":[0,20000]}]}}}"#
            .to_owned(),
        format!(r#"{{"$split":["{text}{text}{text}","b"]}}"#),
        format!(r#"{{"$regexFindAll":{{"input":"{text}","regex":"a"}}}}"#),
        format!(r#"{{"$zip":{{"inputs":[{large},{large}]}}}}"#),
        format!(r#"{{"$replaceAll":{{"input":"{text}","find":"a","replacement":"{}"}}}}"#, "x".repeat(140)),
        r#"{"$objectToArray":{"$arrayToObject":{"$map":{"input":{"$range":[0,30000]},"in":[{"$toString":"$$this"},1]}}}}"#
            .to_owned(),
        format!(
            r#"{{"$sortArray":{{"input":{{"$map":{{"input":{{"$range":[0,10000]}},"in":{{}}}}}},"sortBy":{{{}}}}}}}"#,
            (0..100).map(|n| format!(r#""f{n}":1"#)).collect::<Vec<_>>().join(",")
        ),
    ] {
        let shown = &text[..text.len().min(100)];
        match evaluate(&text, &variables) {
            Err(EvaluateError::Expression(error)) => {
                assert_eq!(error.code, ErrorCode::ExceededMemoryLimit, "{shown}: {error}");
                assert!(error.message.contains("an expression needs more memory"), "{error}");
            }
            other => panic!("{shown}: {:?}", other.map(|_| "a value")),
        }
        assert_eq!(account.bytes.load(Ordering::Relaxed), 0, "{shown}");
        assert!(evaluate(&text, &Variables::NONE).is_ok(), "{shown}");
    }
}

#[test]
fn stored_values_are_counted_before_they_are_decoded() {
    let (variables, account) = counted();
    // An element takes one byte in the row and 32 bytes in memory.
    let nothing = doc! {"_id": 1, "many": (Value::Array(vec![Value::Null; 300_000])), "n": 1};
    let document = Document::from_map(&nothing).expect("a document");
    for (path, fits) in [("$many", false), ("$$ROOT", false), ("$n", true)] {
        let expression = Expression::parse_in(&Value::from(path), &variables).expect("an expression");
        let result = expression.evaluate(&mut Scope::of(&document));
        assert_eq!(result.is_ok(), fits, "{path}");
        assert_eq!(account.bytes.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn what_a_scope_has_made_is_held_until_it_is_dropped() {
    let (variables, account) = counted();
    let range = json::parse(br#"{"$range":[0,80000]}"#).expect("JSON");
    let range = Expression::parse_in(&range, &variables).expect("an expression");
    let map = doc! {};
    let mut scope = Scope::of_map(&map);
    for time in 1..=3 {
        assert!(range.evaluate(&mut scope).is_ok());
        assert!(account.bytes.load(Ordering::Relaxed) >= time * 80_000 * size_of::<Value>());
    }
    assert!(range.evaluate(&mut scope).is_err());
    drop(scope);
    assert_eq!(account.bytes.load(Ordering::Relaxed), 0);
}

#[test]
fn the_values_of_variables_are_shared() {
    let value = Value::from("x".repeat(1000));
    let variables =
        Variables::NONE.with("v", Some(value.clone())).with("m", Some(Value::Map(doc! {"t": (value.clone())})));
    let sum = evaluate(r#"{"$eq":["$$v","$$m.t"]}"#, &variables);
    assert_eq!(sum, Ok(Some(Value::Bool(true))));
    assert_eq!(evaluate(r#""$$v""#, &variables), Ok(Some(value)));
    let parsed = Expression::parse_in(&Value::from("$$v"), &variables).expect("an expression");
    assert!(parsed.as_constant().is_some(), "indexes serve comparisons with it");
}

#[test]
fn a_pattern_of_very_many_groups_is_too_large() {
    // A search keeps the positions of all groups for each state of the program. For these patterns
    // that would be 800 MB.
    let find = |groups: usize| {
        let pattern = "(a|b)".repeat(groups);
        evaluate(&format!(r#"{{"$regexFindAll":{{"input":"$n","regex":"{pattern}"}}}}"#), &Variables::NONE)
    };
    let message = |result: Result<_, EvaluateError>| result.unwrap_err().to_string();
    assert!(message(find(3000)).contains("too large"));
    // The pattern is accepted; the error is that the input is not text.
    assert!(message(find(100)).contains("of type string"));
}

/// A group by a field reads small documents without evaluating its expressions. Of a large document, it must count the
/// values like any other group.
#[test]
fn a_group_by_a_field_counts_the_values_of_large_documents() {
    let values = vec!["1"; 300_000].join(",");
    let document = Document::from_json(format!(r#"{{"_id":1,"a":[{values}]}}"#)).expect("a document");
    for group in [r#"{"_id":null,"x":{"$max":"$a"}}"#, r#"{"_id":"$a"}"#, r#"{"_id":{"k":"$a"}}"#] {
        let (variables, account) = counted();
        let stages = json::parse(format!(r#"[{{"$group":{group}}}]"#).as_bytes()).expect("JSON");
        let stages = Pipeline::parse(&stages, &variables).expect("a pipeline").into_stages();
        let Some(Stage::Group(group)) = stages.first() else { panic!("no group: {stages:?}") };
        let added = Groups::new(group.clone()).add(RecordRef::Row(&document));
        let code = added.map_err(|error| error.code());
        assert_eq!(code, Err(ErrorCode::ExceededMemoryLimit), "{group:?}");
        assert_eq!(account.bytes.load(Ordering::Relaxed), 0);
    }
}
