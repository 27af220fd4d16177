//! Ids of comments by author or by subreddit, without the comments. They fill a multivalue store.

use super::FIRST_COMMENT;
use super::author::Author;
use super::lexicon::Lexicon;
use super::random::Random;
use super::subreddit::Subreddits;
use serde::Serialize;

/// The key of the ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Millions of keys, most of which have few ids.
    Author,
    /// Some 130,000 keys, some of which have millions of ids.
    Subreddit,
}

/// Generates pairs of a name and the number of a comment; the numbers ascend.
#[derive(Debug)]
pub struct Pairs {
    by: By,
    lexicon: Lexicon,
    subreddits: Subreddits,
    random: Random,
    comment: u64,
}

impl Pairs {
    /// A generator that begins with the first comment. The same seed gives the same pairs.
    pub fn new(by: By, seed: u64) -> Self {
        let (lexicon, subreddits) = (Lexicon::new(), Subreddits::new());
        Self { by, lexicon, subreddits, random: Random::new(seed), comment: FIRST_COMMENT }
    }

    /// Generates the next pair: replaces the content of `name` by the name, and returns the number.
    pub fn next_pair(&mut self, name: &mut Vec<u8>) -> u64 {
        name.clear();
        match self.by {
            By::Author => Author::draw(&mut self.random).write_name(&self.lexicon, name),
            By::Subreddit => self.subreddits.draw(&mut self.random).write_name(&self.lexicon, name),
        }
        let comment = self.comment;
        self.comment += 1 + self.random.below(3);
        comment
    }
}
