//! The words and phrases of bodies, titles and names.
//!
//! `words.txt` has the words by class, `phrases.txt` the phrases with slots for words. Both are
//! parsed once, when a generator is created. Writing a phrase then copies its pieces one by one.

use std::ops::Range;

use super::digits;
use super::random::Random;

const WORDS: &str = include_str!("words.txt");
const PHRASES: &str = include_str!("phrases.txt");

/// The `2^WORD_HEAD_BITS` most frequent words are equally likely.
const WORD_HEAD_BITS: u32 = 5;

/// Of 65,536 nouns in clauses, this number get an adjective although the phrase has no slot for
/// one.
const EXTRA_ADJECTIVES: u64 = 20_000;

/// Of 65,536 words in clauses, this number have two letters swapped.
const TYPOS: u64 = 1_600;

/// A class of words; the discriminant is its index in [`Lexicon::words`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Noun,
    Plural,
    Verb,
    ThirdPerson,
    Gerund,
    Past,
    Adjective,
    Adverb,
}

const CLASSES: usize = 8;

/// A group of phrases; the discriminant is its index in [`Lexicon::groups`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// The start of a sentence.
    Openers,
    /// Whole clauses.
    Clauses,
    /// Texts between two clauses of a sentence.
    Joins,
    /// The end of a sentence.
    Closers,
    /// Whole short comments.
    Shorts,
    /// Texts between two sentences.
    Gaps,
    /// Addresses, bare or in markdown.
    Links,
    /// Notes at the end of an edited comment.
    Edits,
    /// Quotations and emphasis.
    Quotes,
    /// Titles of submissions.
    Titles,
}

const GROUPS: [(&str, u32); 10] = [
    ("openers", 4),
    ("clauses", 5),
    ("joins", 3),
    ("closers", 3),
    ("shorts", 2),
    ("gaps", 3),
    ("links", 1),
    ("edits", 1),
    ("quotes", 2),
    ("titles", 2),
];

/// A part of a phrase.
#[derive(Debug, Clone, Copy)]
enum Piece {
    /// A short text, used unchanged.
    Text(Short),
    /// A word, perhaps after "a" or "an".
    Word { class: Class, article: bool },
    /// A small number.
    Number,
    /// The seven characters of a link's id.
    Token,
}

/// A text of up to [`SHORT_BYTES`] bytes, stored inline. To append it, all [`SHORT_BYTES`] bytes
/// are copied with a single store and the end is truncated. This is several times faster than a
/// copy of the exact length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Short {
    bytes: [u8; SHORT_BYTES],
    len: u8,
}

const SHORT_BYTES: usize = 16;

impl Short {
    /// The first [`SHORT_BYTES`] bytes of `text`.
    fn new(text: &str) -> Self {
        let len = text.len().min(SHORT_BYTES);
        let mut bytes = [0; SHORT_BYTES];
        bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
        Self { bytes, len: len as u8 }
    }

    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        let end = out.len() + usize::from(self.len);
        out.extend_from_slice(&self.bytes);
        out.truncate(end);
    }

    fn starts_with_vowel(&self) -> bool {
        matches!(self.bytes[0], b'a' | b'e' | b'i' | b'o')
    }
}

/// All words and phrases.
#[derive(Debug)]
pub(crate) struct Lexicon {
    words: [Vec<Short>; CLASSES],
    pieces: Vec<Piece>,
    groups: [Vec<Range<u32>>; GROUPS.len()],
}

impl Lexicon {
    /// Reads the embedded words and phrases.
    pub(crate) fn new() -> Self {
        let mut lexicon =
            Self { words: Default::default(), pieces: Vec::with_capacity(2 << 10), groups: Default::default() };
        lexicon.read_words();
        lexicon.read_phrases();
        lexicon
    }

    /// The number of words in `class`.
    #[cfg(test)]
    pub(crate) fn word_count(&self, class: Class) -> usize {
        self.words[class as usize].len()
    }

    /// Appends the word of `class` at `rank` (taken modulo the class's size).
    pub(crate) fn write_word(&self, out: &mut Vec<u8>, class: Class, rank: usize) {
        let words = &self.words[class as usize];
        if let Some(word) = words.get(rank % words.len().max(1)) {
            word.write(out);
        }
    }

    /// Appends a phrase of `group`, with random words in its slots.
    #[inline]
    pub(crate) fn write_phrase(&self, out: &mut Vec<u8>, random: &mut Random, group: Group) {
        let phrases = &self.groups[group as usize];
        let rank = random.zipf(phrases.len(), GROUPS[group as usize].1);
        let Some(range) = phrases.get(rank) else { return };
        for piece in &self.pieces[range.start as usize..range.end as usize] {
            match piece {
                Piece::Text(text) => text.write(out),
                Piece::Word { class, article } => self.write_slot(out, random, group, *class, *article),
                Piece::Number => digits::decimal(out, 2 + random.zipf(100, 3) as u64),
                Piece::Token => digits::base36(out, 36u64.pow(6) + random.below(35 * 36u64.pow(6))),
            }
        }
    }

    /// Fills a slot. Clauses get additional adjectives and typing errors.
    #[inline]
    fn write_slot(&self, out: &mut Vec<u8>, random: &mut Random, group: Group, class: Class, article: bool) {
        let Some(word) = self.draw(random, class) else { return };
        let in_clause = group == Group::Clauses;
        let takes_adjective = in_clause && matches!(class, Class::Noun | Class::Plural);
        let adjective =
            if takes_adjective && random.chance(EXTRA_ADJECTIVES) { self.draw(random, Class::Adjective) } else { None };
        if article {
            let vowel = adjective.unwrap_or(word).starts_with_vowel();
            out.extend_from_slice(if vowel { b"an " } else { b"a " });
        }
        if let Some(adjective) = adjective {
            adjective.write(out);
            out.push(b' ');
        }
        word.write(out);
        if in_clause && word.len > 3 && random.chance(TYPOS) {
            let end = out.len();
            out.swap(end - 3, end - 2);
        }
    }

