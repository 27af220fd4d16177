use super::*;

#[test]
fn names_come_back_from_files() {
    for (name, stem) in [
        ("pets", "pets"),
        ("a.b-c_~", "a.b-c_~"),
        ("a/b", "a%2Fb"),
        ("100% ", "100%25%20"),
        ("é:", "%C3%A9%3A"),
        ("..", ".."),
    ] {
        assert_eq!(file_stem(name), stem);
        assert_eq!(collection_name(stem).as_deref(), Some(name));
    }
    // Other programs leave these characters as they are.
    assert_eq!(collection_name("a:b@c").as_deref(), Some("a:b@c"));
    for stem in ["%", "%2", "%zz", "%ff"] {
        assert_eq!(collection_name(stem), None, "{stem}");
    }
}

#[test]
fn very_long_names_are_shortened_and_stay_apart() {
    let (one, other) = ("é".repeat(99) + "a", "é".repeat(99) + "b");
    assert!(is_shortened(&file_stem(&one)) && file_stem(&one) != file_stem(&other));
    assert!(file_stem(&one).starts_with(&"%C3%A9".repeat(33)));
    let just = "é".repeat(38);
    assert_eq!(file_stem(&just).len(), 228);
    assert_eq!(collection_name(&file_stem(&just)), Some(just));
    assert!(!is_shortened("pets"));
    // A stem that mongodump shortened.
    assert!(is_shortened(&("a".repeat(208) + "%24" + &"x".repeat(27))));
    let longest = file_stem(&one).len() + ".alluvium.jsonl".len() + ".gz".len() + ".part".len();
    assert!(longest <= 255, "{longest}");
}
