use proptest::prelude::*;

use super::*;
use crate::MAX_DEPTH;
use crate::row::decode_row;
use crate::shape::ShapeOptions;

/// The result of a line: row, key, and the numbers of the shapes that its batch must include.
type Outcome = Result<(Vec<u8>, Vec<u8>, Vec<u32>), LineError>;

fn numbers(shapes: &[Arc<Shape>]) -> Vec<u32> {
    let mut numbers: Vec<u32> = shapes.iter().map(|shape| shape.number()).collect();
    numbers.sort();
    numbers
}

/// The encoder under test and the plain encoding, which must give the same result. Each has its own table.
struct Pair {
    encoder: Encoder,
    table: Arc<ShapeTable>,
    id_field: &'static str,
    new_id: Option<Value>,
}

const NEW_ID: Value = Value::ObjectId(*b"abcdefghijkl");

impl Pair {
    fn new(options: ShapeOptions, id_field: &'static str, new_ids: bool) -> Self {
        let encoder = Encoder::new(Arc::new(ShapeTable::new(options)), id_field);
        let new_id = new_ids.then_some(NEW_ID);
        Self { encoder, table: Arc::new(ShapeTable::new(options)), id_field, new_id }
    }

    fn expected(&self, line: &[u8]) -> Outcome {
        let mut document = match crate::json::parse(line)? {
            Value::Map(document) => document,
            other => return Err(LineError::NotADocument(other.type_name())),
        };
        let id_copy = (self.id_field != ID).then_some(self.id_field);
        place_id(&mut document, id_copy, || self.new_id.clone().ok_or(LineError::MissingId))?;
        let id = document.get(ID).unwrap();
        let key = key::id_key(id)?;
        let (mut row, mut shapes) = (Vec::new(), Vec::new());
        encode_row(&document, &self.table, id_copy, &mut row, &mut shapes)?;
        let decoded = decode_row(&row, &self.table, &key::decode(&mut &key[..]).unwrap()).unwrap();
        assert_eq!(decoded, document);
        Ok((row, key, numbers(&shapes)))
    }

    fn actual(&mut self, line: &[u8]) -> (Outcome, bool) {
        let (mut row, mut key) = (b"row".to_vec(), b"key".to_vec());
        let result = match &self.new_id {
            Some(id) => self.encoder.encode_json_line_or_new_id(line, &mut || id.clone(), &mut row, &mut key),
            None => self.encoder.encode_json_line(line, &mut row, &mut key),
        };
        match result {
            Ok(encoded) => {
                assert!(row.starts_with(b"row") && key.starts_with(b"key"));
                (Ok((row.split_off(3), key.split_off(3), numbers(&encoded.new_shapes))), encoded.speculated)
            }
            Err(error) => {
                assert_eq!((&row[..], &key[..]), (&b"row"[..], &b"key"[..]));
                (Err(error), false)
            }
        }
    }

    /// Encodes the line with both, and compares the results. Returns true if the encoder did not need the parser.
    fn check(&mut self, line: &[u8]) -> bool {
        let (actual, speculated) = self.actual(line);
        assert_eq!(actual, self.expected(line), "{}", String::from_utf8_lossy(line));
        speculated
    }

    fn commit_all(&self) {
        for table in [&self.table, &self.encoder.values.table] {
            table.iter().for_each(|shape| table.mark_committed(shape.number()));
        }
    }
}

fn pair(id_field: &'static str) -> Pair {
    Pair::new(ShapeOptions { document_sightings: 1, nested_sightings: 1, ..ShapeOptions::default() }, id_field, false)
}

#[test]
fn lines_of_one_shape_are_read_without_the_parser() {
    let mut pair = Pair::new(ShapeOptions::default(), "id", false);
    for n in 0..200 {
        let flag = n % 10 != 0;
        let line = format!(
            "{{\"a\":[],\"author\":\"user{n}\",\"flag\":{flag},\"id\":\"c{n}\",\"n\":{n},\"nothing\":null,\"text\":\"a\\n\\u00e4\"}}\n"
        );
        assert_eq!(pair.check(line.as_bytes()), n >= 2, "{n}");
        pair.commit_all();
        if n == 20 {
            // Three steps end with the holes for the author, the id and the number; the fourth ends with the line.
            assert_eq!(pair.encoder.templates[0].steps.len(), 4);
        }
    }
    assert_eq!(pair.encoder.counts(), Counts { speculated: 198, walked: 0, parsed: 2, learnt: 1 });
}

