//! `mv`: values are put, loaded, printed in order and removed; wrong names and lines are reported.

use crate::common::Place;
use std::io::Write;

#[test]
fn values_are_put_loaded_printed_and_removed() {
    let place = Place::new();
    place.good(&["mv", "put", "ids", "by_author", "ann", "c", "a", "b", "a"]);
    place.good(&["mv", "put", "ids", "by_author", "annabel", "z"]);
    assert_eq!(place.good(&["mv", "get", "ids", "by_author", "ann"]), "a\nb\nc\n");
    assert_eq!(place.good(&["mv", "get", "ids", "by_author", "ann", "--reverse", "--limit", "2"]), "c\nb\n");
    assert_eq!(place.good(&["mv", "get", "ids", "by_author", "ann", "--reverse", "--limit", "0"]), "c\nb\na\n");
    assert_eq!(place.good(&["mv", "get", "ids", "by_author", "ann", "--from", "b", "--below", "c"]), "b\n");
    place.good(&["mv", "delete", "ids", "by_author", "ann", "b", "never"]);
    assert_eq!(place.good(&["mv", "get", "ids", "by_author", "ann"]), "a\nc\n");
    assert!(place.bad(3, &["mv", "get", "ids", "by_author", "nobody"]).contains("not found: nobody"));
    assert_eq!(place.good(&["mv", "get", "ids", "by_author", "ann", "--from", "x"]), "");
    let pairs: String = (0..5000).map(|n| format!("key{}\t{n:05}\r\n", n % 7)).collect();
    place.write("pairs.tsv", pairs.as_bytes());
    assert_eq!(place.good(&["mv", "load", "ids", "more", "pairs.tsv"]), "loaded 5,000 values\n");
    assert_eq!(place.good(&["mv", "get", "ids", "more", "key3", "--limit", "2"]), "00003\n00010\n");
    assert_eq!(place.good(&["mv", "get", "ids", "more", "key0", "--estimate"]), "715\n");
    let estimate = |range: &[&str]| -> u64 {
        let command = [&["mv", "get", "ids", "more", "key0", "--estimate"], range].concat();
        place.good(&command).trim().parse().expect("a number")
    };
    let half = estimate(&["--from", "02500"]);
    assert!((250..500).contains(&half) && estimate(&["--below", "02500"]) + half < 800, "{half}");
    assert_eq!((estimate(&["--from", "x"]), estimate(&["--limit", "3"])), (0, 3));
    assert_eq!(place.good(&["mv", "keys", "ids", "by_author"]), "ann\nannabel\n");
    place.good(&["mv", "delete", "ids", "more", "key3", "--all"]);
    assert!(place.bad(3, &["mv", "get", "ids", "more", "key3"]).contains("not found: key3"));
    assert_eq!(place.good(&["mv", "get", "ids", "more", "key2", "--limit", "1"]), "00002\n");
    place.good(&["mv", "delete", "ids", "more", "nobody", "--all"]);
    place.good(&["mv", "delete", "ids", "by_author", "ann", "--all"]);
    place.good(&["mv", "put", "ids", "by_author", "ann", "d"]);
    assert_eq!(place.good(&["mv", "get", "ids", "by_author", "ann"]), "d\n");
    assert_eq!(place.good(&["mv", "keys", "ids", "by_author"]), "ann\nannabel\n");
}

#[test]
fn what_is_merged_beside_them_keeps_its_shapes() {
    let place = Place::new();
    place.comments("c.jsonl", 3000);
    place.good(&["load", "db", "c", "c.jsonl", "--id-field", "id", "--partitions", "1", "--memory", "64M"]);
    let pairs: String = (0..300_000).map(|n| format!("key{}\t{n:08}\n", n % 1000)).collect();
    place.write("pairs.tsv", pairs);
    // Enough data to flush the documents in the log.
    place.good(&["mv", "load", "db", "set", "pairs.tsv", "--memory", "8M"]);
    let dir = place.path("db/p000");
    let files = std::fs::read_dir(dir).expect("a partition").map(|entry| entry.expect("an entry").path());
    let sorted: Vec<_> = files.filter(|path| path.extension().is_some_and(|kind| kind == "sst")).collect();
    let said: Vec<String> = sorted.iter().map(|path| place.good(&["inspect", &path.display().to_string()])).collect();
    assert!(said.iter().any(|said| said.contains("shapes")), "{said:?}");
}

