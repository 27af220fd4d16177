use super::{LONG_WORK, Linear, Long, Search};
use crate::interrupt::{Interrupt, Interruption};
use crate::pattern::{PatternError, Patterns, Span};
use proptest::prelude::*;
use regex_automata::Input;
use regex_automata::meta::Regex;
use regex_syntax::hir::Hir;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An interrupt that fails after this number of checks, and the number of checks.
fn stopped_after(calls: usize) -> (Interrupt, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let interrupt = Interrupt::new(move || match counter.fetch_add(1, Ordering::Relaxed) {
        call if call < calls => Ok(()),
        _ => Err(Interruption { code: crate::ErrorCode::Interrupted, message: "stopped".to_owned() }),
    });
    (interrupt, asked)
}

fn parsed(pattern: &str) -> Option<Hir> {
    regex_syntax::parse(pattern).ok()
}

fn groups_of(regex: &Regex, text: &str, at: usize) -> Option<Vec<Option<Span>>> {
    let mut groups = regex.create_captures();
    regex.search_captures(&Input::new(text).range(at..), &mut groups);
    groups.is_match().then(|| groups.iter().map(|span| span.map(|span| (span.start, span.end))).collect())
}

/// Random letters, which are the same in each run.
fn letters(from: &[u8], count: usize) -> String {
    let mut random = fastrand::Rng::with_seed(7);
    (0..count).map(|_| char::from(from[random.usize(..from.len())])).collect()
}

/// Compares the automata for long searches with the crate, for a search that begins at one position of a text.
fn compare(long: &Long, regex: &Regex, text: &str, start: usize, part: usize) -> Result<(), TestCaseError> {
    let (interrupt, _) = stopped_after(usize::MAX);
    let search = Search { text, start, part, interrupt: Some(&interrupt) };
    let found = groups_of(regex, text, start);
    let span = found.as_ref().and_then(|groups| groups[0]);
    prop_assert_eq!(long.end(&search).unwrap().is_some(), found.is_some());
    prop_assert_eq!(long.span(&search).unwrap(), span);
    if let Some((start, end)) = span {
        prop_assert_eq!(long.groups(&search, start..end).unwrap(), found);
    }
    Ok(())
}

/// Pieces of patterns, in the syntax of the crate.
const PIECES: &[&str] = &[
    "a",
    "b",
    "ab",
    "é",
    "K",
    "-",
    "^",
    "$",
    "|",
    "(",
    ")",
    "(?:",
    "(?i)",
    "(?m)",
    "(?s)",
    "(?m:^)",
    "(?m:$)",
    "*",
    "+",
    "?",
    "*?",
    "+?",
    "??",
    "{2}",
    "{1,3}",
    "{0,2}?",
    "\\d",
    "\\w",
    "\\W",
    "\\s",
    "\\b",
    "\\B",
    "(?-u:\\b)",
    "\\A",
    "\\z",
    ".",
    "\\p{Lu}",
    "\\P{L}",
    "[^a]",
    "[ab]",
    "()",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    /// The lazy DFA, with small and large tables, and the threads find the same matches as the crate.
    #[test]
    fn long_searches_find_what_the_crate_finds(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..12),
        texts in prop::collection::vec("([abABéÉKk\u{212a}1_ \\-\n]{0,12}|[ab]{0,300}|[aé]{0,40})", 1..5),
        tables in prop::sample::select(vec![0, 1 << 20]),
        part in 1usize..8,
    ) {
        let pattern = pieces.concat();
        let Some(hir) = parsed(&pattern) else { return Ok(()) };
        let Ok(regex) = Regex::builder().build_from_hir(&hir) else { return Ok(()) };
        let Some(mut long) = Long::new(&hir, tables) else { return Ok(()) };
        prop_assert!(long.lazy.is_some());
        for with_lazy in [true, false] {
            if !with_lazy {
                long.lazy = None;
            }
            for text in &texts {
                let middle = text.char_indices().nth(text.chars().count() / 2).map_or(text.len(), |(at, _)| at);
                for start in [0, middle, text.len()] {
                    compare(&long, &regex, text, start, part).map_err(|error| {
                        TestCaseError::fail(format!("{pattern:?} in {text:?} from {start}, DFA {with_lazy}: {error}"))
                    })?;
                }
            }
        }
    }
}

/// There is not enough space for the positions of all groups at once.
#[test]
fn many_groups_are_found_in_parts() {
    let pattern = "(a)(b)?".repeat(500);
    let hir = parsed(&pattern).unwrap();
    let regex = Regex::builder().build_from_hir(&hir).unwrap();
    let long = Long::new(&hir, 1 << 16).unwrap();
    assert!(super::threads::slots_at_once(&long.nfa) < long.nfa.group_info().slot_len());
    compare(&long, &regex, &format!("b{}", "aab".repeat(400)), 0, 64).unwrap();
}

