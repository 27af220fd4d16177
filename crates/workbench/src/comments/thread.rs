//! Threads: the submissions under discussion. Each thread has an id, a title, an author and a subreddit. When it has
//! all of its comments, it is replaced by a new thread.

use super::author::Author;
use super::digits;
use super::lexicon::{Group, Lexicon};
use super::random::Random;
use super::subreddit::{Subreddit, Subreddits};

/// The number of threads under discussion at once.
const SLOTS: usize = 1 << 14;

/// The busiest `2^HEAD_BITS` threads are equally busy.
const HEAD_BITS: u32 = 6;

/// In a permalink, titles are truncated to this many bytes.
const SLUG_BYTES: usize = 50;

/// The first submission's number: `ckej3g` in base 36.
const FIRST_LINK: u64 = 759_864_364;

/// A submission under discussion.
#[derive(Debug, Clone)]
pub(crate) struct Thread {
    /// The subreddit.
    pub(crate) subreddit: Subreddit,
    /// The author of the submission.
    pub(crate) author: Author,
    /// The author of the last comment.
    pub(crate) last_author: Author,
    /// The number of the last comment; 0 if there is none.
    pub(crate) last_comment: u64,
    /// True if the thread is locked.
    pub(crate) is_locked: bool,
    /// The number of comments that the thread will still get.
    rest: u32,
    texts: [u8; TEXT_BYTES],
    name_end: u8,
    link_end: u8,
    slug_end: u8,
}

const TEXT_BYTES: usize = 96;

impl Thread {
    /// The subreddit's name.
    pub(crate) fn name(&self) -> &[u8] {
        &self.texts[..usize::from(self.name_end)]
    }

    /// The id without its `t3_`.
    pub(crate) fn link(&self) -> &[u8] {
        &self.texts[usize::from(self.name_end)..usize::from(self.link_end)]
    }

    /// The title in the form that a permalink has.
    pub(crate) fn slug(&self) -> &[u8] {
        &self.texts[usize::from(self.link_end)..usize::from(self.slug_end)]
    }
}

/// All threads under discussion.
#[derive(Debug)]
pub(crate) struct Threads {
    slots: Vec<Thread>,
    subreddits: Subreddits,
    next_link: u64,
    scratch: Vec<u8>,
}

impl Threads {
    /// Opens the first threads, which already have different parts of their comments.
    pub(crate) fn new(lexicon: &Lexicon, random: &mut Random) -> Self {
        let mut threads = Self {
            slots: Vec::with_capacity(SLOTS),
            subreddits: Subreddits::new(),
            next_link: FIRST_LINK,
            scratch: Vec::with_capacity(256),
        };
        for slot in 0..SLOTS {
            let mut thread = threads.open(lexicon, random, slot);
            thread.rest = 1 + random.below(u64::from(thread.rest)) as u32;
            threads.slots.push(thread);
        }
        threads
    }

    /// Draws the thread of the next comment: few threads get most comments.
    #[inline]
    pub(crate) fn draw(&mut self, lexicon: &Lexicon, random: &mut Random) -> &mut Thread {
        let slot = random.zipf(SLOTS, HEAD_BITS);
        if self.slots[slot].rest == 0 {
            self.slots[slot] = self.open(lexicon, random, slot);
        }
        let thread = &mut self.slots[slot];
        thread.rest -= 1;
        thread
    }

    /// Opens a new thread. The busier its slot, the more comments it will have.
    fn open(&mut self, lexicon: &Lexicon, random: &mut Random, slot: usize) -> Thread {
        self.next_link += 1 + random.below(3);
        let subreddit = self.subreddits.draw(random);
        let text = &mut self.scratch;
        text.clear();
        subreddit.write_name(lexicon, text);
        let name_end = text.len();
        digits::base36(text, self.next_link);
        let link_end = text.len();
        write_slug(lexicon, random, text);
        let mut texts = [0; TEXT_BYTES];
        let slug_end = text.len().min(TEXT_BYTES);
        texts[..slug_end].copy_from_slice(&text[..slug_end]);
        let author = Author::draw(random);
        // A thread in the head gets about a thousand comments, a thread in the last octave two or three.
        let octave = slot.checked_ilog2().unwrap_or(0).saturating_sub(HEAD_BITS - 1);
        let mean = (1024u64 >> octave).max(2);
        Thread {
            subreddit,
            author,
            last_author: author,
            last_comment: 0,
            is_locked: random.chance(400),
            rest: 1 + random.below(2 * mean) as u32,
            texts,
            name_end: name_end as u8,
            link_end: link_end as u8,
            slug_end: slug_end as u8,
        }
    }
}

/// Appends a title with `_` for blanks, cut between words.
fn write_slug(lexicon: &Lexicon, random: &mut Random, text: &mut Vec<u8>) {
    let start = text.len();
    lexicon.write_phrase(text, random, Group::Titles);
    if text.len() - start < 30 {
        text.push(b' ');
        lexicon.write_phrase(text, random, Group::Titles);
    }
    if text.len() - start > SLUG_BYTES {
        let room = &text[start..=start + SLUG_BYTES];
        let cut = room.iter().rposition(|byte| *byte == b' ').unwrap_or(SLUG_BYTES);
        text.truncate(start + cut);
    }
    for byte in &mut text[start..] {
        if !byte.is_ascii_alphanumeric() {
            *byte = b'_';
        }
    }
}
