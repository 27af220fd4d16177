//! Storing the data blocks of a file: packed or as columns, whichever takes less space.

use crate::block::BlockBuilder;
use crate::columns::ColumnEncoder;
use crate::compress::Encoder;
use crate::output::Output;
use crate::stored::{Content, Handle, Role};
use alluvium_env::Result;

/// The interval, in blocks, at which both encodings are tried.
const TRIAL_EVERY: u32 = 64;

/// Stores the data blocks of a file one by one.
#[derive(Default)]
pub(crate) struct DataBlocks {
    columns: ColumnEncoder,
    /// True if columns took less space than packed entries in the last trial of both.
    columns_won: bool,
    /// Blocks until the next trial of both.
    until_trial: u32,
    // Reused.
    raw: Vec<u8>,
    packed: Vec<u8>,
    trial: Vec<u8>,
}

/// Buffers that one large block has made larger than this are released.
const KEPT_BYTES: usize = 1 << 20;

impl DataBlocks {
    /// Writes the entries of `block`, which must not be empty, and empties it. Columns are tried
    /// only if `may_columns` is true.
    pub(crate) fn put(
        &mut self,
        block: &mut BlockBuilder,
        may_columns: bool,
        encoder: &mut Encoder,
        output: &mut Output,
    ) -> Result<Handle> {
        self.raw.clear();
        self.packed.clear();
        let is_trial = may_columns && self.until_trial == 0;
        self.until_trial = self.until_trial.saturating_sub(1);
        let mut head = match may_columns && (is_trial || self.columns_won) {
            true => self.columns.encode(block, &mut self.raw),
            false => None,
        };
        if head.is_none() || is_trial || cfg!(debug_assertions) {
            block.finish(&mut self.packed);
        }
        block.clear();
        if let Some(len) = head
            && is_trial
        {
            self.until_trial = TRIAL_EVERY;
            let mut measure = |content: Content<'_>| {
                self.trial.clear();
                content.encode(Some(encoder), &mut self.trial);
                self.trial.len()
            };
            let columns = measure(Content::columns(&self.raw, len));
            self.columns_won = columns < measure(Content::new(&self.packed, Role::Data));
            head = head.filter(|_| self.columns_won);
        }
        let handle = match head {
            Some(len) => {
                debug_assert!(is_same(&self.raw, len, &self.packed), "columns do not decode to the entries");
                output.put_content(Content::columns(&self.raw, len), Some(encoder))
            }
            None => output.put(&self.packed, Role::Data, Some(encoder)),
        };
        for buffer in [&mut self.raw, &mut self.packed, &mut self.trial] {
            buffer.shrink_to(KEPT_BYTES);
        }
        handle
    }
}

/// True if the columns decode to these packed entries.
fn is_same(raw: &[u8], head: usize, packed: &[u8]) -> bool {
    let mut back = Vec::new();
    let result = crate::columns::ColumnDecoder::default().decode(&raw[..head], &raw[head..], &mut back);
    result.is_ok() && back == packed
}
