//! Replies on their way to clients.

use crate::incoming::Payer;
use crate::memory::Charge;
use crate::socket::Stream;
use std::io;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;

/// Replies of at most this number of bytes wait for their clients for any time, and are not charged.
const TINY: usize = 16 << 10;
/// The time between two looks whether others need the memory of a reply.
const LOOK: Duration = Duration::from_secs(1);
/// While memory lacks, a client has one second more for each of these bytes of a reply.
const RATE: u64 = 1 << 20;

/// Sends a message. Its memory is charged until it is sent: `charge` has the part that already is. A client that does not
/// read it within `unread_max` loses its connection if memory lacks.
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