#[test]
fn an_optional_field_does_not_throw_away_the_work() {
    let mut pair = pair("_id");
    for n in 0u32..300 {
        let optional = if n % 3 == 0 { "\"b\":1," } else { "" };
        let line = format!("{{\"_id\":{n},\"a\":2,{optional}\"c\":null,\"d\":[1,2],\"e\":\"x\"}}");
        assert_eq!(pair.check(line.as_bytes()), n >= 2, "{n}");
    }
    assert_eq!(pair.encoder.counts().learnt, 2);
    assert!(pair.encoder.counts().walked > 150);
}

#[test]
fn a_new_mix_of_known_fields_is_parsed_once_and_then_read() {
    let mut pair = pair("_id");
    let line = |n: u32, mix: u32| {
        let field = |bit: u32| if mix >> bit & 1 == 1 { format!(",\"f{bit}\":{n}") } else { String::new() };
        format!("{{\"_id\":{n}{}{}{}{}}}", field(0), field(1), field(2), field(3))
    };
    for round in 0..3 {
        for mix in 0..16 {
            assert_eq!(pair.check(line(round, mix).as_bytes()), round > 0, "{round} {mix}");
        }
    }
}

#[test]
fn constants_that_change_are_noticed() {
    let mut pair = pair("_id");
    let values =
        ["1", "10", "100", "\"a\"", "\"ab\"", "null", "true", "[]", "{}", "[1]", "{\"x\":1}", "-1", "1.5", "\"\""];
    let mut speculated = 0;
    for round in 0..values.len() * 30 {
        // Runs of one value that are long enough for a constant, and values that change with every line.
        let (a, b) = (values[round / 30], values[round % values.len()]);
        let line = format!("{{\"_id\":{round},\"k\":0,\"a\":{a},\"b\":{b},\"c\":{a}}}");
        speculated += usize::from(pair.check(line.as_bytes()));
    }
    assert!(speculated > values.len() * 30 - 10, "{speculated}");
}

#[test]
fn a_number_that_goes_on_behind_a_constant_is_read_all_the_same() {
    let mut pair = pair("_id");
    let mut check = |n: u32, a: &str| pair.check(format!("{{\"_id\":{n},\"a\":{a},\"b\":{a}}}").as_bytes());
    for n in 0..20 {
        assert_eq!(check(n, "1"), n > 0);
    }
    for a in ["12", "1.5", "1e3", "-1", "1", "11111111111111111111", "\"1\""] {
        assert!(check(20, a), "{a}");
    }
    assert_eq!(pair.encoder.counts().walked, 0);
}

#[test]
fn extended_json_of_scalars_is_read_in_place() {
    let mut pair = pair("_id");
    for n in 0..50 {
        let line = format!(
            "{{\"_id\":{{\"$oid\":\"0123456789abcdef012345{:02x}\"}},\"at\":{{\"$date\":{{\"$numberLong\":\"{n}\"}}}},\
             \"n\":[{{ \"$numberLong\":\"{n}\"}},{{\"$numberDecimal\":\"{n}.50\"}}]}}",
            n
        );
        assert_eq!(pair.check(line.as_bytes()), n > 0, "{n}");
    }
    // A map with an operator that does not represent a scalar needs the full parser.
    for map in ["{\"$other\":1}", "{\"x\":1,\"$other\":1}", "{\"$code\":\"f()\"}", "{\"$code\":\"f()\",\"$scope\":{}}"]
    {
        for _ in 0..5 {
            assert!(!pair.check(format!("{{\"_id\":1,\"a\":{map}}}").as_bytes()), "{map}");
        }
    }
}

#[test]
fn a_new_id_that_its_key_does_not_give_back_is_stored() {
    let mut pair = pair("_id");
    for id in [NEW_ID, Value::Int64(5), Value::String("x".into()), Value::Null, NEW_ID] {
        pair.new_id = Some(id);
        for n in 0..5 {
            pair.check(format!("{{\"a\":{n}}}").as_bytes());
        }
    }
    pair.new_id = None;
    pair.check(b"{\"a\":1}");
    assert!(pair.encoder.counts().speculated > 10);
}

