//! Sends replies to clients.

use crate::incoming::Payer;
use crate::memory::Charge;
use crate::socket::Stream;
use std::io;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;

/// Replies with at most this number of bytes are not charged, and may wait for their clients without a time limit.
const TINY: usize = 16 << 10;
/// The time between two checks whether others need the memory of a reply.
const LOOK: Duration = Duration::from_secs(1);
/// If memory is short, a client has one further second for each of these bytes of a reply.
const RATE: u64 = 1 << 20;

/// Sends a message. The memory of the message is charged until the message is sent; `charge` is the part that is
/// charged already. If memory is short, a client that does not read the message within `unread_max` is disconnected.
pub(crate) async fn send(
    stream: &mut impl Stream,
    message: Vec<u8>,
    charge: Option<Charge>,
    payer: &Payer<'_>,
    unread_max: Duration,
) -> io::Result<()> {
    let sent = async {
        stream.write_all(&message).await?;
        stream.flush().await
    };
    if message.len() <= TINY {
        return sent.await;
    }
    let known = charge.as_ref().map_or(0, Charge::bytes);
    let _more = payer.memory.note(&payer.principal, message.len().saturating_sub(known));
    let began = Instant::now();
    let by_length = Duration::from_secs(message.len() as u64 / RATE);
    tokio::pin!(sent);
    loop {
        if let Ok(done) = tokio::time::timeout(LOOK, &mut sent).await {
            return done;
        }
        let memory = payer.memory;
        let is_late = memory.is_short() && began.elapsed() > unread_max + by_length;
        if is_late || memory.is_exceeded() && began.elapsed() > unread_max.min(LOOK) {
            let message = "it does not read its reply, and others need the memory";
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
    }
}
