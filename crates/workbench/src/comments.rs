//! Comments like those of a month on a large discussion site, as JSON lines. They are generated
//! because the original data of the benchmark for documents has 186 GB.
//!
//! Properties that matter to a database are like the original: the 44 fields and their order, the
//! lengths of the lines, ascending ids, skewed authors and subreddits, the variety of shapes, and
//! text that compresses like English. The text has no meaning.

mod author;
mod awards;
mod body;
mod digits;
mod flair;
mod lexicon;
mod pairs;
pub(crate) mod random;
mod subreddit;
#[cfg(test)]
mod tests;
mod thread;

pub use pairs::{By, Pairs};

use std::ops::Range;

use author::Author;
use awards::Awards;
use body::{Lengths, Manner};
use flair::Flair;
use lexicon::Lexicon;
use random::Random;
use thread::{Thread, Threads};

/// The number of the first comment: `evn2i5p` in base 36.
const FIRST_COMMENT: u64 = 32_388_152_173;

/// The time at which the first comment was written, in seconds since 1970.
const FIRST_CREATED_SECONDS: u64 = 1_564_617_600;

/// The time at which the first comment was retrieved, in seconds since 1970.
const FIRST_RETRIEVED_SECONDS: u64 = 1_573_370_605;

/// The account that moderates subreddits.
const MODERATOR: &[u8] = b"AutoModerator";

/// Generates comments: the same seed gives the same lines on every run and every machine.
///
/// The ids of comments, which become the keys, ascend from line to line by small random steps. The
/// lines form a single stream: to skip lines, write and discard them.
#[derive(Debug)]
pub struct Generator {
    lexicon: Lexicon,
    random: Random,
    lengths: Lengths,
    threads: Threads,
    comment: u64,
    /// The fields after the body, kept separate while the body is written.
    tail: Vec<u8>,
}

/// The properties of a comment, determined before it is written.
#[derive(Debug)]
struct Plan {
    comment: u64,
    created: u64,
    retrieved: u64,
    writer: Writer,
    parent: Parent,
    awards: Option<Awards>,
    edited: Option<u64>,
    score: i64,
    /// One bit for each of [`Rare`].
    rare: u64,
}

/// The writer of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Someone(Author),
    /// The comment was deleted by its writer, or removed by a moderator.
    Deleted {
        removed: bool,
    },
    Moderator,
}

/// The parent of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parent {
    Link,
    Comment(u64),
}

/// Rare fields; the discriminant is the bit in [`Plan::rare`].
#[derive(Debug, Clone, Copy)]
enum Rare {
    ApprovedAt,
    Cakeday,
    Premium,
    BannedAt,
    CrowdControl,
    CommentType,
    ModReports,
    RteMode,
    ScoreHidden,
    TopAwarded,
    UserReports,
}

impl Plan {
    fn has(&self, rare: Rare) -> bool {
        self.rare >> (rare as u32) & 1 == 1
    }
}

impl Generator {
    /// A generator that starts with its first comment.
    pub fn new(seed: u64) -> Self {
        let lexicon = Lexicon::new();
        let mut random = Random::new(seed);
        let threads = Threads::new(&lexicon, &mut random);
        let tail = Vec::with_capacity(1 << 10);
        Self { lexicon, random, lengths: Lengths::new(seed), threads, comment: FIRST_COMMENT, tail }
    }

    /// Appends the next comment to `out`: compact JSON and a newline.
    pub fn write_line(&mut self, out: &mut Vec<u8>) {
        let Self { lexicon, random, lengths, threads, comment, tail } = self;
        let thread = threads.draw(lexicon, random);
        let plan = plan(random, thread, *comment);
        *comment += 1 + random.below(3);
        let flair = match plan.writer {
            Writer::Someone(author) => Some(Flair::of(author, thread.subreddit)),
            _ => None,
        };
        write_head(&plan, flair, lexicon, thread, out);
        write_body(&plan, lexicon, random, lengths, thread, out);
        tail.clear();
        write_tail(&plan, thread, tail);
        out.extend_from_slice(tail);
        if let Writer::Someone(author) = plan.writer {
            thread.last_author = author;
        }
        thread.last_comment = plan.comment;
    }
}

