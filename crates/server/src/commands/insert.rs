//! `insert`: new documents.

use super::Command;
use crate::access::{Access, Action};
use crate::call::Call;
use crate::error::CommandResult;
use crate::fields::{Kind, optional, required};
use crate::shared::Counters;
use crate::writes::{self, Outcome};
use alluvium::{Collection, Map};
use alluvium_document::BsonBuilder;

/// The most documents of a batch of the store.
const CHUNK: usize = 1_000;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("insert", Kind::Text),
        required("documents", Kind::Documents),
        optional("ordered", Kind::Flag),
        optional("bypassDocumentValidation", Kind::Flag),
        optional("bypassEmptyTsReplacement", Kind::Flag),
    ],
    access: Access::Collection(Action::Insert),
    ..Command::writing("insert", run)
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let collection = call.collection()?;
    let documents = call.take_documents("documents")?;
    writes::check_count(documents.len())?;
    Counters::add(&call.shared.counters.inserts, documents.len() as u64);
    let mut outcome = Outcome::new(writes::is_ordered(&call.body));
    insert(&collection, &documents, &mut outcome);
    outcome.reply(call, None)
}

/// Inserts documents in batches. A batch with a wrong document writes nothing, and is inserted one by one instead, so
/// that the others are written as far as the order allows.
fn insert(collection: &Collection, documents: &[Map], outcome: &mut Outcome) {
    for (chunk, at) in documents.chunks(CHUNK).zip((0..).step_by(CHUNK)) {
        if outcome.is_over() {
            return;
        }
        if chunk.len() > 1 && collection.insert_many(chunk).is_ok() {
            outcome.matched += chunk.len() as u64;
            continue;
        }
        for (document, at) in chunk.iter().zip(at..) {
            if outcome.is_over() {
                return;
            }
            match collection.insert_one(document) {
                Ok(_) => outcome.matched += 1,
                Err(error) => outcome.fail(at, error.into()),
            }
        }
    }
}
