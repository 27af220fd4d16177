//! One word for each thing, and no notes about work that is left for later.

use super::Finding;
use super::mask::find_words;
use super::repo::{Repo, SourceFile, line_of};

/// The words are written in halves, so that this file passes the check.
const LATER: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
const PLACES: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];
const OTHER_LOG: &str = concat!("jour", "nal");
const PARTITION: [&str; 4] =
    [concat!("sha", "rd"), concat!("sha", "rds"), concat!("key", "space"), concat!("key", "spaces")];
const CODE: [(&str, &str); 4] = [
    ("todo!", "finish it"),
    ("unimplemented!", "finish it, or return a named error"),
    ("dbg!", "remove it"),
    ("#[ignore", "make the test run, or remove it"),
];

/// Allows the words on the line that contains this text.
const ALLOWED: &str = "tidy: allow";

pub(super) fn check(repo: &Repo, findings: &mut Vec<Finding>) {
    for file in &repo.files {
        for word in LATER {
            report(file, &file.text, word, "do it now, or leave it out", findings);
        }
        for place in PLACES {
            let what = "is a place on one machine: use a path from the repository or a temporary one";
            report(file, &file.text, place, what, findings);
        }
        if let Some(masked) = &file.rust {
            for (word, what) in CODE {
                report(file, &masked.code, word, what, findings);
            }
        }
        terms(file, findings);
    }
}

/// Checks the terms of the field, in prose and names. Literals may quote other texts.
fn terms(file: &SourceFile, findings: &mut Vec<Finding>) {
    let is_page = file.path.ends_with(".md");
    let (names, prose) = match &file.rust {
        Some(masked) => (masked.code.to_lowercase(), masked.comments.to_lowercase()),
        None if is_page => (String::new(), file.text.to_lowercase()),
        None => return,
    };
    for text in [&names, &prose] {
        let mut at = 0;
        while let Some(found) = text[at..].find(OTHER_LOG) {
            at += found;
            add(file, line_of(text, at), OTHER_LOG, "is called the WAL", findings);
            at += OTHER_LOG.len();
        }
    }
    let documents: String = match is_page {
        true => prose,
        false => prose.lines().map(|line| if is_doc(line) { format!("{line}\n") } else { "\n".into() }).collect(),
    };
    for word in PARTITION {
        report(file, &documents, word, "is called a partition", findings);
    }
}

fn is_doc(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("///") || line.starts_with("//!")
}

fn report(file: &SourceFile, text: &str, word: &str, what: &str, findings: &mut Vec<Finding>) {
    for at in find_words(text, word) {
        add(file, line_of(text, at), word, what, findings);
    }
}

fn add(file: &SourceFile, line: usize, word: &str, what: &str, findings: &mut Vec<Finding>) {
    let allowed = file.text.lines().nth(line - 1).is_some_and(|text| text.contains(ALLOWED));
    if !allowed {
        let what = format!("`{word}`: {what} (if it is meant, write `{ALLOWED}` and why on the line)");
        findings.push(Finding::new(&file.path, line, what));
    }
}