/// Determines all properties of a comment except its text.
fn plan(random: &mut Random, thread: &Thread, comment: u64) -> Plan {
    let index = comment - FIRST_COMMENT;
    // About 55 comments are written per second; their numbers are about two apart.
    let created = FIRST_CREATED_SECONDS + index / 110;
    let dice = random.next();
    let writer = match dice & 0x3ff {
        0..45 => Writer::Deleted { removed: dice >> 10 & 7 < 3 },
        45..57 => Writer::Moderator,
        57..160 => Writer::Someone(thread.author),
        160..270 => Writer::Someone(thread.last_author),
        _ => Writer::Someone(Author::draw(random)),
    };
    let parent = match thread.last_comment {
        0 => Parent::Link,
        _ if writer == Writer::Moderator || dice >> 13 & 7 < 3 => Parent::Link,
        last => Parent::Comment(last),
    };
    let is_someone = matches!(writer, Writer::Someone(_));
    let awards = (is_someone && random.chance(300)).then(|| Awards::draw(random));
    let edited = (is_someone && dice >> 16 & 31 == 0).then(|| created + 20 + random.zipf(200_000, 6) as u64);
    // Each octave of scores has five eighths of the weight of the octave before it.
    let octave = (random.next() | random.next() & random.next()).trailing_ones().min(14);
    let size = random.below(1 << octave) as i64;
    let score = if dice >> 21 & 15 == 0 { -(size % 60) } else { 1 + size };
    // Each bit is set in one of 256 comments, on average.
    let rare = (0..7).fold(random.next(), |bits, _| bits & random.next());
    let retrieved = FIRST_RETRIEVED_SECONDS + index / 400;
    Plan { comment, created, retrieved, writer, parent, awards, edited, score, rare }
}

fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn number(out: &mut Vec<u8>, name: &str, value: u64) {
    push(out, name);
    digits::decimal(out, value);
}

/// Appends `true` or `false` after a member's name.
fn boolean(out: &mut Vec<u8>, name: &str, value: bool) {
    push(out, name);
    push(out, if value { "true" } else { "false" });
}

/// Appends the fields from `all_awardings` up to the name of `body`.
fn write_head(plan: &Plan, flair: Option<Flair>, lexicon: &Lexicon, thread: &Thread, out: &mut Vec<u8>) {
    push(out, "{\"all_awardings\":");
    match &plan.awards {
        Some(awards) => awards.write_all(lexicon, thread.subreddit, out),
        None => push(out, "[]"),
    }
    push(out, if plan.has(Rare::ApprovedAt) { ",\"approved_at_utc\":null" } else { "" });
    push(out, ",\"associated_award\":null,\"author\":\"");
    match (plan.writer, flair) {
        (Writer::Someone(author), Some(flair)) => {
            author.write_name(lexicon, out);
            let (account, created) = author.account();
            push(out, if plan.has(Rare::Cakeday) { "\",\"author_cakeday\":true" } else { "\"" });
            number(out, ",\"author_created_utc\":", created);
            flair.write_head(out);
            flair.write_richtext(lexicon, thread.subreddit, out);
            flair.write_tail(lexicon, out);
            flair.write_type(out);
            push(out, ",\"author_fullname\":\"t2_");
            digits::base36(out, account);
            push(out, "\",\"author_patreon_flair\":false");
            push(out, if plan.has(Rare::Premium) { ",\"author_premium\":true" } else { "" });
        }
        (Writer::Moderator, _) => {
            out.extend_from_slice(MODERATOR);
            push(
                out,
                "\",\"author_created_utc\":1325741068,\"author_flair_background_color\":null,\
                 \"author_flair_css_class\":null,\"author_flair_richtext\":[],\"author_flair_template_id\":null,\
                 \"author_flair_text\":null,\"author_flair_text_color\":null,\"author_flair_type\":\"text\",\
                 \"author_fullname\":\"t2_6l4z3\",\"author_patreon_flair\":false",
            );
        }
        _ => push(
            out,
            "[deleted]\",\"author_flair_background_color\":\"\",\"author_flair_css_class\":null,\
             \"author_flair_template_id\":null,\"author_flair_text\":null,\"author_flair_text_color\":\"dark\"",
        ),
    }
    push(out, ",\"awarders\":[]");
    push(out, if plan.has(Rare::BannedAt) { ",\"banned_at_utc\":null" } else { "" });
    push(out, ",\"body\":\"");
}

/// Appends the text of the body.
fn write_body(
    plan: &Plan,
    lexicon: &Lexicon,
    random: &mut Random,
    lengths: &mut Lengths,
    thread: &Thread,
    out: &mut Vec<u8>,
) {
    match plan.writer {
        Writer::Deleted { removed } => push(out, if removed { "[removed]" } else { "[deleted]" }),
        Writer::Moderator => {
            push(out, "Your submission has been automatically removed from /r/");
            out.extend_from_slice(thread.name());
            push(
                out,
                " for the following reason:\\n\\n* It does not follow the rules in the sidebar.\\n\\n*I am a bot, and \
                 this action was performed automatically. Please [contact the moderators of this \
                 subreddit](/message/compose/?to=/r/",
            );
            out.extend_from_slice(thread.name());
            push(out, ") if you have any questions or concerns.*");
        }
        Writer::Someone(author) => {
            let traits = author.hash();
            let manner = Manner { is_casual: traits >> 20 & 7 == 0, is_elaborate: traits >> 24 & 3 != 0 };
            let length = lengths.next();
            if random.next() >> 46 == 0 {
                let flood = 600 + random.zipf(9_400, 9) as u64;
                body::write_flood(out, flood);
            } else {
                body::write(lexicon, random, out, length, manner);
            }
            if plan.edited.is_some() && traits >> 28 & 1 == 0 {
                body::write_edit(lexicon, random, out);
            }
        }
    }
}