#[test]
fn mistakes_are_reported() {
    let place = Place::new();
    place.good(&["mv", "put", "ids", "by_author", "ann", "a"]);
    let message = place.bad(3, &["mv", "get", "ids", "by_autor", "ann"]);
    assert!(message.contains("by_author"), "{message}");
    place.write("bad.tsv", b"key\tvalue\nno tab\n");
    // As with `load`, the values before the line are stored, and the message contains their number.
    let message = place.bad(1, &["mv", "load", "ids", "more", "bad.tsv"]);
    assert!(message.contains("bad.tsv line 2") && message.contains("1 value before that"), "{message}");
    assert_eq!(place.good(&["mv", "get", "ids", "more", "key"]), "value\n");
    place.bad(2, &["mv", "put", "ids", "by_author", "ann"]);
    place.bad(2, &["mv", "delete", "ids", "by_author", "ann"]);
    place.bad(2, &["mv", "delete", "ids", "by_author", "ann", "a", "--all"]);
    let message = place.bad(3, &["mv", "delete", "ids", "by_autor", "ann", "--all"]);
    assert!(message.contains("by_author"), "{message}");
    assert_eq!(place.good(&["mv", "get", "ids", "by_author", "ann"]), "a\n");
}

#[test]
fn compressed_pairs_and_standard_input_are_loaded() {
    let place = Place::new();
    let pairs: String = (0..3000).map(|n| format!("key\t{n:04}\n")).collect();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(pairs.as_bytes()).expect("memory");
    let gz = encoder.finish().expect("memory");
    place.write("pairs.gz", &gz);
    place.write("pairs.zst", zstd::encode_all(pairs.as_bytes(), 3).expect("memory"));
    for file in ["pairs.gz", "pairs.zst"] {
        assert_eq!(place.good(&["mv", "load", "ids", file, file]), "loaded 3,000 values\n");
    }
    let piped = place.run_with(&["mv", "load", "ids", "piped", "-"], pairs.as_bytes());
    assert_eq!((piped.code, piped.out.as_str()), (Some(0), "loaded 3,000 values\n"), "{}", piped.err);
    for set in ["pairs.gz", "pairs.zst", "piped"] {
        assert_eq!(place.good(&["mv", "get", "ids", set, "key"]).lines().count(), 3000, "{set}");
    }
    place.write("cut.gz", &gz[..gz.len() / 2]);
    let message = place.bad(1, &["mv", "load", "ids", "cut", "cut.gz"]);
    assert!(message.contains("cut.gz line ") && message.contains("it ends early"), "{message}");
    let there = place.good(&["mv", "get", "ids", "cut", "key"]).lines().count();
    assert!(there > 0 && message.contains(&format!("line {}: ", there + 1)), "{there}: {message}");
}

#[test]
fn sets_are_listed_and_dropped() {
    let place = Place::new();
    for set in ["ids", "by_author"] {
        place.good(&["mv", "put", "db", set, "ann", "a"]);
    }
    place.good(&["put", "db", "pets", "rex", "{}"]);
    assert_eq!(place.good(&["mv", "sets", "db"]), "by_author\nids\n");
    assert!(place.bad(2, &["mv", "drop", "db", "ids"]).contains("--yes"));
    place.good(&["mv", "drop", "db", "ids", "--yes"]);
    assert_eq!(place.good(&["mv", "sets", "db"]), "by_author\n");
    assert!(place.bad(3, &["mv", "get", "db", "ids", "ann"]).contains("there is: by_author"));
    assert_eq!(place.good(&["mv", "get", "db", "by_author", "ann"]), "a\n");
    // A set without a name is refused, and its store is not created either.
    assert!(place.bad(2, &["mv", "put", "new", "", "ann", "a"]).contains("a set needs a name"));
    assert!(!place.path("new").exists());
}
