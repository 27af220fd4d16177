use super::*;
use crate::ErrorCode;
use alluvium_document::json;
use proptest::prelude::*;

fn map(text: &str) -> Map {
    json::parse(text.as_bytes()).unwrap().as_map().unwrap().clone()
}

fn collation(options: &str) -> Collation {
    Collation::parse(&map(options)).unwrap().unwrap()
}

/// The texts in the order of the collation, with `=` between equal ones.
fn ordered(options: &str, texts: &[&str]) -> String {
    let collation = collation(options);
    let mut texts = texts.to_vec();
    texts.sort_by(|a, b| collation.compare(a, b));
    let mut all = texts.first().copied().unwrap_or_default().to_owned();
    for pair in texts.windows(2) {
        all += if collation.compare(pair[0], pair[1]).is_eq() { "=" } else { " " };
        all += pair[1];
    }
    all
}

#[test]
fn languages_order_their_letters() {
    for (options, texts, expected) in [
        (r#"{"locale": "en"}"#, &["zebra", "Äpfel", "apfel", "Apfel"][..], "apfel Apfel Äpfel zebra"),
        (r#"{"locale": "de"}"#, &["Öl", "Olm", "Oz"], "Öl Olm Oz"),
        (r#"{"locale": "de@collation=phonebook"}"#, &["Öl", "Olm", "Oz", "Of"], "Öl Of Olm Oz"),
        (r#"{"locale": "sv"}"#, &["ö", "z", "ä", "å", "a"], "a z å ä ö"),
        (r#"{"locale": "fr"}"#, &["cote", "coté", "côte", "côté"], "cote coté côte côté"),
        (r#"{"locale": "fr_CA"}"#, &["cote", "coté", "côte", "côté"], "cote côte coté côté"),
        (r#"{"locale": "es"}"#, &["lz", "llama", "luz"], "llama luz lz"),
        (r#"{"locale": "es@collation=traditional"}"#, &["lz", "llama", "luz"], "luz lz llama"),
        (r#"{"locale": "en_US_POSIX"}"#, &["a", "B", "b", "A"], "A B a b"),
        (r#"{"locale": "da"}"#, &["a", "A"], "A a"),
    ] {
        assert_eq!(ordered(options, texts), expected, "{options}");
    }
}

#[test]
fn options_change_what_is_equal_and_what_is_first() {
    for (options, texts, expected) in [
        (r#"{"locale": "en", "strength": 1}"#, &["a", "A", "á", "b"][..], "a=A=á b"),
        (r#"{"locale": "en", "strength": 2}"#, &["a", "A", "á", "b"], "a=A á b"),
        (r#"{"locale": "en", "strength": 3}"#, &["A", "a", "á", "b"], "a A á b"),
        (r#"{"locale": "en", "strength": 1, "caseLevel": true}"#, &["A", "a", "á"], "a=á A"),
        (r#"{"locale": "en", "strength": 1.0, "caseLevel": 1}"#, &["A", "a", "á"], "a=á A"),
        (r#"{"locale": "en", "caseFirst": "upper"}"#, &["a", "A", "b"], "A a b"),
        (r#"{"locale": "en", "caseFirst": "lower"}"#, &["A", "a", "b"], "a A b"),
        (r#"{"locale": "en"}"#, &["a10", "a9", "a1"], "a1 a10 a9"),
        (r#"{"locale": "en", "numericOrdering": true}"#, &["a10", "a9", "a1"], "a1 a9 a10"),
        (r#"{"locale": "en"}"#, &["de luge", "deluge", "de-luge"], "de luge de-luge deluge"),
        (r#"{"locale": "en", "alternate": "shifted"}"#, &["de luge", "de-luge", "deluge"], "de luge=de-luge=deluge"),
        (
            r#"{"locale": "en", "alternate": "shifted", "maxVariable": "space"}"#,
            &["de luge", "deluge", "de-luge"],
            "de-luge de luge=deluge",
        ),
        (r#"{"locale": "en", "alternate": "shifted", "strength": 4}"#, &["deluge", "de luge"], "de luge deluge"),
        (r#"{"locale": "en", "strength": 3}"#, &["\u{e9}", "e\u{301}"], "\u{e9}=e\u{301}"),
        (r#"{"locale": "en", "strength": 5}"#, &["\u{e9}", "e\u{301}"], "\u{e9}=e\u{301}"),
    ] {
        assert_eq!(ordered(options, texts), expected, "{options}");
    }
}

#[test]
fn wrong_options_are_refused_with_mongodbs_codes() {
    for (options, code, part) in [
        ("{}", ErrorCode::IDLFailedToParse, "needs a locale"),
        (r#"{"locale": 1}"#, ErrorCode::TypeMismatch, "'locale' of a collation is a string"),
        (r#"{"locale": ""}"#, ErrorCode::BadValue, "no known language"),
        (r#"{"locale": "xx"}"#, ErrorCode::BadValue, "no known language"),
        (r#"{"locale": "en_us"}"#, ErrorCode::BadValue, r#"is written "en_US""#),
        (r#"{"locale": "en-US"}"#, ErrorCode::BadValue, "no known language"),
        (r#"{"locale": "en_US-u-kn"}"#, ErrorCode::BadValue, "malformed"),
        (r#"{"locale": "en_!"}"#, ErrorCode::BadValue, "malformed"),
        (r#"{"locale": "de@collation=search"}"#, ErrorCode::NotImplemented, "type 'search' are not supported"),
        (r#"{"locale": "sv@collation=phonebook"}"#, ErrorCode::BadValue, "'sv' has no collation"),
        (r#"{"locale": "de@collation=phonbook"}"#, ErrorCode::BadValue, "did you mean phonebook?"),
        (r#"{"locale": "de@currency=EUR"}"#, ErrorCode::BadValue, "other keywords"),
        (r#"{"locale": "en", "strenght": 1}"#, ErrorCode::IDLUnknownField, "did you mean strength?"),
        (r#"{"locale": "en", "strength": 0}"#, ErrorCode::Location51024, "from 1 to 5"),
        (r#"{"locale": "en", "strength": 6}"#, ErrorCode::Location51024, "from 1 to 5"),
        (r#"{"locale": "en", "strength": "1"}"#, ErrorCode::TypeMismatch, "is a number"),
        (r#"{"locale": "en", "caseFirst": "Upper"}"#, ErrorCode::BadValue, "'upper', 'lower', 'off'"),
        (r#"{"locale": "en", "caseFirst": "upper", "strength": 2}"#, ErrorCode::BadValue, "needs caseLevel"),
        (r#"{"locale": "en", "alternate": "ignore"}"#, ErrorCode::BadValue, "'non-ignorable', 'shifted'"),
        (r#"{"locale": "en", "maxVariable": "symbol"}"#, ErrorCode::BadValue, "'punct', 'space'"),
        (r#"{"locale": "en", "numericOrdering": "yes"}"#, ErrorCode::TypeMismatch, "is a boolean"),
        (r#"{"locale": "fr", "backwards": true}"#, ErrorCode::NotImplemented, "backwards: true"),
        (r#"{"locale": "fr_CA", "backwards": false}"#, ErrorCode::NotImplemented, "backwards: false"),
        (r#"{"locale": "en", "version": 57}"#, ErrorCode::TypeMismatch, "'version' of a collation is a string"),
    ] {
        let error = Collation::parse(&map(options)).unwrap_err();
        assert_eq!(error.code(), code, "{options}: {error}");
        assert!(error.to_string().contains(part), "{options}: {error}");
    }
    // The other options of `simple` are checked but have no effect.
    assert_eq!(Collation::parse(&map(r#"{"locale": "simple"}"#)), Ok(None));
    assert_eq!(Collation::parse(&map(r#"{"locale": "simple", "strength": 1, "numericOrdering": true}"#)), Ok(None));
    assert!(Collation::parse(&map(r#"{"locale": "simple", "strength": 6}"#)).is_err());
    // Null counts as missing.
    let nulls = r#"{"locale": "en", "strength": 2, "caseLevel": null, "alternate": null, "maxVariable": null}"#;
    assert_eq!(Collation::parse(&map(nulls)), Collation::parse(&map(r#"{"locale": "en", "strength": 2}"#)));
}

#[test]
fn all_options_are_written_and_parsed_again() {
    for options in [
        r#"{"locale": "en"}"#,
        r#"{"locale": "fr_CA"}"#,
        r#"{"locale": "th", "strength": 2}"#,
        r#"{"locale": "da", "numericOrdering": true, "alternate": "shifted", "maxVariable": "space"}"#,
        r#"{"locale": "zh@collation=stroke", "normalization": true, "strength": 5, "caseLevel": true}"#,
    ] {
        let once = collation(options);
        let again = Collation::parse(&once.to_map()).unwrap().unwrap();
        assert_eq!((&again, again.to_map()), (&once, once.to_map()), "{options}");
    }
    assert_eq!(collation(r#"{"locale": "en", "strength": 3}"#), collation(r#"{"locale": "en"}"#));
    let other = map(r#"{"locale": "en", "version": "57.1"}"#);
    assert_eq!(Collation::parse(&other), Ok(Some(collation(r#"{"locale": "en"}"#))));
    let error = Collation::check_version(&other).unwrap_err();
    assert_eq!(error.code(), ErrorCode::IncompatibleCollationVersion);
    assert!(error.to_string().contains("57.1"), "{error}");
    assert!(Collation::check_version(&collation(r#"{"locale": "en"}"#).to_map()).is_ok());
    assert_ne!(collation(r#"{"locale": "en", "strength": 2}"#), collation(r#"{"locale": "en"}"#));
    let thai = collation(r#"{"locale": "th"}"#).to_map();
    assert_eq!(thai.get("alternate"), Some(&Value::from("shifted")));
}

/// The order of each type of a locale differs from the locale's standard order.
#[test]
fn types_of_collations_differ_from_the_standard() {
    let texts = [
        "ch",
        "c",
        "d",
        "ll",
        "l",
        "m",
        "ä",
        "a",
        "ae",
        "v",
        "w",
        "ক",
        "ক্",
        "ಂ",
        "ක",
        "ඥ",
        "ක්‍ෂ",
        "一",
        "丁",
        "七",
        "乙",
        "亜",
        "가",
        "ڭ",
        "ا",
        "ﺎ",
        "ی",
        "ي",
    ];
    let key = |locale: &str| {
        let collation = collation(&format!(r#"{{"locale": "{locale}", "strength": 5}}"#));
        texts.map(|text| collation.text_key(text))
    };
    for (standard, locale) in [
        ("de", "de@collation=phonebook"),
        ("es", "es@collation=traditional"),
        ("fi", "fi@collation=traditional"),
        ("sv", "sv@collation=traditional"),
        ("zh", "zh@collation=stroke"),
        ("zh", "zh@collation=zhuyin"),
        ("zh", "zh@collation=unihan"),
        ("ja", "ja@collation=unihan"),
        ("bn", "bn@collation=traditional"),
    ] {
        assert_ne!(key(standard), key(locale), "{locale}");
    }
    assert_eq!(key("zh"), key("zh@collation=pinyin"));
    assert_eq!(key("de"), key("de@collation=standard"));
}

/// Indexes store collation keys: if this fails after an update of ICU4X, [`VERSION`] has to change.
#[test]
fn collation_keys_stay_the_same() {
    let mut hash = Vec::new();
    for options in [
        r#"{"locale": "en"}"#,
        r#"{"locale": "de@collation=phonebook", "strength": 1}"#,
        r#"{"locale": "sv", "strength": 2}"#,
        r#"{"locale": "fr_CA", "strength": 4, "alternate": "shifted"}"#,
        r#"{"locale": "da", "strength": 5, "caseLevel": true, "numericOrdering": true}"#,
        r#"{"locale": "ja"}"#,
        r#"{"locale": "zh"}"#,
    ] {
        let collation = collation(options);
        for text in ["", "a", "Zoë", "côté 10-9", "Ångström", "straße", "日本語", "русский", "हिन्दी", "👍\0\u{ffff}"]
        {
            collation.put_sort_key(text, &mut hash);
            hash.push(0);
        }
    }
    assert_eq!(format!("{:016x}", alluvium_codec::hash64(&hash)), "18ce4351d79c44ac");
}

fn text() -> impl Strategy<Value = String> {
    let letter = prop::sample::select(vec![
        "a",
        "A",
        "á",
        "b",
        "B",
        "z",
        "å",
        "ä",
        "ö",
        "o",
        "ss",
        "ß",
        "1",
        "10",
        "9",
        " ",
        "-",
        "\0",
        "\u{301}",
        "日",
        "ж",
        "\u{10ffff}",
        "é",
        "e",
        "E",
        "_",
    ]);
    prop_oneof![prop::collection::vec(letter, 0..5).prop_map(|parts| parts.concat()), ".{0,4}"]
}

proptest! {
    /// Collation keys have the order of the strings, and the encoded keys of values have it too.
    #[test]
    fn keys_compare_like_texts(
        locale in prop::sample::select(vec!["en", "de", "sv", "fr_CA", "th", "ja", "da"]),
        strength in 1..=5,
        shifted: bool,
        numeric: bool,
        level: bool,
        a in text(),
        b in text(),
    ) {
        let alternate = if shifted { "shifted" } else { "non-ignorable" };
        let collation = collation(&format!(
            r#"{{"locale": "{locale}", "strength": {strength}, "alternate": "{alternate}", "numericOrdering": {numeric},
                "caseLevel": {level}}}"#
        ));
        let order = collation.compare(&a, &b);
        prop_assert_eq!(collation.text_key(&a).cmp(&collation.text_key(&b)), order);
        let nested = |text: &str| Value::Array(vec![Value::Int32(1), Value::Map(Map::from([("x", Value::from(text))]))]);
        prop_assert_eq!(collation.compare_values(&nested(&a), &nested(&b)), order);
        let key = |text: &str| {
            let mut key = Vec::new();
            collation.encode_key(&nested(text), &mut key);
            key
        };
        prop_assert_eq!(key(&a).cmp(&key(&b)), order);
        prop_assert_eq!(compare(&collation.keyed(&nested(&a)), &collation.keyed(&nested(&b))), order);
    }
}
