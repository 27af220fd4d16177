//! `.gz` and `.zst` files, pipes and standard input, recognized by name and by their first bytes.

use crate::common::{Place, same_lines, with_id};
use std::io::Write;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn compressed_files_load_like_plain_ones() {
    let place = Place::new();
    let lines = place.comments("c.jsonl", 400);
    let plain = place.read("c.jsonl");
    // Two members, as in `cat a.gz b.gz`, split within a line.
    let (a, b) = plain.as_bytes().split_at(plain.len() / 2 + 7);
    place.write("c.jsonl.gz", [gzip(a), gzip(b)].concat());
    let zst = zstd::encode_all(plain.as_bytes(), 3).expect("memory");
    place.write("c.jsonl.zst", &zst);
    place.write("no-ending", &zst);
    for (name, file) in [("gz", "c.jsonl.gz"), ("zst", "c.jsonl.zst"), ("magic", "no-ending")] {
        let summary = place.json(&["load", "db", name, file, "--id-field", "id", "--json"]);
        assert_eq!(summary["documents"], 400, "{name}");
        assert_eq!(summary["json_bytes"], plain.len(), "{name}");
    }
    let piped = place.run_with(&["load", "db", "stdin", "-", "--id-field", "id"], &zst);
    assert_eq!(piped.code, Some(0), "{}", piped.err);
    let expected: Vec<String> = lines.iter().map(|line| with_id(line)).collect();
    for name in ["gz", "zst", "magic", "stdin"] {
        same_lines(&place.good(&["scan", "db", name]), &expected);
    }
    // The file is known to be loaded completely.
    let again = place.json(&["load", "db", "gz", "c.jsonl.gz", "--id-field", "id", "--json"]);
    assert_eq!(again["outcome"], "already_done");
}

#[test]
fn a_cut_file_is_an_error_that_names_it() {
    let place = Place::new();
    let lines = place.comments("c.jsonl", 5000);
    let expected: Vec<String> = lines.iter().map(|line| with_id(line)).collect();
    let zst = zstd::encode_all(place.read("c.jsonl").as_bytes(), 3).expect("memory");
    place.write("cut.zst", &zst[..zst.len() / 2]);
    let gz = gzip(place.read("c.jsonl").as_bytes());
    place.write("cut.gz", &gz[..gz.len() / 2]);
    place.write("c.zst", &zst);
    place.write("c.gz", &gz);
    for form in ["zst", "gz"] {
        let (cut, whole) = (format!("cut.{form}"), format!("c.{form}"));
        let said = place.bad(1, &["load", "db", form, &cut, "--id-field", "id"]);
        // All documents before the error are in the collection, and the message contains their number.
        let there: usize = place.good(&["count", "db", form]).trim().replace(',', "").parse().expect("a number");
        assert!((1000..5000).contains(&there), "{there}");
        assert!(said.contains(&format!("cannot read {cut} after line {there}: it ends early")), "{said}");
        let message = format!("{},{:03} documents loaded before remain", there / 1000, there % 1000);
        assert!(said.contains(&message) && said.contains("--on-duplicate skip"), "{said}");
        same_lines(&place.good(&["scan", "db", form]), &expected[..there]);
        let figures = place.json(&["load", "db", form, &whole, "--id-field", "id", "--on-duplicate", "skip", "--json"]);
        assert_eq!((&figures["documents"], &figures["duplicates"]), (&(5000 - there).into(), &there.into()));
        same_lines(&place.good(&["scan", "db", form]), &expected);
    }
    place.write("empty.gz", &gz[..gz.len().min(5)]);
    let said = place.bad(1, &["load", "db", "c", "empty.gz"]);
    assert!(said.contains("empty.gz: it ends early") && said.contains("nothing more of it is loaded"), "{said}");
    place.write("text.gz", "{\"_id\":1}\n");
    let said = place.bad(1, &["load", "db", "c", "text.gz"]);
    assert!(said.contains("text.gz"), "{said}");
}
