//! Golden cases: `cases.txt` describes files and the expected pick. After a change of the picker,
//! `ALLUVIUM_REWRITE=1 cargo test -p alluvium-lsm picker` writes the new results; the diff shows
//! the changes.
#![allow(clippy::disallowed_methods)]

use super::*;

const CASES: &str = include_str!("cases.txt");

/// Leaks the key, which is acceptable in a test.
fn key(text: &str) -> &'static [u8] {
    let (tree, text) = text.split_once(':').unwrap_or(("1", text));
    let mut key = tree.parse::<u32>().unwrap().to_be_bytes().to_vec();
    key.extend_from_slice(text.as_bytes());
    key.leak()
}

/// `number low-high bytes [entries=n] [tombstones=n] [shadowed=n] [released=n] [covered=n] [ranges=n] [seq=n] [busy] [scanned] [dropped=n/n] [covered]`
fn file(text: &str) -> FileDesc<'static> {
    let mut words = text.split_whitespace();
    let number = words.next().unwrap().parse().unwrap();
    let (low, high) = words.next().unwrap().split_once('-').unwrap();
    let bytes: u64 = words.next().unwrap().parse().unwrap();
    let (smallest, largest) = (key(low), key(high));
    let mut file = FileDesc { number, smallest, largest, bytes, entries: bytes * 10, ..FileDesc::default() };
    for word in words {
        match word.split_once('=') {
            Some(("entries", n)) => file.entries = n.parse().unwrap(),
            Some(("tombstones", n)) => file.tombstones = n.parse().unwrap(),
            Some(("shadowed", n)) => file.shadowed = n.parse().unwrap(),
            Some(("released", n)) => file.released = n.parse().unwrap(),
            Some(("covered", n)) => file.covered = n.parse().unwrap(),
            Some(("ranges", n)) => file.fragments = n.parse().unwrap(),
            Some(("seq", n)) => file.max_seq = n.parse().unwrap(),
            None if word == "busy" => file.busy = true,
            None if word == "scanned" => file.scanned = true,
            Some(("dropped", of)) => {
                let (dropped, trees) = of.split_once('/').unwrap();
                (file.dead_trees, file.trees) = (dropped.parse().unwrap(), trees.parse().unwrap());
            }
            None if word == "covered" => file.covered_wholly = true,
            _ => panic!("unknown word {word}"),
        }
    }
    file
}

fn rules() -> Rules {
    Rules {
        target_file_bytes: 160,
        upper_percent: 15,
        upper_floor_bytes: 100,
        soft_upper_runs: 4,
        max_runs: 10,
        max_job_bytes: 1000,
        max_range_bytes: 100,
        few_tombstones: 100,
        spotless_below: 0,
    }
}

fn describe(pick: Option<Pick>) -> String {
    let list = |files: &[u64]| files.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    match pick {
        None => "nothing".to_owned(),
        Some(Pick::Remove(files)) => format!("remove {}", list(&files)),
        Some(Pick::Move(moves)) => {
            let moves: Vec<_> = moves.iter().map(|(file, run)| format!("{file}>{run}")).collect();
            format!("move {}", moves.join(" "))
        }
        Some(Pick::Merge { reason, files, out }) => format!("merge for {reason:?}: {} into run {out}", list(&files)),
    }
}

/// The pick for the lines of a case.
fn answer(lines: &[&str]) -> String {
    let mut layout = Layout { oldest_snapshot: 1000, ..Layout::default() };
    let mut rules = rules();
    for line in lines {
        let (what, rest) = line.split_once(':').unwrap_or_else(|| panic!("no colon in {line}"));
        let mut words = what.split_whitespace();
        match (words.next().unwrap(), words.next()) {
            ("run", Some(id)) => {
                let files = rest.split(',').map(str::trim).filter(|text| !text.is_empty()).map(file).collect();
                layout.runs.push(RunDesc { id: id.parse().unwrap(), files });
            }
            // `span: out newest low-high`
            ("span", None) => {
                let words: Vec<&str> = rest.split_whitespace().collect();
                let (low, high) = words[2].split_once('-').unwrap();
                let (out, newest) = (words[0].parse().unwrap(), words[1].parse().unwrap());
                layout.spans.push(Span { out, newest, low: key(low).to_vec(), high: key(high).to_vec() });
            }
            ("oldest", None) => layout.oldest_snapshot = rest.trim().parse().unwrap(),
            ("ranges", None) => layout.range_bytes = rest.trim().parse().unwrap(),
            ("spotless", None) => rules.spotless_below = rest.trim().parse().unwrap(),
            ("floor", None) => rules.upper_floor_bytes = rest.trim().parse().unwrap(),
            ("job", None) => rules.max_job_bytes = rest.trim().parse().unwrap(),
            _ => panic!("unknown line {line}"),
        }
    }
    assert_eq!(layout.runs.last().unwrap().id, 0, "the last run is the base");
    assert!(layout.runs.windows(2).all(|pair| pair[0].id > pair[1].id), "runs newest first");
    describe(pick(&layout, &rules))
}

#[test]
fn the_picker_answers_as_written_down() {
    let mut actual = String::new();
    let mut wrong = Vec::new();
    let mut case: Vec<&str> = Vec::new();
    for line in CASES.lines() {
        match line.strip_prefix("=> ") {
            Some(expected) => {
                let found = answer(&case);
                if found != expected {
                    wrong.push(format!("{}\nexpected {expected}\nfound    {found}", case.join("\n")));
                }
                actual.push_str(&format!("=> {found}\n"));
                case.clear();
            }
            None => {
                if !line.starts_with('#') && !line.is_empty() {
                    case.push(line);
                }
                actual.push_str(line);
                actual.push('\n');
            }
        }
    }
    if std::env::var_os("ALLUVIUM_REWRITE").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/picker/cases.txt");
        std::fs::write(path, actual).unwrap();
        return;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

mod simulation;
