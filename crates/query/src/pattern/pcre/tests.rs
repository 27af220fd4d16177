use super::super::{Pattern, PatternError, Patterns, Search, backtrack};
use super::{Flags, Translated, backtracking, translate};
use crate::interrupt::{Interrupt, Interruption};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn compiled(pattern: &str, options: &str) -> Result<Pattern, PatternError> {
    Patterns::default().compile(pattern, options)
}

fn translated(pattern: &str, options: &str) -> String {
    let flags = Flags { multi_line: options.contains('m'), extended: options.contains('x'), ..Flags::default() };
    translate(pattern, flags).unwrap().text().to_owned()
}

/// Patterns and options, with texts in which they are found, and texts in which they are not found.
const FOUND: &[(&str, &str, &[&str], &[&str])] = &[
    ("[a[b]", "", &["a", "[", "b"], &["]", "c"]),
    ("[&&a]", "", &["&", "a"], &["b"]),
    ("[+--]", "", &["+", ",", "-"], &[".", "*"]),
    ("[a-]", "", &["a", "-"], &["b"]),
    ("[a-c-e]", "", &["b", "-", "e"], &["d"]),
    ("[\\E^\\Q\\E]a]", "", &["b"], &["]", "a"]),
    ("^\\w\\W$", "i", &["aſ", "k\u{212a}"], &["ſa", "\u{212a}-"]),
    ("[]a]", "", &["]", "a"], &["["]),
    ("[\\Qa\\E-c!\\E-$]", "", &["b", "\"", "#"], &["-", "d"]),
    ("[^]a]", "", &["["], &["]", "a", ""]),
    ("[\\w-]", "", &["-", "q"], &["+"]),
    ("[[:alpha:][:^digit:]_]", "", &["a", "+"], &["7"]),
    ("[a b]", "x", &[" ", "a"], &["c"]),
    ("[\\Q^]\\E]", "", &["^", "]"], &["\\", "Q"]),
    ("[\\b\\x41\\x{e9}\\101-\\103]", "", &["\u{8}", "A", "é", "C"], &["b", "D"]),
    ("^\\d+$", "", &["12", "12\n"], &["١٢", "12\n\n", ""]),
    ("^\\w$", "", &["e", "_"], &["é", "-"]),
    ("(*UCP)^\\w$", "", &["e", "é"], &["-"]),
    ("(*UTF8)é", "", &["é"], &["e"]),
    ("a\\b", "", &["a", "a-", "aé"], &["ab"]),
    ("^\\S\\s\\S$", "", &["a b", "é\u{b}é"], &["a\u{a0}b"]),
    ("^a\\hb\\Rc$", "", &["a\tb\r\nc", "a\u{a0}b\u{2028}c"], &["a\nb\nc"]),
    ("^[\\H\\v]$", "", &["a", "\n"], &[" "]),
    ("^a$", "m", &["a\nb", "b\na"], &["ab"]),
    ("(?m)^a$", "", &["b\na\nc"], &["ab"]),
    ("(?:(?m)^a$|b)c?$", "", &["x\na\n", "b\n"], &["x\na\nc", "bc\n\n"]),
    ("a\\Z", "", &["a", "a\n"], &["a\n\n"]),
    ("a\\z", "", &["a"], &["a\n"]),
    ("\\<a\\>", "", &["<a>"], &["a"]),
    ("a{,b", "", &["a{,b"], &["a"]),
    ("(?:a{2}){2}", "", &["aaaa"], &["aaa"]),
    ("^a{x}$", "", &["a{x}"], &["a"]),
    ("\\Qa.b\\E+", "", &["a.b", "a.bbb"], &["axb"]),
    ("\\Qa.b", "", &["a.b"], &["axb"]),
    ("a # b\n c", "x", &["ac"], &["a"]),
    ("a\\ b", "x", &["a b"], &["ab"]),
    ("a(?x: b c # d )\n) e", "", &["abc e"], &["abce"]),
    ("a(?#not )b", "", &["ab"], &["a"]),
    ("(?<name>a)(?'other'b)(?P<third>c)(?|d|e)", "", &["abcd", "abce"], &["abc"]),
    ("(?i)A(?-i)B", "", &["aB", "AB"], &["ab"]),
    ("a??b*?c+?", "", &["c", "abc"], &["ab"]),
    ("^\\e\\cA\\a\\o{101}\\012\\0$", "", &["\u{1b}\u{1}\u{7}A\n\0"], &[""]),
    ("^\\141\\1412(a)(b)\\47\\779$", "", &["aa2ab'?9"], &["a"]),
    ("^(\\101)\\12$", "", &["A\n"], &["AA"]),
    ("^\\N+$", "s", &["ab"], &["a\nb"]),
    ("^\\p{^L}\\P{^Lu}\\pL$", "", &["1Ab"], &["1ab", "aAb"]),
    ("İ", "i", &["İ"], &["j"]),
    // Patterns that need backtracking.
    ("^(?=.*b)a", "", &["ab", "acb"], &["a", "b"]),
    ("(?=B)", "i", &["ab"], &["a"]),
    ("a(?!b)", "", &["ac", "a", "aba"], &["ab", ""]),
    ("(?<=a)b", "", &["ab"], &["b", "cb"]),
    ("(?<!a)b", "", &["b", "cb", "abb"], &["ab"]),
    ("(?<=a|bc)d", "", &["ad", "bcd"], &["cd", "bd"]),
    ("(?<=a{2})b+", "", &["aab"], &["ab"]),
    ("(?<=(?=a+)a)b", "", &["ab"], &["cb"]),
    ("^(?!.*(?:x|y)$)a", "", &["ab"], &["abx", "ay", "b"]),
    ("^(?=a$)", "", &["a", "a\n"], &["ab", "a\n\n"]),
    ("^(?=a$)", "m", &["a", "a\nb", "b\na"], &["ab"]),
    ("^a(?=.b)", "s", &["a\nb"], &["ab"]),
    ("^a(?=.b)", "", &["acb"], &["a\nb"]),
    ("a (?= b ) # c\n b", "x", &["ab"], &["a b"]),
    ("(a|b)\\1", "", &["aa", "bb"], &["ab", "a"]),
    ("^(?<n>a+)-\\k<n>$", "", &["aa-aa", "a-a\n"], &["aa-a", "a-aa"]),
    ("^(?<n>a+)-(?P=n)\\k{n}\\k'n'\\g{n}$", "", &["a-aaaa"], &["a-a"]),
    ("(a)(b)\\g{-1}\\g1\\g{2}", "", &["abbab"], &["abaab"]),
    ("(é)\\1", "i", &["éÉ", "ÉÉ"], &["é", "éa"]),
    ("(a)(?i)\\1", "", &["aA"], &["Aa"]),
    ("(?:(a)|b)\\1c", "", &["aac"], &["bc"]),
    ("^\\Z(?!a)", "", &["", "\n"], &["a"]),
    ("^(?>a*)b", "", &["aab"], &["aac"]),
    ("^(?>a*)a", "", &[], &["aaa"]),
    ("^a++a", "", &[], &["aaa"]),
    ("^a*+b", "", &["aab", "b"], &["aa"]),
    ("^(?>a??)b", "", &["b"], &["ab"]),
    ("\\ba(?!c)", "", &["a", "éa"], &["ba", "ac"]),
    ("a\\B(?=b)", "", &["ab"], &["a b", "aé"]),
    ("^(?=a)*b(?!c){2}", "", &["b"], &["bc", "c"]),
    ("(*UCP)\\ba(?!c)", "", &["a"], &["éa"]),
    ("^(?=[^\\w&]é)[\\[\\-\\]]", "", &["-é", "]é"], &["aé"]),
    ("(a)(b)(c)(d)(e)(f)(g)(h)(i)(?<j>j)\\10", "", &["abcdefghijj"], &["abcdefghij"]),
    ("^(\\w+)\\s\\1$", "i", &["the The", "a a\n"], &["the they"]),
];

