//! `insert`: inserts documents.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::figures::Figures;
use crate::latencies::Use;
use crate::security::access::Access;
use crate::security::action::Action;
use crate::writes::{self, Outcome};
use alluvium::{Bson, Document, DocumentFor, Map, Value};
use alluvium_document::BsonBuilder;
use alluvium_document::timestamps::Present;
use std::borrow::Cow;

/// The maximum number of documents in one write batch of the store.
const CHUNK: usize = 1_000;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("insert", Kind::Collection),
        required("documents", Kind::Documents).apart(),
        optional("ordered", Kind::Bool),
        optional("stmtIds", Kind::Array),
        optional("bypassDocumentValidation", Kind::Flag),
        optional("bypassEmptyTsReplacement", Kind::Flag),
        optional("collectionUUID", Kind::Any),
        optional("encryptionInformation", Kind::Document),
    ],
    access: Access::Collection(Action::Insert),
    retryable: true,
    ..Command::writing("insert", run).counted(Use::Insert, "insert").stable().strict().in_transactions()
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    match call.take_sequence("documents") {
        Some(sequence) => {
            let raw = sequence.iter().collect::<Result<Vec<_>, _>>();
            let raw = raw.map_err(|error| CommandError::invalid_bson(error.to_string()))?;
            let filled: Vec<Cow<'_, [u8]>> = match present(call) {
                Some(mut present) => raw.into_iter().map(|raw| present.fill_bson(raw)).collect(),
                None => raw.into_iter().map(Cow::Borrowed).collect(),
            };
            insert_all(call, &filled.iter().map(|raw| Bson(raw)).collect::<Vec<_>>())
        }
        None => {
            let mut documents = call.take_documents("documents")?;
            if let Some(mut present) = present(call) {
                documents.iter_mut().for_each(|document| present.fill(document));
            }
            insert_all(call, &documents.iter().collect::<Vec<&Map>>())
        }
    }
}

/// The time that replaces empty timestamps; `None` if empty timestamps are stored as they are.
fn present(call: &Call<'_>) -> Option<Present> {
    (!call.body.flag("bypassEmptyTsReplacement")).then(|| Present::at(call.shared.env.clock.unix_millis()))
}

fn insert_all<D: Copy + DocumentFor<Document>>(call: &mut Call<'_>, documents: &[D]) -> CommandResult<BsonBuilder> {
    let name = call.written_name()?;
    writes::check_count(documents.len())?;
    call.number_statements(documents.len())?;
    Figures::add(&call.shared.figures.inserts, documents.len() as u64);
    let mut outcome = Outcome::new(writes::is_ordered(&call.body));
    insert(call, &name, documents, &mut outcome);
    call.note_count("ninserted", outcome.matched);
    outcome.reply(call, None)
}

/// Inserts documents in batches. If a batch has an invalid document, the batch writes nothing and its documents are
/// inserted one by one. The valid documents are then written as far as the ordering allows.
fn insert<D: Copy + DocumentFor<Document>>(call: &Call<'_>, name: &str, documents: &[D], outcome: &mut Outcome) {
    let mut at = 0;
    while let Some(rest) = documents.get(at..).filter(|rest| !rest.is_empty() && !outcome.is_over()) {
        if let Some(earlier) = call.earlier_result(at) {
            outcome.retried(call, at);
            match earlier {
                Ok(result) => {
                    let count = result.count("n").ok().flatten().unwrap_or(1);
                    outcome.matched += count;
                    at += usize::try_from(count).unwrap_or(1).max(1);
                }
                Err(error) => {
                    outcome.fail(call, at, error);
                    at += 1;
                }
            }
            continue;
        }
        let fresh = (at..documents.len()).take(CHUNK).take_while(|at| call.earlier_result(*at).is_none()).count();
        let chunk = rest.get(..fresh).unwrap_or_default();
        let count = writes::int(chunk.len() as u64);
        let all_at_once = || {
            // The fail point counts documents. `recording` counts one, so that the others are counted here.
            (1..chunk.len()).try_for_each(|_| call.fail_write())?;
            let collection = call.recording(name, at, move |_| Map::from([("n", count.clone())]))?;
            collection.insert_many(chunk.iter().copied())?;
            call.end_statement(at, true, || Ok(Map::new()))
        };
        // In a transaction, a failure leaves nothing to insert one by one into.
        if chunk.len() > 1 && call.transaction.is_none() && all_at_once().is_ok() {
            outcome.matched += chunk.len() as u64;
        } else {
            one_by_one(call, name, chunk, at, outcome);
        }
        at += chunk.len();
    }
}

fn one_by_one<D: Copy + DocumentFor<Document>>(
    call: &Call<'_>,
    name: &str,
    chunk: &[D],
    first: usize,
    outcome: &mut Outcome,
) {
    for (document, at) in chunk.iter().copied().zip(first..) {
        if outcome.is_over() {
            return;
        }
        let insert = || {
            let collection = call.recording(name, at, |_| Map::from([("n", Value::Int32(1))]))?;
            collection.insert_one(document).map_err(CommandError::from)
        };
        let inserted = insert();
        let noted =
            call.end_statement(at, inserted.is_ok(), || inserted.as_ref().map(|_| Map::new()).map_err(Clone::clone));
        match inserted.and(noted) {
            Ok(_) => outcome.matched += 1,
            Err(error) => outcome.fail(call, at, error),
        }
    }
}
