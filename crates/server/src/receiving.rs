//! Decodes requests from the bytes of messages.
//!
//! Decoding a body of a few megabytes can take hundreds of megabytes. Therefore, the memory that decoding will take is
//! computed and charged first.

use crate::commands;
use crate::error::CommandError;
use crate::incoming::{Head, Incoming, Payer};
use crate::memory::{Charge, Memory};
use alluvium::Value;
use alluvium_wire::compression::{Compressor, decompress};
use alluvium_wire::{OpCode, Request, Sealed, WireError};

/// The memory of messages with at most this number of bytes is not computed before they are decoded.
const UNCOUNTED: usize = 2 << 10;
/// The memory of a request below this number of bytes is not charged.
const UNCHARGED: usize = 64 << 10;

/// A request, with the data for sending its reply.
pub(crate) struct Received {
    /// The request.
    pub request: Request,
    /// The compressor for the reply.
    pub compressor: Option<Compressor>,
    /// The charged memory of the request.
    pub charge: Option<Charge>,
}

/// A message that is not executed.
pub(crate) enum Refused {
    /// Only the content is invalid, or there is not enough memory. The connection continues.
    Answered(CommandError),
    /// The connection has to be closed.
    Ended(WireError),
}

/// Decodes a message that was read, and whose memory was charged if the message is large. The message is removed from
/// the buffer.
pub(crate) async fn receive(
    incoming: &mut Incoming,
    head: &Head,
    payer: &Payer<'_>,
    mut charge: Option<Charge>,
) -> Result<Received, Refused> {
    let length = head.header.length;
    let (header, message, compressor) = if head.header.op_code == OpCode::Compressed {
        let expanded = decompress(&head.header, incoming.message(length), head.expanded);
        incoming.consume(length);
        let (inner, message, compressor) = expanded.map_err(refuse)?;
        (inner, message, Some(compressor))
    } else if charge.is_some() {
        (head.header, incoming.take(length), None)
    } else {
        let message = incoming.message(length);
        let request = match Sealed::open(&head.header, message, &commands::is_apart) {
            Ok(sealed) => match afford(&sealed, message, payer, &mut charge).await {
                Ok(()) => sealed.read(message).map_err(refuse),
                Err(error) => Err(Refused::Answered(error)),
            },
            Err(error) => Err(refuse(error)),
        };
        incoming.consume(length);
        return Ok(Received { request: request?, compressor: None, charge });
    };
    let sealed = Sealed::open(&header, &message, &commands::is_apart).map_err(refuse)?;
    afford(&sealed, &message, payer, &mut charge).await.map_err(Refused::Answered)?;
    Ok(Received { request: sealed.take(message).map_err(refuse)?, compressor, charge })
}

/// Charges the memory that a request needs in addition to its charge, or releases the unused part of the charge.
async fn afford(
    sealed: &Sealed,
    message: &[u8],
    payer: &Payer<'_>,
    charge: &mut Option<Charge>,
) -> Result<(), CommandError> {
    let counted = if message.len() > UNCOUNTED || payer.is_stranger { sealed.cost(message) } else { 0 };
    let needed = message.len() + counted;
    match charge {
        Some(charge) if charge.bytes() >= needed => charge.shrink(needed),
        None if needed < UNCHARGED => {}
        _ => {
            let known = charge.as_ref().map_or(0, Charge::bytes);
            let more =
                payer.charge(needed - known).await.ok_or_else(|| CommandError::no_memory(needed, payer.memory))?;
            match charge {
                Some(charge) => charge.add(more),
                None => *charge = Some(more),
            }
        }
    }
    Ok(())
}

fn refuse(error: WireError) -> Refused {
    match error {
        WireError::Body(_) => Refused::Answered(CommandError::new(10334, "BSONObjectTooLarge", error.to_string())),
        error if error.is_of_document() => Refused::Answered(CommandError::invalid_bson(error.to_string())),
        error => Refused::Ended(error),
    }
}

impl CommandError {
    /// The error of a request for which the account has no memory. Nothing was executed, and drivers may repeat the
    /// request, unless it needs more than the whole account.
    pub(crate) fn no_memory(bytes: usize, memory: &Memory) -> Self {
        let capacity = memory.capacity();
        if bytes > capacity {
            let message = format!(
                "the request needs {bytes} bytes, of {capacity} that the server has for requests: send less at once, or \
                 serve with more --memory"
            );
            return Self::new(462, "IngressRequestRateLimitExceeded", message);
        }
        let message = format!(
            "the request needs {bytes} bytes, which the server does not have for requests now: send less at once, or \
             again later"
        );
        let labels = ["SystemOverloadedError", "RetryableError"].map(Value::from).to_vec();
        Self::new(462, "IngressRequestRateLimitExceeded", message).with("errorLabels", Value::Array(labels))
    }
}
