//! Properties of whole lines.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value};

use super::super::Generator;
use super::{SEED, documents, generate};

/// The fields of the sample in their order.
const FIELDS: &str = "all_awardings associated_award author author_created_utc author_flair_background_color \
    author_flair_css_class author_flair_richtext author_flair_template_id author_flair_text author_flair_text_color \
    author_flair_type author_fullname author_patreon_flair awarders body can_gild can_mod_post collapsed \
    collapsed_reason controversiality created_utc distinguished edited gilded gildings id is_submitter link_id locked \
    no_follow parent_id permalink quarantined removal_reason retrieved_on score send_replies steward_reports stickied \
    subreddit subreddit_id subreddit_name_prefixed subreddit_type total_awards_received";

/// The fields that are absent or null for a deleted author.
const OF_AUTHOR: [&str; 5] =
    ["author_created_utc", "author_flair_richtext", "author_flair_type", "author_fullname", "author_patreon_flair"];

fn text<'a>(document: &'a Value, field: &str) -> &'a str {
    document[field].as_str().unwrap_or_else(|| panic!("{field} in {document}"))
}

#[test]
fn the_same_seed_gives_the_same_lines() {
    let lines = generate(SEED, 2_000);
    assert_eq!(lines, generate(SEED, 2_000));
    assert_ne!(lines, generate(SEED + 1, 2_000));
    let mut generator = Generator::new(SEED);
    let mut line = Vec::new();
    for expected in lines.split_inclusive(|byte| *byte == b'\n') {
        line.clear();
        generator.write_line(&mut line);
        assert_eq!(line, expected, "whatever the buffer held before");
    }
    // The lines must never change, so that figures of different releases are measured on the same
    // data.
    assert_eq!(fnv(&lines), EXPECTED_HASH, "new hash {:#x}", fnv(&lines));
}

const EXPECTED_HASH: u64 = 0x9a9a_145c_61c0_a9dd;

/// The hash FNV-1a (Fowler, Noll, Vo).
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn every_field_of_the_sample_is_there_in_order() {
    let fields: Vec<&str> = FIELDS.split_whitespace().collect();
    let (mut complete, mut deleted) = (0, 0);
    for document in documents(&generate(SEED, 20_000)) {
        let members = document.as_object().unwrap();
        let is_deleted = text(&document, "author") == "[deleted]";
        deleted += u32::from(is_deleted);
        complete += u32::from(members.len() == fields.len());
        let wanted = fields.iter().filter(|field| !is_deleted || !OF_AUTHOR.contains(field));
        let known = members.keys().filter(|name| fields.contains(&name.as_str()));
        assert!(wanted.eq(known), "{document}");
        assert!(members.keys().is_sorted(), "further fields keep the alphabetical order");
    }
    assert!((17_500..19_000).contains(&complete), "{complete} lines have just the sample's fields");
    assert!((600..1_300).contains(&deleted), "{deleted} lines have no author");
}

#[test]
fn lines_are_compact_json() {
    let mut escapes = 0;
    for line in generate(SEED, 5_000).split_inclusive(|byte| *byte == b'\n') {
        let document: Value = serde_json::from_slice(line).unwrap();
        let compact = serde_json::to_string(&document).unwrap() + "\n";
        assert!(line.is_ascii());
        if compact.as_bytes() == line {
            continue;
        }
        // The only difference from the compact form: characters that are not ASCII are escaped, as
        // in the original.
        escapes += 1;
        assert!(!compact.is_ascii());
        assert_eq!(serde_json::from_str::<Value>(&compact).unwrap(), document);
    }
    assert!((50..1_500).contains(&escapes), "{escapes}");
}

#[test]
fn keys_ascend_and_fields_agree_with_each_other() {
    let (mut last_id, mut last_created) = (String::new(), 0);
    let (mut links, mut comments) = (HashMap::new(), HashMap::new());
    let (mut authors, mut subreddits) = (HashMap::new(), HashMap::new());
    let mut answers = 0;
    for document in documents(&generate(SEED, 30_000)) {
        let id = text(&document, "id");
        assert!(id.len() == 7 && last_id.as_str() < id, "{last_id} {id}");
        last_id = id.to_owned();
        let created = document["created_utc"].as_u64().unwrap();
        assert!(created >= last_created && created < document["retrieved_on"].as_u64().unwrap());
        assert!(document["edited"] == false || document["edited"].as_u64().unwrap() > created);
        last_created = created;

        let (subreddit, link) = (text(&document, "subreddit"), text(&document, "link_id"));
        assert_eq!(text(&document, "subreddit_name_prefixed"), format!("r/{subreddit}"));
        let permalink = text(&document, "permalink");
        let path = permalink.strip_suffix(&format!("/{id}/")).unwrap();
        let start = format!("/r/{subreddit}/comments/{}/", link.strip_prefix("t3_").unwrap());
        assert!(path.strip_prefix(&start).is_some_and(|title| !title.is_empty() && title.len() <= 50), "{permalink}");
        assert_eq!(links.entry(link.to_owned()).or_insert_with(|| path.to_owned()), path);
        comments.insert(format!("t1_{id}"), link.to_owned());
        let parent = text(&document, "parent_id");
        if parent != link {
            answers += 1;
            assert_eq!(comments.get(parent).unwrap(), link, "an answer stays in its thread");
        }

        let id = text(&document, "subreddit_id").to_owned();
        assert!(id.starts_with("t5_"));
        let of_subreddit = (id, document["subreddit_type"].clone(), document["quarantined"].clone());
        assert_eq!(subreddits.entry(subreddit.to_owned()).or_insert(of_subreddit.clone()), &of_subreddit);
        let author = text(&document, "author");
        if author != "[deleted]" {
            let fullname = text(&document, "author_fullname").to_owned();
            assert!(fullname.starts_with("t2_"));
            let of_author = (fullname, document["author_created_utc"].as_u64().unwrap());
            assert_eq!(authors.entry(author.to_owned()).or_insert(of_author.clone()), &of_author);
        }
    }
    assert!((10_000..20_000).contains(&answers), "{answers}");
    assert!(authors.len() > 10_000 && subreddits.len() > 1_000, "{} {}", authors.len(), subreddits.len());
}

