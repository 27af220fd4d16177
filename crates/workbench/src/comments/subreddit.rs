//! Subreddits: the name, the id and other properties, all functions of the rank of the subreddit.

use super::author::write_capital;
use super::digits;
use super::lexicon::{Class, Lexicon};
use super::random::{Random, mix, permute};

/// The number of subreddits in the population.
#[cfg(test)]
pub(crate) const COUNT: u32 = (1 << 17) - 1 + LAST_OCTAVE as u32;

/// The number of ranks in the last octave, which is not full.
const LAST_OCTAVE: u64 = 20_000;

/// The number of comments in 1,024 that belong to the octaves of ranks 0, 1-2, 3-6, 7-14, …: the
/// busiest subreddit alone has 5%.
const OCTAVE_WEIGHTS: [u16; 18] = [54, 42, 48, 58, 72, 82, 86, 94, 97, 95, 84, 70, 53, 39, 26, 15, 7, 2];

/// The names of the busiest subreddits. All other names are made of two words.
const HEAD: [&str; 62] = [
    "AskReddit",
    "politics",
    "OutOfTheLoop",
    "memes",
    "teenagers",
    "funny",
    "nba",
    "soccer",
    "worldnews",
    "pics",
    "gaming",
    "news",
    "Cooking",
    "unpopularopinion",
    "todayilearned",
    "relationship_advice",
    "leagueoflegends",
    "wallstreetbets",
    "videos",
    "movies",
    "nfl",
    "FortNiteBR",
    "classicwow",
    "wow",
    "gifs",
    "aww",
    "mildlyinteresting",
    "AnimalsBeingJerks",
    "Showerthoughts",
    "AskMen",
    "AskWomen",
    "technology",
    "science",
    "dataisbeautiful",
    "PublicFreakout",
    "Market76",
    "RocketLeagueExchange",
    "CFB",
    "baseball",
    "anime",
    "explainlikeimfive",
    "personalfinance",
    "LifeProTips",
    "food",
    "books",
    "Music",
    "DIY",
    "space",
    "history",
    "travel",
    "europe",
    "canada",
    "unitedkingdom",
    "australia",
    "india",
    "sysadmin",
    "programming",
    "buildapc",
    "Minecraft",
    "DestinyTheGame",
    "whatisthisthing",
    "NoStupidQuestions",
];

/// A subreddit, identified by its rank by number of comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Subreddit(u32);

/// Draws subreddits.
#[derive(Debug)]
pub(crate) struct Subreddits {
    octaves: [u8; 1024],
}

impl Subreddits {
    /// Prepares the draw.
    pub(crate) fn new() -> Self {
        let mut octaves = [0; 1024];
        let mut rest = octaves.iter_mut();
        for (octave, weight) in OCTAVE_WEIGHTS.iter().enumerate() {
            rest.by_ref().take(usize::from(*weight)).for_each(|slot| *slot = octave as u8);
        }
        Self { octaves }
    }

    /// Draws a subreddit, weighted by its number of comments.
    pub(crate) fn draw(&self, random: &mut Random) -> Subreddit {
        let octave = u32::from(self.octaves[(random.next() >> 54) as usize]);
        let span = if octave == 17 { LAST_OCTAVE } else { 1 << octave };
        Subreddit(((1u64 << octave) - 1 + random.below(span)) as u32)
    }
}

impl Subreddit {
    /// The subreddit of this rank.
    #[cfg(test)]
    pub(crate) fn from_rank(rank: u32) -> Self {
        Self(rank)
    }

    /// A hash of the subreddit, for traits that never change.
    pub(crate) fn hash(self) -> u64 {
        mix(u64::from(self.0) ^ 0x8ebc_6af0_9c88_c6e3)
    }

    /// The number of the id (in base 36 after `t5_`).
    pub(crate) fn id(self) -> u64 {
        4_594_000 + permute(u64::from(self.0), 18) * 13
    }

    /// `public` or, rarely, `restricted`.
    pub(crate) fn kind(self) -> &'static str {
        if self.0 > 100 && self.hash() & 63 == 0 { "restricted" } else { "public" }
    }

    /// True for the few subreddits that are quarantined.
    pub(crate) fn is_quarantined(self) -> bool {
        self.0 > 100 && self.hash() >> 8 & 511 == 0
    }

    /// Appends the name. Different ranks have different names.
    pub(crate) fn write_name(self, lexicon: &Lexicon, out: &mut Vec<u8>) {
        if let Some(name) = HEAD.get(self.0 as usize) {
            out.extend_from_slice(name.as_bytes());
            return;
        }
        let place = permute(u64::from(self.0), 18);
        let (first, second) = ((place & 255) as usize, (place >> 8 & 511) as usize);
        if place >> 17 == 0 {
            write_capital(lexicon, out, Class::Adjective, first);
            write_capital(lexicon, out, Class::Noun, second);
        } else {
            lexicon.write_word(out, Class::Adjective, first);
            lexicon.write_word(out, Class::Noun, second);
        }
    }
}

/// Appends `t5_` and the id.
pub(crate) fn write_id(out: &mut Vec<u8>, subreddit: Subreddit) {
    out.extend_from_slice(b"t5_");
    digits::base36(out, subreddit.id());
}