#[test]
fn the_id_is_the_field_that_was_asked_for() {
    for (id_field, lines) in [
        ("_id", &["{\"a\":1,\"_id\":\"x\"}", "{\"_id\":\"x\",\"id\":\"x\"}", "{\"_id\":1.5}", "{\"_id\":1.0}"][..]),
        ("_id", &["{\"_id\":1e400}", "{\"_id\":123456789012345678}", "{\"_id\":99999999999999999999}"]),
        (
            "_id",
            &[
                "{\"_id\":null}",
                "{\"_id\":true}",
                "{\"_id\":{\"a\":1}}",
                "{\"_id\":{\"$oid\":\"0123456789abcdef01234567\"}}",
            ],
        ),
        ("_id", &["{\"_id\":[1]}", "{\"a\":1}", "{}", "{\"_id\":\"\\u0000a\\u0000\"}", "{\"\\u005fid\":7}"]),
        (
            "id",
            &[
                "{\"a\":1,\"id\":\"x\",\"b\":2}",
                "{\"id\":5}",
                "{\"_id\":\"x\",\"id\":\"x\"}",
                "{\"_id\":\"x\",\"id\":\"y\"}",
            ],
        ),
        ("id", &["{\"_id\":5}", "{\"a\":1}", "{\"id\":5,\"_id\":5}", "{\"id\":5,\"_id\":5.0}", "{\"\\u0069d\":\"z\"}"]),
        ("id", &["{\"id\":1.0}", "{\"id\":-0}", "{\"id\":-7}", "{\"id\":{\"a\":1}}", "{\"id\":[]}", "{\"id\":null}"]),
    ] {
        for new_ids in [false, true] {
            let mut pair = pair(id_field);
            pair.new_id = new_ids.then_some(NEW_ID);
            for line in lines.iter().cycle().take(lines.len() * 4) {
                pair.check(line.as_bytes());
            }
        }
    }
}

#[test]
fn awkward_lines_are_as_the_parser_has_them() {
    let deep = |levels: usize| format!("{{\"_id\":1,\"a\":{}1{}}}", "[".repeat(levels), "]".repeat(levels));
    let nested = |levels: usize| format!("{}{{\"_id\":1}}{}", "{\"_id\":1,\"a\":".repeat(levels), "}".repeat(levels));
    let date = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        format!("{{\"_id\":1,\"a\":{open}{{\"$date\":{{\"$numberLong\":\"5\"}}}}{close}}}")
    };
    let long = format!("{{\"_id\":1,\"a\":\"{}\\n{}\"}}", "x".repeat(70), "ä".repeat(100));
    let near = MAX_DEPTH - 3..=MAX_DEPTH;
    let made: Vec<String> = near.clone().map(deep).chain(near.map(nested)).chain([long]).collect();
    let dates: Vec<String> = (MAX_DEPTH - 7..=MAX_DEPTH).map(date).collect();
    let lines: Vec<&[u8]> = include_bytes!("tests/awkward.jsonl").split(|&byte| byte == b'\n').collect();
    assert!(lines.len() > 100);
    let raw: &[&[u8]] = &[
        b"{\"_id\":1,\"a\":\"\xff\"}",
        b"{\"_id\":1,\"a\":\"x\\n\xe4\"}",
        b"{\"_id\":1,\"\xff\":1}",
        b"{\"_id\":1,\"a\":\"\x00\"}",
        b"{\"_id\":1,\"a\":\"\x1f\"}",
        b"{\"_id\":1,\"a\":\"\\n\x1f\"}",
        b"{\"_id\":1,\"a\":\"\\n\n\"}",
        b"{\"_id\":1,\"a\x00\":1}",
        b"{\"_id\":1,\xff\"a\":1}",
        b"\xef\xbb\xbf{\"_id\":1}",
        b"{\"_id\":1}\x00",
        b"{\"_id\":1}\r\n",
        b"{\r\n\"_id\"\t:\n1\r}\t",
    ];
    let lines =
        || lines.iter().copied().chain(made.iter().chain(&dates).map(String::as_bytes)).chain(raw.iter().copied());
    for id_field in ["_id", "id"] {
        for new_ids in [false, true] {
            let mut pair = pair(id_field);
            pair.new_id = new_ids.then_some(NEW_ID);
            for line in lines().chain(lines()) {
                pair.check(line);
            }
            for line in lines() {
                // Each line is encoded several times, so that it is learnt. Then similar lines are compared with the
                // learnt template.
                pair.check(line);
                pair.check(line);
                for cut in 0..line.len().min(60) {
                    pair.check(&line[..cut]);
                }
                pair.check(&[line, b" "].concat());
                pair.check(&[line, b"}"].concat());
                pair.check(line);
            }
        }
    }
}