/// Appends `can_gild`, the fields after it, and the end of the line.
fn write_tail(plan: &Plan, thread: &Thread, out: &mut Vec<u8>) {
    let is_moderator = plan.writer == Writer::Moderator;
    let is_collapsed = plan.score < -5;
    boolean(out, "\",\"can_gild\":true,\"can_mod_post\":false,\"collapsed\":", is_collapsed);
    push(out, if plan.has(Rare::CrowdControl) { ",\"collapsed_because_crowd_control\":null" } else { "" });
    push(out, ",\"collapsed_reason\":");
    push(out, if is_collapsed { "\"comment score below threshold\"" } else { "null" });
    push(out, if plan.has(Rare::CommentType) { ",\"comment_type\":null" } else { "" });
    number(out, ",\"controversiality\":", u64::from(plan.score.abs() < 4 && plan.comment.is_multiple_of(37)));
    number(out, ",\"created_utc\":", plan.created);
    push(out, ",\"distinguished\":");
    push(out, if is_moderator { "\"moderator\"" } else { "null" });
    match plan.edited {
        Some(seconds) => number(out, ",\"edited\":", seconds),
        None => push(out, ",\"edited\":false"),
    }
    number(out, ",\"gilded\":", plan.awards.as_ref().map_or(0, Awards::gold));
    push(out, ",\"gildings\":");
    match &plan.awards {
        Some(awards) => awards.write_gildings(out),
        None => push(out, "{}"),
    }
    push(out, ",\"id\":\"");
    let id_start = out.len();
    digits::base36(out, plan.comment);
    let id_end = out.len();
    boolean(out, "\",\"is_submitter\":", plan.writer == Writer::Someone(thread.author));
    push(out, ",\"link_id\":\"t3_");
    out.extend_from_slice(thread.link());
    boolean(out, "\",\"locked\":", thread.is_locked);
    push(out, if plan.has(Rare::ModReports) { ",\"mod_reports\":[]" } else { "" });
    boolean(out, ",\"no_follow\":", plan.score < 2);
    match plan.parent {
        Parent::Link => {
            push(out, ",\"parent_id\":\"t3_");
            out.extend_from_slice(thread.link());
        }
        Parent::Comment(comment) => {
            push(out, ",\"parent_id\":\"t1_");
            digits::base36(out, comment);
        }
    }
    push(out, "\",\"permalink\":\"");
    write_permalink(thread, id_start..id_end, out);
    boolean(out, "\",\"quarantined\":", thread.subreddit.is_quarantined());
    number(out, ",\"removal_reason\":null,\"retrieved_on\":", plan.retrieved);
    push(out, if plan.has(Rare::RteMode) { ",\"rte_mode\":\"richtext\"" } else { "" });
    push(out, ",\"score\":");
    digits::signed(out, plan.score);
    push(out, if plan.has(Rare::ScoreHidden) { ",\"score_hidden\":true" } else { "" });
    boolean(out, ",\"send_replies\":", !is_moderator);
    boolean(out, ",\"steward_reports\":[],\"stickied\":", is_moderator && plan.parent == Parent::Link);
    push(out, ",\"subreddit\":\"");
    out.extend_from_slice(thread.name());
    push(out, "\",\"subreddit_id\":\"");
    subreddit::write_id(out, thread.subreddit);
    push(out, "\",\"subreddit_name_prefixed\":\"r/");
    out.extend_from_slice(thread.name());
    push(out, "\",\"subreddit_type\":\"");
    push(out, thread.subreddit.kind());
    push(out, if plan.has(Rare::TopAwarded) { "\",\"top_awarded_type\":null" } else { "\"" });
    number(out, ",\"total_awards_received\":", plan.awards.as_ref().map_or(0, Awards::total));
    push(out, if plan.has(Rare::UserReports) { ",\"user_reports\":[]" } else { "" });
    push(out, "}\n");
}

/// Appends the path of a comment. The id of the comment is in `out` at the range `id`.
fn write_permalink(thread: &Thread, id: Range<usize>, out: &mut Vec<u8>) {
    push(out, "/r/");
    out.extend_from_slice(thread.name());
    push(out, "/comments/");
    out.extend_from_slice(thread.link());
    out.push(b'/');
    out.extend_from_slice(thread.slug());
    out.push(b'/');
    out.extend_from_within(id);
    out.push(b'/');
}
