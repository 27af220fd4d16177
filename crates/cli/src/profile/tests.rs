use super::*;
use alluvium_document::json;

fn profile(documents: &[&str]) -> Profile {
    let mut profile = Profile::new(usize::MAX);
    for text in documents {
        let value = json::parse(text.as_bytes()).expect("JSON");
        profile.add(value.as_map().expect("a map"));
    }
    profile
}

/// Each field on a line: path, presence, types.
fn shown(profile: &Profile) -> Vec<String> {
    let percent = |share: f64| format!("{:.0}%", share * 100.0);
    let line = |field: Field<'_>| {
        let types: Vec<String> =
            field.types().iter().map(|(name, share)| format!("{name} {}", percent(*share))).collect();
        format!("{} {} {}", field.path, percent(field.presence(profile)), types.join(", "))
    };
    profile.fields().into_iter().map(line).collect()
}

#[test]
fn fields_have_types_and_presence() {
    let profile = profile(&[
        r#"{"_id": 1, "a": "x", "m": {"b": 1, "c": null}}"#,
        r#"{"_id": 2, "a": 5, "m": {}}"#,
        r#"{"_id": 3, "a": "y", "late": true, "m": {"c": 1.5, "d": 1}}"#,
        r#"{"_id": 4, "m": 7}"#,
    ]);
    assert_eq!(
        shown(&profile),
        [
            "_id 100% int 100%",
            "a 75% string 67%, int 33%",
            "m 100% object 75%, int 25%",
            "m.b 25% int 100%",
            "m.c 50% double 50%, null 50%",
            "m.d 25% int 100%",
            "late 25% bool 100%",
        ]
    );
}

#[test]
fn fields_below_the_levels_are_left_out() {
    let document = json::parse(br#"{"a": {"b": {"c": 1}}, "l": [[{"d": {"e": 1}}]]}"#).expect("JSON");
    let of_levels = |levels| {
        let mut profile = Profile::new(levels);
        profile.add(document.as_map().expect("a map"));
        let paths: Vec<String> = profile.fields().into_iter().map(|field| field.path).collect();
        (paths.join(" "), profile.is_deeper())
    };
    assert_eq!(of_levels(1), ("a l l[] l[][]".to_owned(), true));
    assert_eq!(of_levels(2), ("a a.b l l[] l[][] l[][].d".to_owned(), true));
    assert_eq!(of_levels(3), ("a a.b a.b.c l l[] l[][] l[][].d l[][].d.e".to_owned(), false));
}

#[test]
fn elements_of_arrays_are_one_field() {
    let profile = profile(&[
        r#"{"tags": ["a", "b", 1], "items": [{"price": 1}, {"price": 2}, 5]}"#,
        r#"{"tags": [], "items": [{"price": 3}]}"#,
        r#"{"deep": [[1], [2, 3]]}"#,
    ]);
    assert_eq!(
        shown(&profile),
        [
            "tags 67% array 100%",
            "tags[] 33% string 67%, int 33%",
            "items 67% array 100%",
            "items[] 67% object 75%, int 25%",
            "items[].price 67% int 100%",
            "deep 33% array 100%",
            "deep[] 33% array 100%",
            "deep[][] 33% int 100%",
        ]
    );
}

#[test]
fn values_have_a_range_a_number_and_examples() {
    let profile =
        profile(&[r#"{"a": 5, "n": null, "m": {}}"#, r#"{"a": -2.5}"#, r#"{"a": 5.0}"#, r#"{"a": 7}"#, r#"{"a": 9}"#]);
    let fields = profile.fields();
    let a = &fields[0];
    let (smallest, largest) = a.range().expect("values");
    assert_eq!((smallest, largest), (&Value::from(-2.5), &Value::from(9)));
    assert_eq!(a.distinct(&profile, 5), Some(Estimate { values: 4, certainty: Certainty::Exact }));
    assert_eq!(a.examples().len(), MOST_EXAMPLES);
    assert_eq!(a.examples()[0], Value::from(5));
    for field in &fields[1..] {
        assert!(field.range().is_none() && field.examples().is_empty(), "{}", field.path);
        assert_eq!(field.distinct(&profile, 5), None, "{}", field.path);
    }
}

#[test]
fn a_sample_is_extrapolated() {
    let documents: Vec<String> = (0..100).map(|n| format!("{{\"_id\": {n}, \"kind\": {}}}", n % 3)).collect();
    let profile = profile(&documents.iter().map(String::as_str).collect::<Vec<_>>());
    let fields = profile.fields();
    let about = |values| Some(Estimate { values, certainty: Certainty::About });
    assert_eq!(fields[0].distinct(&profile, 5000), about(5000));
    assert_eq!(fields[1].distinct(&profile, 5000), about(3));
}

#[test]
fn long_texts_are_kept_in_part() {
    let long = "é".repeat(KEPT_BYTES);
    let profile = profile(&[&format!("{{\"a\": \"{long}\"}}")]);
    let fields = profile.fields();
    let kept = fields[0].examples()[0].as_str().expect("a text");
    assert!(long.starts_with(kept) && kept.len() <= KEPT_BYTES, "{}", kept.len());
}

#[test]
fn names_that_are_data_do_not_take_all_memory() {
    let mut profile = Profile::new(usize::MAX);
    for n in 0..MOST_FIELDS + 10 {
        let mut map = Map::new();
        map.push("same", 1);
        map.push(format!("name{n}"), 1);
        profile.add(&map);
    }
    assert!(profile.is_cut());
    assert_eq!(profile.fields().len(), MOST_FIELDS);
    assert_eq!(profile.fields()[0].presence(&profile), 1.0);
}