#[test]
fn patterns_find_what_pcre_finds() {
    for (pattern, options, found, not) in FOUND {
        let ours = compiled(pattern, options).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        for (text, expected) in found.iter().map(|text| (text, true)).chain(not.iter().map(|text| (text, false))) {
            assert_eq!(theirs(pattern, options, text), Ok(Some(expected)), "PCRE: {pattern} in {text:?}");
            assert_eq!(ours.is_match(text), Ok(expected), "{pattern} in {text:?} ({})", translated(pattern, options));
        }
    }
}

#[test]
fn what_cannot_be_searched_for_is_named() {
    for (pattern, named) in [
        ("(?R)?", "recursion"),
        ("(?<n>a)(?&n)", "recursion"),
        ("(a)\\g<1>", "recursion"),
        ("a{2}+", "a{2}+"),
        ("(?=a)(?|b)", "(?|"),
        ("(?=a)a**", "nothing before *"),
        ("(?=a", "parenthesis"),
        ("(?<=a)[b", "] is missing"),
        ("(?<=a+)b", "a look-behind must have a fixed length"),
        ("(?<!a{1,2})b", "a look-behind must have a fixed length"),
        ("(a)\\2", "reference"),
        ("(a)\\g{-2}", "no group"),
        ("\\k<n>(?<n>a)", "no group"),
        ("(?=a)\\Ka", "\\K"),
        ("(?(1)a)", "conditions"),
        ("a(*SKIP)", "(*…)"),
        ("\\Ka", "\\K"),
        ("\\y", "\\y"),
        ("[a", "] is missing"),
        ("[b-a]", "b-a"),
        ("[a-\\d]", "a-"),
        ("[\\w-z]", "a set"),
        ("[[:nobody:]]", "[:nobody:]"),
        ("(?i", ") is missing"),
        ("(a", "unclosed"),
        ("a)", "unopened"),
        ("*a", "repetition operator missing"),
        ("a**", "nothing before *"),
        ("a{2}{3}", "nothing before {"),
        ("a+?*", "nothing before *"),
        ("(?u)a", "(?u"),
        ("\\N{U+41}", "\\N{"),
        ("(*UCP)[[:alpha:]]", "with (*UCP)"),
        ("a\\", "its last \\"),
        ("\\p{Nobody}", "property"),
        ("\\x{110000}", "110000"),
        ("(?#a", "comment"),
    ] {
        let error = compiled(pattern, "").err().unwrap_or_else(|| panic!("{pattern} is taken"));
        assert!(error.to_string().contains(named), "{pattern}: {error}");
    }
}

