//! Generated comments for any number of threads, and the `_id`s of the comments that were taken.

use super::settings::Settings;
use crate::comments::Generator;
use crate::peer::Failure;
use alluvium_env::sync::Mutex;
use std::ops::Range;

/// Documents in a batch. The time for the clock calls of a batch is small compared to the time of
/// the batch.
const BATCH: u64 = 256;

/// `_id`s, close together in memory.
#[derive(Debug, Default)]
pub(super) struct Ids {
    text: String,
    ends: Vec<usize>,
}

impl Ids {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn get(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start..self.ends[at]]
    }

    fn push(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len());
    }
}

/// Documents as JSON text.
#[derive(Debug, Default)]
pub(super) struct Batch {
    text: String,
    /// The range of each document in the text, and the range of its `_id`.
    spans: Vec<(Range<usize>, Range<usize>)>,
}

impl Batch {
    /// The documents, each as its `_id` and its text.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.spans.iter().map(|(document, id)| (&self.text[id.clone()], &self.text[document.clone()]))
    }
}

struct State {
    generator: Generator,
    random_ids: bool,
    left: u64,
    line: Vec<u8>,
    ids: Ids,
    json_bytes: u64,
}

/// Comments in the order in which they are generated. In each comment, the field `id` is renamed to
/// `_id`.
pub(super) struct Source(Mutex<State>);

impl Source {
    pub fn new(settings: &Settings) -> Self {
        Self(Mutex::new(State {
            generator: Generator::new(settings.seed),
            random_ids: settings.random_ids,
            left: settings.documents,
            line: Vec::new(),
            ids: Ids::default(),
            json_bytes: 0,
        }))
    }

    /// Replaces the documents of a batch by the next ones. Returns false at the end.
    ///
    /// # Errors
    /// A line that does not have the form of a comment.
    pub fn fill(&self, batch: &mut Batch) -> Result<bool, Failure> {
        batch.text.clear();
        batch.spans.clear();
        let state = &mut *self.0.lock();
        for _ in 0..state.left.min(BATCH) {
            state.line.clear();
            state.generator.write_line(&mut state.line);
            let start = batch.text.len();
            let id = append(std::str::from_utf8(&state.line)?.trim_end(), state.random_ids, &mut batch.text)?;
            state.ids.push(&batch.text[id.clone()]);
            state.json_bytes += (batch.text.len() - start) as u64;
            batch.spans.push((start..batch.text.len(), id));
            state.left -= 1;
        }
        Ok(!batch.spans.is_empty())
    }

    /// The `_id`s of all documents that are left.
    ///
    /// # Errors
    /// As [`Source::fill`].
    pub fn all_ids(self) -> Result<Ids, Failure> {
        let mut batch = Batch::default();
        while self.fill(&mut batch)? {}
        Ok(self.end().0)
    }

    /// The `_id`s of the documents that were taken, and the bytes of their text.
    pub fn end(self) -> (Ids, u64) {
        let state = self.0.into_inner();
        (state.ids, state.json_bytes)
    }
}

/// The name of the id of a comment, and the field after it. Maps in a comment have ids, too, but
/// not between these two fields.
const ID: &str = ",\"id\":\"";
const AFTER_ID: &str = ",\"link_id\":\"";

/// Appends a comment with the field `id` renamed to `_id`, and with another `_id` if they are
/// random. Returns the range of the `_id`.
fn append(line: &str, random_ids: bool, out: &mut String) -> Result<Range<usize>, Failure> {
    let after = line.rfind(AFTER_ID).ok_or("a comment has no link_id")?;
    let at = line[..after].rfind(ID).ok_or("a comment has no id")?;
    let rest = &line[at + ID.len()..];
    let len = rest.find('"').ok_or("the id of a comment does not end")?;
    out.push_str(&line[..at]);
    out.push_str(",\"_id\":\"");
    let start = out.len();
    if random_ids {
        let number = u64::from_str_radix(&rest[..len], 36)?;
        out.push_str(&format!("{:016x}", mix(number)));
    } else {
        out.push_str(&rest[..len]);
    }
    let end = out.len();
    out.push_str(&rest[len..]);
    Ok(start..end)
}

/// Another number for each number, in no order: the last step of SplitMix64.
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
