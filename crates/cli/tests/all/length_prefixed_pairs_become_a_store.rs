//! Length-prefixed keys and values are stored unchanged, and read as `_id` and `value`.

use crate::common::Place;
use alluvium_readonly::prefixed::write_pair;

#[test]
fn pairs_are_built_and_read() {
    let place = Place::new();
    let mut bytes = Vec::new();
    for n in (0..3000u32).rev() {
        // Lengths of 26 and 27 contain bytes that would be escaped in text.
        write_pair(format!("key{n:04}").as_bytes(), "v".repeat(n as usize % 60).as_bytes(), &mut bytes);
    }
    write_pair(b"\xff\x00", b"\x01\x02\x03", &mut bytes);
    place.write("pairs.kv", &bytes);
    let arguments = ["build", "p.ro", "pairs", "pairs.kv", "--key-values", "--index-interval", "7,70"];
    assert!(place.good(&arguments).starts_with("built p.ro of 3,001 pairs"));
    for interval in ["7", "70"] {
        let get = |key: &str| place.good(&["get", "p.ro", "pairs", key, "--index-interval", interval]);
        assert_eq!(get("key0026"), format!("{{\"_id\":\"key0026\",\"value\":\"{}\"}}\n", "v".repeat(26)));
        let binary = r#"{"$binary":{"base64":"/wA=","subType":"00"}}"#;
        assert_eq!(
            get(binary),
            format!("{{\"_id\":{binary},\"value\":{{\"$binary\":{{\"base64\":\"AQID\",\"subType\":\"00\"}}}}}}\n")
        );
    }
    assert_eq!(place.good(&["count", "p.ro", "pairs"]), "3001\n");
    let scan = place.good(&["scan", "p.ro", "pairs", "--from", "key1000", "--to", "key1002"]);
    assert_eq!(scan.lines().count(), 2);
    assert!(scan.starts_with("{\"_id\":\"key1000\""), "{scan}");
    assert_eq!(place.json(&["stats", "p.ro", "--json"])["content"], "key_values");
    assert!(place.bad(2, &["get", "p.ro", "pairs", "77"]).contains("the keys of this store are strings or binary"));

    let packed = zstd::encode_all(&bytes[..], 3).expect("memory");
    let ended = place.run_with(&["build", "q.ro", "pairs", "-", "--key-values"], &packed);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(place.good(&["scan", "q.ro", "pairs"]), place.good(&["scan", "p.ro", "pairs"]));
}

#[test]
fn what_is_no_pairs_is_named() {
    let place = Place::new();
    let mut bytes = Vec::new();
    write_pair(b"a", b"1", &mut bytes);
    write_pair(b"b", b"22", &mut bytes);
    place.write("cut.kv", &bytes[..bytes.len() - 1]);
    write_pair(b"a", b"3", &mut bytes);
    place.write("twice.kv", &bytes);
    place.write("text.kv", "these are no pairs\n");
    let build = |code: i32, more: &[&str]| place.bad(code, &[&["build", "x.ro", "p", "--key-values"], more].concat());
    assert!(build(1, &["cut.kv"]).contains("cut.kv: pair 2 is incomplete"));
    assert!(build(1, &["text.kv"]).contains("are these length-prefixed pairs?"));
    assert!(build(4, &["twice.kv"]).contains("pair 3 has a key that an earlier pair has: \"a\""));
    assert!(!place.path("x.ro").is_dir());
    place.good(&["build", "x.ro", "p", "--key-values", "twice.kv", "--on-duplicate", "replace"]);
    assert_eq!(place.good(&["get", "x.ro", "p", "a"]), "{\"_id\":\"a\",\"value\":\"3\"}\n");
}