#[test]
fn what_a_text_begins_with_is_known_before_and_after_translation() {
    let prefix = |pattern: &str, options: &str| compiled(pattern, options).unwrap().prefix().map(str::to_owned);
    assert_eq!(prefix("^ab-c", "").as_deref(), Some("ab-c"));
    assert_eq!(prefix("^\\Qa.\\E.", "").as_deref(), Some("a."));
    assert_eq!(prefix("^a b", "x").as_deref(), Some("ab"));
    assert_eq!(prefix("^ab$", "").as_deref(), Some("ab"));
    assert_eq!(prefix("^ab", "i"), None);
    assert_eq!(prefix("^ab", "m"), None);
    assert_eq!(prefix("ab", ""), None);
    // Patterns that need backtracking.
    assert_eq!(prefix("^ab(?!c)", "").as_deref(), Some("ab"));
    assert_eq!(prefix("^ab(?=c)d", "").as_deref(), Some("ab"));
    assert_eq!(prefix("^a\\.b(c)\\1", "s").as_deref(), Some("a.b"));
    assert_eq!(prefix("^\\Qa.\\E(?!c)", "").as_deref(), Some("a."));
    assert_eq!(prefix("^a b c(?!d)", "x").as_deref(), Some("abc"));
    assert_eq!(prefix("^abc*(?!d)", "").as_deref(), Some("ab"));
    assert_eq!(prefix("^ab{0}(?!d)", "").as_deref(), Some("a"));
    assert_eq!(prefix("^ab *(?!d)", "x").as_deref(), Some("a"));
    assert_eq!(prefix("^ab\\dc(?!d)", "").as_deref(), Some("ab"));
    for (none, options) in [
        ("^(?=ab)", ""),
        ("^(?!ab)", ""),
        ("(?<!x)ab", ""),
        ("^ab(?!c)|d", ""),
        ("d|^ab(?!c)", ""),
        ("^ab(?!c)", "i"),
        ("^ab(?!c)", "m"),
        ("(?m)^ab(?!c)", ""),
        ("(?i)^ab(?!c)", ""),
        ("^(?i)ab(?!c)", ""),
        ("^a*(?!c)", ""),
        ("^(ab)\\1", ""),
        ("^[a]b(?!c)", ""),
    ] {
        assert_eq!(prefix(none, options), None, "{none}");
    }
}

/// Without the limit, these searches would take time exponential in the length of the text, or a high power of it.
#[test]
fn a_search_that_takes_too_many_steps_is_given_up_by_name() {
    for (pattern, text) in [
        ("^(?:(a+)\\1?)+$", format!("{}b", "a".repeat(200))),
        ("(a*)(a*)(a*)\\1\\2\\3b", "a".repeat(3000)),
        ("^(?:(a?)\\1?){64}b", "a".repeat(64)),
    ] {
        let error = compiled(pattern, "").unwrap().is_match(&text).err();
        let error = error.unwrap_or_else(|| panic!("{pattern} ends"));
        assert!(matches!(error, PatternError::TooManySteps(_)), "{error}");
        assert_eq!(error.code().number(), 51156);
        assert!(error.to_string().contains(pattern) && error.to_string().contains("given up"), "{error}");
    }
}