    #[inline]
    fn draw(&self, random: &mut Random, class: Class) -> Option<&Short> {
        let words = &self.words[class as usize];
        words.get(random.zipf(words.len(), WORD_HEAD_BITS))
    }

    fn add_word(&mut self, class: Class, word: &str) {
        let word = Short::new(word);
        if !self.words[class as usize].contains(&word) {
            self.words[class as usize].push(word);
        }
    }

    fn read_words(&mut self) {
        let mut section = "";
        for line in WORDS.lines().filter(|line| !line.starts_with('#')) {
            if let Some(name) = section_name(line) {
                section = name;
                continue;
            }
            for word in line.split_whitespace() {
                match section {
                    "nouns" => {
                        let (word, plural) = word.split_once('/').unwrap_or((word, ""));
                        self.add_word(Class::Noun, word);
                        self.add_word(Class::Plural, &if plural.is_empty() { with_s(word) } else { plural.to_owned() });
                    }
                    "verbs" => self.add_verb(word),
                    "adjectives" => self.add_word(Class::Adjective, word),
                    _ => self.add_word(Class::Adverb, word),
                }
            }
        }
    }

    fn add_verb(&mut self, forms: &str) {
        let mut forms = forms.split('/');
        let base = forms.next().unwrap_or_default();
        let mut form = |derived: String| forms.next().map_or(derived, str::to_owned);
        let (third_person, gerund, past) = (form(with_s(base)), form(with_ing(base)), form(with_ed(base)));
        self.add_word(Class::Verb, base);
        self.add_word(Class::ThirdPerson, &third_person);
        self.add_word(Class::Gerund, &gerund);
        self.add_word(Class::Past, &past);
    }

    fn read_phrases(&mut self) {
        let mut group = None;
        for line in PHRASES.lines().filter(|line| !line.starts_with('#')) {
            if let Some(name) = section_name(line) {
                group = GROUPS.iter().position(|(known, _)| *known == name);
                continue;
            }
            // A final `$` preserves the blank before it.
            let phrase = line.strip_suffix('$').unwrap_or(line);
            if let Some(group) = group
                && !phrase.is_empty()
            {
                let start = self.pieces.len() as u32;
                self.add_pieces(phrase);
                self.groups[group].push(start..self.pieces.len() as u32);
            }
        }
    }

    fn add_pieces(&mut self, phrase: &str) {
        let bytes = phrase.as_bytes();
        let (mut start, mut at) = (0, 0);
        while at + 1 < bytes.len() {
            let article = bytes[at] == b'+';
            let piece = match (bytes[at], bytes[at + 1]) {
                (b'%', b'#') => Some(Piece::Number),
                (b'%', b'U') => Some(Piece::Token),
                (b'%' | b'+', letter) => class_of(letter).map(|class| Piece::Word { class, article }),
                _ => None,
            };
            let Some(piece) = piece else {
                at += 1;
                continue;
            };
            self.add_text_piece(&phrase[start..at]);
            self.pieces.push(piece);
            at += 2;
            start = at;
        }
        self.add_text_piece(&phrase[start..]);
    }

    fn add_text_piece(&mut self, text: &str) {
        // The phrases are ASCII, so they can be split at every byte.
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(SHORT_BYTES));
            self.pieces.push(Piece::Text(Short::new(piece)));
            rest = after;
        }
    }
}

fn section_name(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']')
}

fn class_of(letter: u8) -> Option<Class> {
    Some(match letter {
        b'n' => Class::Noun,
        b'N' => Class::Plural,
        b'v' => Class::Verb,
        b's' => Class::ThirdPerson,
        b'g' => Class::Gerund,
        b'd' => Class::Past,
        b'a' => Class::Adjective,
        b'r' => Class::Adverb,
        _ => return None,
    })
}

fn ends_with_consonant_y(word: &str) -> bool {
    word.ends_with('y') && !["ay", "ey", "oy", "uy"].iter().any(|end| word.ends_with(end))
}

fn with_s(word: &str) -> String {
    if ends_with_consonant_y(word) {
        return format!("{}ies", &word[..word.len() - 1]);
    }
    let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|end| word.ends_with(end));
    format!("{word}{}", if hisses { "es" } else { "s" })
}

/// Doubles the last consonant of a short word with one short vowel: "stop" gives "stopp".
fn doubled(word: &str) -> String {
    let is_vowel = |byte: u8| b"aeiou".contains(&byte);
    match word.as_bytes() {
        [rest @ .., vowel, last]
            if is_vowel(*vowel)
                && !is_vowel(*last)
                && !b"wxy".contains(last)
                && !rest.is_empty()
                && !rest.iter().any(|byte| is_vowel(*byte)) =>
        {
            format!("{word}{}", char::from(*last))
        }
        _ => word.to_owned(),
    }
}

fn with_ing(word: &str) -> String {
    match word.strip_suffix('e') {
        Some(stem) if !word.ends_with("ee") => format!("{stem}ing"),
        _ => format!("{}ing", doubled(word)),
    }
}

fn with_ed(word: &str) -> String {
    if ends_with_consonant_y(word) {
        return format!("{}ied", &word[..word.len() - 1]);
    }
    if word.ends_with('e') { format!("{word}d") } else { format!("{}ed", doubled(word)) }
}