#[test]
fn a_flood_of_odd_documents_costs_no_endless_learning() {
    let mut pair = pair("_id");
    for n in 0..1500 {
        pair.check(format!("{{\"_id\":1,\"odd{n}\":{{\"n{n}\":1}}}}").as_bytes());
    }
    let learnt = pair.encoder.counts().learnt;
    assert!(learnt <= 1500 / u64::from(LEARN_EVERY) + 64, "{learnt}");
    assert!(pair.encoder.templates.len() <= MAX_TEMPLATES);
    // Shapes that occur again are learnt nevertheless, when the credit suffices.
    for n in 0..50 {
        let speculated = pair.check(format!("{{\"_id\":{n},\"a\":{{\"b\":1}}}}").as_bytes());
        assert!(speculated || n <= LEARN_EVERY, "{n}");
    }
}

/// A value in JSON. There are few kinds, so that shapes occur again.
fn any_json() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        (-20i64..200).prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|x| format!("{x:e}")),
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
        "\"([a-z ]|ä|\\\\n|\\\\\"|\\\\u00e4|\\\\ud83d\\\\ude00|\\\\u0000){0,12}\"",
        "\"[a-z]{30,80}\"",
    ];
    scalar.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            (proptest::collection::vec(inner.clone(), 0..17), any_space())
                .prop_map(|(all, space)| format!("[{space}{}{space}]", all.join(&format!("{space},")))),
            any_map(inner, "a|b|\\$date|\\$oid|").prop_map(|map| map),
        ]
    })
}

fn any_space() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just(""), 1 => Just(" "), 1 => Just("\t\r\n ")]
}

/// A map with some of the names, mostly in their order.
fn any_map(values: impl Strategy<Value = String>, names: &'static str) -> impl Strategy<Value = String> {
    let names: Vec<&str> = names.split('|').collect();
    let all = 0..=names.len();
    (proptest::collection::vec((values, any::<bool>()), all), any_space(), 0..12usize).prop_map(
        move |(values, space, rotate)| {
            let mut fields: Vec<String> = values
                .iter()
                .zip(&names)
                .filter(|((_, is_there), _)| *is_there)
                .map(|((value, _), name)| format!("\"{name}\"{space}:{space}{value}"))
                .collect();
            if rotate == 0 && !fields.is_empty() {
                fields.rotate_left(1);
            }
            format!("{{{}}}", fields.join(&format!("{space},{space}")))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn lines_give_what_the_parser_and_the_row_encoder_give(
        documents in proptest::collection::vec(any_map(any_json(), "_id|a|b|c|d|id|e|\\u0066"), 1..8),
        order in proptest::collection::vec((any::<prop::sample::Index>(), proptest::option::weighted(0.3, (any::<prop::sample::Index>(), any_json()))), 1..60),
        id_field in prop_oneof![Just("_id"), Just("id")],
        new_ids in any::<bool>(),
        sightings in 1u32..3,
    ) {
        let options = ShapeOptions { document_sightings: sightings, nested_sightings: sightings, max_shapes: 30 };
        let mut pair = Pair::new(options, id_field, new_ids);
        for (which, change) in order {
            let mut line = documents[which.index(documents.len())].clone();
            if let Some((field, value)) = change {
                // A constant field gets another value. The shape remains, and the constant changes.
                let mut spans = Vec::new();
                template::find_spans(line.as_bytes(), &mut spans);
                if !spans.is_empty() {
                    let span = spans[field.index(spans.len())];
                    line.replace_range(span.value.0..span.value.1, &value);
                }
            }
            pair.check(line.as_bytes());
            if which.index(7) == 0 {
                pair.commit_all();
            }
        }
    }

    #[test]
    fn damaged_lines_give_the_errors_of_the_parser(
        document in any_map(any_json(), "_id|a|b|c|d|e"),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), 0..3, prop_oneof![any::<u8>(), prop::sample::select(b"{}[]\",:\\0-e. ".to_vec())]), 1..60),
    ) {
        let mut pair = pair("_id");
        pair.new_id = Some(NEW_ID);
        for _ in 0..8 {
            pair.check(document.as_bytes());
        }
        for (at, kind, byte) in damage {
            let mut line = document.clone().into_bytes();
            let at = at.index(line.len());
            match kind {
                0 => line[at] = byte,
                1 => line.insert(at, byte),
                _ => drop(line.remove(at)),
            }
            pair.check(&line);
        }
    }
}