/// The result of PCRE2 with MongoDB's options; `None` if PCRE2 gives up.
fn theirs(pattern: &str, options: &str, text: &str) -> Result<Option<bool>, String> {
    let has = |option| options.contains(option);
    let built = pcre2::bytes::RegexBuilder::new()
        .utf(true)
        .caseless(has('i'))
        .multi_line(has('m'))
        .dotall(has('s'))
        .extended(has('x'))
        // As an optimization, PCRE2 does not let `\h*\S` give back characters, although a no-break space matches both
        // parts.
        .build(&format!("(*NO_AUTO_POSSESS){pattern}"));
    let regex = built.map_err(|error| error.to_string())?;
    Ok(regex.is_match(text.as_bytes()).ok())
}

/// Pieces of patterns.
const PIECES: &[&str] = &[
    "a",
    "b",
    "é",
    "K",
    "-",
    "[",
    "]",
    "^",
    "$",
    "|",
    "(",
    ")",
    "(?:",
    "(?i)",
    "(?i:",
    "(?-m)",
    "(?x)",
    "(?s-i:",
    "(?m)",
    "*",
    "+",
    "?",
    "{2}",
    "{1,}",
    "{",
    "}",
    ",",
    "&&",
    "--",
    "~",
    "<",
    "\\<",
    "\\d",
    "\\D",
    "\\w",
    "\\W",
    "\\s",
    "\\S",
    "\\h",
    "\\H",
    "\\v",
    "\\V",
    "\\R",
    "\\N",
    "\\b",
    "\\A",
    "\\z",
    "\\Z",
    "\\Q",
    "\\E",
    "\\n",
    "\\x41",
    "\\x{e9}",
    "\\0",
    "\\-",
    "(?=",
    "(?!",
    "(?<=",
    "(?<!",
    "(?>",
    "\\1",
    "[:alpha:]",
    "[[:^alpha:]",
    "[^",
    "[a-",
    "[]",
    " ",
    "#",
    "\n",
    ".",
    "\\p{Lu}",
    "\\P{L}",
    "\\.",
    "\\]",
    "\\[",
    "(?#",
    "\\e",
    "\\cA",
    "0",
    "=",
    "!",
    ":",
];

fn texts() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a", "b", "A", "é", "É", "K", "k", "-", "[", "]", "^", "\n", "\r\n", " ", "\t", "<", "&", "1", "_", "{", "}",
        ",", "\u{a0}", "\u{2028}", "~", "\\", "Q", "ſ", "\u{212a}", "#", ".", "\0", "\u{1b}",
    ]);
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, ..ProptestConfig::default() })]

    #[test]
    fn any_pattern_finds_what_pcre_finds(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..10), options in "[imsx]{0,2}", texts in prop::collection::vec(texts(), 1..6)) {
        let pattern = pieces.concat();
        // An item after a `$` would have to match the line break a second time.
        let behind = |end: &str| pattern.split(end).skip(1).any(|behind| !behind.is_empty());
        // In PCRE, `\\N*` gives nothing back for a following `\\R`, and a part of a line break is never given back.
        let apart = behind("$") || behind("\\Z") || pattern.contains("\\R");
        let ours = compiled(&pattern, &options);
        let lines = options.contains('m') || pattern.contains("(?m)");
        for text in &texts {
            // In PCRE, an empty last line does not count as a line.
            let apart = apart || lines && pattern.contains('^') && text.ends_with('\n');
            // Classes fold letters to these two characters.
            let folds = options.contains('i') || pattern.contains("(?i") || pattern.contains("(?#");
            let apart = apart || folds && pattern.contains('[') && text.contains(['ſ', '\u{212a}']);
            match (&ours, theirs(&pattern, &options, text)) {
                (Ok(ours), Ok(Some(theirs))) if !apart => {
                    prop_assert_eq!(ours.is_match(text), Ok(theirs), "{} ({}) in {:?}, as {}", pattern, options, text, translated(&pattern, &options));
                }
                (Err(error), Ok(_)) => {
                    let error = error.to_string();
                    let known = ["not supported", "too large", "Target of repeat operator"].iter().any(|known| error.contains(known));
                    prop_assert!(known, "{} ({}) is refused: {}", pattern, options, error);
                }
                _ => {}
            }
        }
    }
}

