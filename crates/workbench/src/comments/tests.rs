use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::author::Author;
use super::lexicon::{Class, Lexicon};
use super::random::{Random, mix, permute};
use super::subreddit::{self, Subreddit};
use super::{Generator, digits};

mod lines;

const SEED: u64 = 1;

/// The first `count` lines of a generator.
fn generate(seed: u64, count: usize) -> Vec<u8> {
    let mut generator = Generator::new(seed);
    let mut out = Vec::with_capacity(count * 1300);
    (0..count).for_each(|_| generator.write_line(&mut out));
    out
}

fn documents(lines: &[u8]) -> impl Iterator<Item = Value> {
    lines.split_inclusive(|byte| *byte == b'\n').map(|line| serde_json::from_slice(line).unwrap())
}

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn numbers_are_written_as_the_standard_library_writes_them() {
    for value in [0, 9, 10, 999, 1_564_617_600, u64::MAX] {
        assert_eq!(text(|out| digits::decimal(out, value)), value.to_string());
    }
    for value in [0, 5, -1, -60, i64::MIN, i64::MAX] {
        assert_eq!(text(|out| digits::signed(out, value)), value.to_string());
    }
    for value in [0, 35, 36, super::FIRST_COMMENT, u64::MAX] {
        assert_eq!(u64::from_str_radix(&text(|out| digits::base36(out, value)), 36), Ok(value));
    }
    assert_eq!(text(|out| digits::base36(out, super::FIRST_COMMENT)), "evn2i5p");
    assert_eq!(text(|out| digits::hex(out, 0x00af, 3)), "0af");
    assert_eq!(text(|out| digits::uuid(out, 7)).len(), 36);
}

#[test]
fn scrambling_loses_nothing() {
    for bits in [1, 2, 7, 16, 18] {
        let images: HashSet<u64> = (0..1u64 << bits).map(|value| permute(value, bits)).collect();
        assert_eq!(images.len(), 1 << bits, "{bits} bits");
        assert!(images.iter().all(|image| *image < 1 << bits));
    }
    assert_eq!((0..100_000).map(mix).collect::<HashSet<_>>().len(), 100_000);
}

#[test]
fn ranks_are_skewed_and_within_bounds() {
    let mut random = Random::new(SEED);
    for (count, head_bits) in [(0, 3), (1, 0), (1, 5), (3, 1), (8, 3), (1000, 2), (1 << 20, 7)] {
        let ranks: Vec<usize> = (0..20_000).map(|_| random.zipf(count, head_bits)).collect();
        assert!(ranks.iter().all(|rank| *rank < count.max(1)), "{count}");
        if count >= 1000 {
            // An octave near the head has the same frequency as a later octave.
            let octave = |low: usize| ranks.iter().filter(|rank| (low..2 * low).contains(*rank)).count() as f64;
            let low = 1 << head_bits.max(3);
            assert!(
                (octave(low) / octave(16 * low) - 1.0).abs() < 0.2,
                "{count}: {} {}",
                octave(low),
                octave(16 * low)
            );
        }
    }
    assert!((0..1000).all(|_| random.below(7) < 7));
    let hits = (0..65_536).filter(|_| random.chance(6_554)).count();
    assert!((6_000..7_100).contains(&hits), "{hits}");
}