/// The crate would keep the positions of all groups for all states, which takes 2 GB. The check allows for other tests
/// that run at the same time.
#[test]
fn the_memory_for_groups_is_bounded() {
    let pattern = format!("{}([ab]*)[ab]c", "()".repeat(6000));
    let text = format!("{}c", letters(b"ab", 500));
    let linear = |pattern: &str| {
        let hir = parsed(pattern).unwrap();
        let linear = Linear::new(Regex::builder().build_from_hir(&hir).unwrap(), 1 << 16);
        linear.groups(&text, 0, None, || Some(hir.clone())).unwrap().unwrap()
    };
    let before = peak_memory();
    let groups = linear(&pattern);
    assert!(peak_memory() - before < 1 << 20, "{} KiB", peak_memory() - before);
    let of_few = linear("([ab]*)[ab]c");
    assert_eq!((groups.len(), groups[0], groups[6000]), (6002, of_few[0], Some((0, 0))));
    assert_eq!(groups.last(), of_few.last());
}

/// The peak memory of the process, in KiB.
#[allow(clippy::disallowed_methods, reason = "the memory that is really used")]
fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Searches for a pattern as a query does.
#[test]
fn long_texts_have_the_matches_of_short_ones() {
    let ab = letters(b"ab", 1 << 20);
    for (pattern, text) in [
        // The match is long, and therefore its groups are searched for in a long text too.
        ("([ab]|x)*?(b)(c)", format!("{ab}c")),
        ("(a)([ab]{20})[c-z]", format!("{ab}c")),
        ("(a)([ab]{20})[c-z]", ab.clone()),
        ("b(a)b", ab.clone()),
        ("^(c)", format!("{ab}\ncd")),
        ("(?m)^(c)", format!("{ab}\ncd")),
        ("(c)d$", format!("{ab}\ncd\n")),
        // The boundary is one of Unicode words, next to a non-ASCII character.
        ("(*UCP)\\b(c)\\b", format!("é{ab} cé c é")),
        ("é(c)", format!("{ab}éc")),
        ("", ab),
    ] {
        let (interrupt, asked) = stopped_after(usize::MAX);
        let ours = Patterns::interrupted_by(Some(&interrupt)).compile_with_groups(pattern, "").unwrap();
        let theirs = Patterns::default().compile_with_groups(pattern, "").unwrap();
        for at in [0, 100_000] {
            let at = (at..).find(|at| text.is_char_boundary(*at)).unwrap();
            assert_eq!(ours.groups(&text, at), theirs.groups(&text, at), "{pattern}");
        }
        assert_eq!(ours.is_match(&text), theirs.is_match(&text), "{pattern}");
        assert!(asked.load(Ordering::Relaxed) >= 3, "{pattern}");
    }
}

/// The results are not compared with the crate, which may take minutes for these patterns.
#[test]
fn a_long_search_ends_when_its_query_must_end() {
    let text = letters(b"ab", 4 << 20);
    for pattern in ["[ab]*[c-z]", "a[ab]{20}[c-z]", "a[ab]{200}[c-z]", "(*UCP)a[ab]{20}\\b[c-z]", "(?:a?b?){100}[cd]"] {
        for calls in [0, 1, 5, 50] {
            let (interrupt, asked) = stopped_after(calls);
            let compiled = Patterns::interrupted_by(Some(&interrupt)).compile_with_groups(pattern, "").unwrap();
            let ended = compiled.is_match(&text).err();
            assert!(matches!(ended, Some(PatternError::Interrupted(_))), "{pattern}: {ended:?}");
            let ended = compiled.groups(&text, 1).err();
            assert!(matches!(ended, Some(PatternError::Interrupted(_))), "{pattern}: {ended:?}");
            assert_eq!(asked.load(Ordering::Relaxed), calls + 2, "{pattern}");
        }
    }
    // The threads, which are used when the DFA gives up, check the interrupt as well.
    let hir = parsed("[ab]*[c-z]").unwrap();
    let long = Long { lazy: None, ..Long::new(&hir, 1 << 16).unwrap() };
    let (interrupt, asked) = stopped_after(5);
    let search = Search { text: &text, start: 0, part: 64, interrupt: Some(&interrupt) };
    assert!(long.end(&search).is_err() && long.span(&search).is_err() && long.groups(&search, 0..text.len()).is_err());
    assert_eq!(asked.load(Ordering::Relaxed), 8);
}

/// The interrupt is checked for short texts, too, if the pattern is large: many short searches take as long as one long
/// search.
#[test]
fn the_interrupt_is_asked_by_the_work_and_not_by_the_length() {
    let pattern = "(?:[a-z]{30}[0-9]){100}";
    let text = letters(b"ab", 100);
    let (interrupt, asked) = stopped_after(usize::MAX);
    let large = Patterns::interrupted_by(Some(&interrupt)).compile(pattern, "").unwrap();
    assert_eq!(large.is_match(&text), Ok(false));
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let small = Patterns::interrupted_by(Some(&interrupt)).compile("a[0-9]", "").unwrap();
    assert_eq!(small.is_match(&text), Ok(false));
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

/// A literal text is found quickly without automata.
#[test]
fn a_literal_needs_no_automaton() {
    let regex = Regex::new("abc").unwrap();
    let linear = Linear::new(regex, 1 << 16);
    let text = "a".repeat(LONG_WORK);
    let (interrupt, _) = stopped_after(usize::MAX);
    assert_eq!(linear.is_match(&text, Some(&interrupt), || parsed("abc")), Ok(false));
    assert!(linear.long.get().is_some_and(Option::is_none));
}