/// Compiles a pattern for backtracking, even if `regex` could search for it.
fn by_backtracking(pattern: &str, options: &str) -> Option<backtrack::Program> {
    let has = |option| options.contains(option);
    let flags = Flags { multi_line: has('m'), extended: has('x'), ..Flags::default() };
    let translated = backtracking(pattern, flags).ok()?;
    backtrack::compile(translated.text(), options, 1 << 20).ok()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, ..ProptestConfig::default() })]

    /// For patterns that need no backtracking, both searches have the same results. The patterns consist only of pieces
    /// that both translations render exactly.
    #[test]
    fn both_searches_find_the_same(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..10), options in "[imsx]{0,2}", texts in prop::collection::vec(texts(), 1..6)) {
        let pattern = pieces.concat();
        let flags = Flags { multi_line: options.contains('m'), extended: options.contains('x'), ..Flags::default() };
        let Ok(Translated::Linear(_)) = translate(&pattern, flags) else { return Ok(()) };
        let (Ok(ours), Some(other)) = (compiled(&pattern, &options), by_backtracking(&pattern, &options)) else { return Ok(()) };
        // Only the translation with look-ahead can match the line break after a `$` a second time.
        let behind = |end: &str| pattern.split(end).skip(1).any(|behind| !behind.is_empty());
        if behind("$") || behind("\\Z") {
            return Ok(());
        }
        for text in &texts {
            let Ok(found) = other.search(text, 0, None) else { continue };
            prop_assert_eq!(ours.is_match(text), Ok(found.is_some()), "{} ({}) in {:?}, as {:?}", pattern, options, text, other);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    /// The spans of a match and of its groups are the same as PCRE's.
    #[test]
    fn groups_are_where_pcre_finds_them(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "a", "b", ".", "(", "(", ")", ")", "(?:", "|", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "a*+", "(?=", "(?!",
            "(?<=a)", "(?<!b)", "(?<=(a|b)a)", "(?>", "\\1", "\\2", "^", "\\b", "é", "[^a]", "(?i)", "B",
        ]), 1..12),
        texts in prop::collection::vec("[abBé]{0,8}", 1..5),
    ) {
        let pattern = pieces.concat();
        let Ok(ours) = Patterns::default().compile_with_groups(&pattern, "") else { return Ok(()) };
        let Ok(theirs) = pcre2::bytes::RegexBuilder::new().utf(true).build(&pattern) else { return Ok(()) };
        if !matches!(ours.search, Search::Backtracking(..)) {
            return Ok(());
        }
        for text in &texts {
            let Ok(found) = theirs.captures(text.as_bytes()) else { continue };
            let groups = |found: pcre2::bytes::Captures<'_>| {
                (0..found.len()).map(|at| found.get(at).map(|group| (group.start(), group.end()))).collect::<Vec<_>>()
            };
            prop_assert_eq!(ours.groups(text, 0), Ok(found.map(groups)), "{} in {:?}", pattern, text);
        }
    }
}

/// Patterns with look-around, a text in which the search reads many characters for each step, and whether the search
/// ends with an error.
fn long_searches() -> [(&'static str, String, bool); 6] {
    [
        ("(?=a+b)c", "a".repeat(80_000), false),
        ("(?=a*b)a", "a".repeat(80_000), true),
        ("(?>a*)b(?=c)", "a".repeat(80_000), true),
        ("(?<!x)(?=.*y)a", "a".repeat(80_000), true),
        ("^(?=.*b)a", "a".repeat(8 << 20), false),
        ("(a+)\\1+b", "a".repeat(80_000), true),
    ]
}

/// In an earlier version, which did not count steps within the text, such a search took many seconds for a million
/// steps.
#[test]
fn the_work_of_a_search_is_bounded_by_the_characters_that_it_reads() {
    for (pattern, text, gives_up) in long_searches() {
        let result = compiled(pattern, "").unwrap().is_match(&text);
        assert_eq!(matches!(result, Err(PatternError::TooManySteps(_))), gives_up, "{pattern}: {result:?}");
    }
}

/// The interrupt is checked while one text is searched, so a search ends soon after its query must end.
#[test]
fn a_search_ends_when_its_query_must_end() {
    for (pattern, text, is_long) in long_searches() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = asked.clone();
        let interrupt = Interrupt::new(move || match counter.fetch_add(1, Ordering::Relaxed) {
            0..5 => Ok(()),
            _ => Err(Interruption { code: crate::ErrorCode::Interrupted, message: "stopped".to_owned() }),
        });
        let pattern = Patterns::interrupted_by(Some(&interrupt)).compile(pattern, "").unwrap();
        if is_long {
            let ended = pattern.is_match(&text);
            assert!(matches!(ended, Err(PatternError::Interrupted(_))), "{pattern:?}: {ended:?}");
            assert_eq!(asked.load(Ordering::Relaxed), 6, "{pattern:?}");
        }
    }
}