/// Collects the different lists of field names, including lists of nested maps.
fn count_shapes(value: &Value, shapes: &mut HashSet<String>) {
    match value {
        Value::Object(members) => {
            shapes.insert(members.keys().map(String::as_str).collect::<Vec<_>>().join(" "));
            members.values().for_each(|member| count_shapes(member, shapes));
        }
        Value::Array(elements) => elements.iter().for_each(|element| count_shapes(element, shapes)),
        _ => {}
    }
}

#[test]
fn shapes_and_values_vary_as_real_ones_do() {
    let mut shapes = HashSet::new();
    let mut seen: HashMap<String, u32> = HashMap::new();
    let mut see = |what: String| *seen.entry(what).or_default() += 1;
    for document in documents(&generate(SEED, 60_000)) {
        count_shapes(&document, &mut shapes);
        let members: &Map<String, Value> = document.as_object().unwrap();
        members.iter().filter(|(_, value)| value.is_null()).for_each(|(name, _)| see(format!("null {name}")));
        for (name, value) in members {
            match value {
                Value::Bool(true) => see(format!("true {name}")),
                Value::String(_) => see(format!("text {name}")),
                Value::Array(elements) if !elements.is_empty() => see(format!("some {name}")),
                Value::Object(members) if !members.is_empty() => see(format!("some {name}")),
                Value::Number(_) => see(format!("number {name}")),
                _ => {}
            }
        }
        let awards = document["all_awardings"].as_array().unwrap();
        let total: u64 = awards.iter().map(|award| award["count"].as_u64().unwrap()).sum();
        assert_eq!(document["total_awards_received"].as_u64(), Some(total));
        assert_eq!(document["gilded"].as_u64(), Some(document["gildings"]["gid_2"].as_u64().unwrap_or(0)));
    }
    assert!((60..300).contains(&shapes.len()), "{} shapes", shapes.len());
    // The expected number of occurrences in 60,000 lines.
    let expected = [
        ("some all_awardings", 100..500),
        ("some gildings", 80..450),
        ("true author_cakeday", 100..400),
        ("text author_flair_css_class", 1_000..9_000),
        ("some author_flair_richtext", 1_000..9_000),
        ("text author_flair_template_id", 1_000..9_000),
        ("text author_flair_text", 2_000..15_000),
        ("true collapsed", 500..4_000),
        ("text collapsed_reason", 500..4_000),
        ("text distinguished", 300..1_500),
        ("number edited", 1_000..3_000),
        ("true is_submitter", 4_000..9_000),
        ("true stickied", 200..1_500),
        ("true locked", 50..1_000),
        ("true quarantined", 10..1_000),
    ];
    let wrong: BTreeSet<_> = expected
        .into_iter()
        .filter(|(what, range)| !range.contains(seen.get(*what).unwrap_or(&0)))
        .map(|(what, range)| format!("{what}: {:?}, not {range:?}", seen.get(what)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn lines_have_the_lengths_of_real_ones() {
    let mut generator = Generator::new(SEED);
    let (mut line, mut lengths) = (Vec::new(), Vec::new());
    for _ in 0..200_000 {
        line.clear();
        generator.write_line(&mut line);
        lengths.push(line.len() - 1);
    }
    lengths.sort_unstable();
    let mean = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
    let quantile = |share: f64| lengths[((lengths.len() - 1) as f64 * share) as usize] as f64;
    // The quantiles of a real month of such comments.
    let real = [
        ("p0", quantile(0.0), 919.0),
        ("p25", quantile(0.25), 1_119.0),
        ("p50", quantile(0.5), 1_184.0),
        ("p75", quantile(0.75), 1_304.0),
        ("p90", quantile(0.9), 1_516.0),
        ("p95", quantile(0.95), 1_742.0),
        ("p99", quantile(0.99), 2_506.0),
        ("p99.9", quantile(0.999), 5_106.0),
        ("mean", mean, 1_265.6),
    ];
    for (name, here, real) in real {
        println!("{name}: {here} (real {real})");
        assert!((here / real - 1.0).abs() < 0.05, "{name}: {here}, real {real}");
    }
    assert!(lengths.last().is_some_and(|longest| (8_000..=130_000).contains(longest)));
}

#[test]
fn lines_compress_as_real_ones_do() {
    let lines = generate(SEED, 80_000);
    let share = |bytes: usize| bytes as f64 / lines.len() as f64;
    let whole = share(zstd::bulk::compress(&lines, 3).unwrap().len());
    let pieces = share(lines.chunks(4096).map(|piece| lz4_flex::block::compress(piece).len()).sum());
    println!("zstd level 3, whole: {whole:.4}; LZ4, 4 KB pieces: {pieces:.4}");
    assert!((0.11..=0.14).contains(&whole), "zstd {whole:.4}");
    assert!((0.38..=0.46).contains(&pieces), "LZ4 {pieces:.4}");
}