#[test]
fn words_take_their_endings() {
    let lexicon = Lexicon::new();
    let words = |class| -> HashSet<String> {
        (0..lexicon.word_count(class)).map(|rank| text(|out| lexicon.write_word(out, class, rank))).collect()
    };
    let classes = [
        (Class::Noun, 850, ["thing", "story", "mouse", "box"]),
        (Class::Plural, 850, ["things", "stories", "mice", "boxes"]),
        (Class::Verb, 250, ["want", "stop", "write", "try"]),
        (Class::ThirdPerson, 250, ["wants", "stops", "writes", "tries"]),
        (Class::Gerund, 250, ["wanting", "stopping", "writing", "trying"]),
        (Class::Past, 240, ["wanted", "stopped", "wrote", "tried"]),
        // Names use 8 bits to choose an adjective and 9 bits to choose a noun, so these classes need that many words.
        (Class::Adjective, 256, ["good", "weird", "lucky", "honest"]),
        (Class::Adverb, 50, ["really", "just", "slowly", "never"]),
    ];
    for (class, least, samples) in classes {
        let words = words(class);
        assert!(words.len() >= least, "{class:?}: {}", words.len());
        assert_eq!(words.len(), lexicon.word_count(class), "{class:?} has a word twice");
        assert!(words.iter().all(|word| word.len() < 16 && word.bytes().all(|byte| byte.is_ascii_lowercase())));
        samples.iter().for_each(|sample| assert!(words.contains(*sample), "{class:?} lacks {sample}"));
    }
}

#[test]
fn names_and_accounts_tell_authors_apart() {
    let lexicon = Lexicon::new();
    let ranks = 300_000;
    let (mut names, mut accounts, mut bytes) = (HashSet::new(), Vec::new(), 0);
    for rank in 0..ranks {
        let author = Author::from_rank(rank);
        let name = text(|out| author.write_name(&lexicon, out));
        assert!((3..=32).contains(&name.len()), "{name}");
        bytes += name.len();
        assert!(names.insert(name), "rank {rank}");
        accounts.push(author.account());
    }
    accounts.sort_unstable();
    assert!(accounts.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "accounts rise with the time they were made");
    assert!(accounts.last().is_some_and(|(_, created)| *created < super::FIRST_CREATED_SECONDS));
    let mean = bytes as f64 / f64::from(ranks);
    assert!((9.0..15.0).contains(&mean), "mean length of names {mean}");
}

#[test]
fn names_and_ids_tell_subreddits_apart() {
    let lexicon = Lexicon::new();
    let (mut names, mut ids) = (HashSet::new(), HashSet::new());
    for rank in 0..subreddit::COUNT {
        let subreddit = Subreddit::from_rank(rank);
        assert!(names.insert(text(|out| subreddit.write_name(&lexicon, out))), "rank {rank}");
        assert!(ids.insert(subreddit.id()), "rank {rank}");
    }
    assert_eq!(subreddit::COUNT, 151_071);
    assert!(names.contains("AnimalsBeingJerks"));
}

#[test]
fn a_month_would_meet_seven_million_authors() {
    // A rank occurs unless all draws of the month miss it. Every octave of ranks has the same share of draws.
    let draws = 147e6 * (1.0 - (45.0 + 12.0 + 103.0 + 110.0) / 1024.0);
    let mut authors = 128.0;
    for octave in 7..23 {
        let ranks = f64::from(1u32 << octave);
        authors += ranks * (1.0 - (-draws / 17.0 / ranks).exp());
    }
    assert!((6.5e6..7.5e6).contains(&authors), "{authors}");
    // The draws have the distribution that the sum assumes.
    let mut random = Random::new(SEED);
    let head: HashSet<_> = (0..128).map(|rank| Author::from_rank(rank).hash()).collect();
    let hits = (0..100_000).filter(|_| head.contains(&Author::draw(&mut random).hash())).count();
    assert!((hits as f64 / 100_000.0 * 17.0 - 1.0).abs() < 0.05, "{hits}");
}

#[test]
fn the_busiest_subreddits_have_their_share() {
    let mut random = Random::new(SEED);
    let subreddits = subreddit::Subreddits::new();
    let mut counts = HashMap::new();
    for _ in 0..200_000 {
        *counts.entry(subreddits.draw(&mut random).hash()).or_insert(0u32) += 1;
    }
    let first = f64::from(counts[&Subreddit::from_rank(0).hash()]) / 200_000.0;
    assert!((0.048..0.058).contains(&first), "{first}");
    assert!(counts.len() > 15_000, "{}", counts.len());
}
