//! A connection within this process: messages are passed as bytes, and are answered on the thread of the caller.

use crate::client::Client;
use crate::config::Config;
use crate::connection::Connection;
use crate::listener::{ServeError, open_security};
use crate::replica_set::ReplicaSet;
use crate::security::login::Peer;
use crate::shared::Shared;
use crate::socket::{Socket, Stream};
use crate::threads::{self, Wish};
use alluvium::Database;
use alluvium_env::sync::Mutex;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;

/// The address that clients are given. Nothing listens there.
const ADDRESS: &str = "localhost:27017";

/// A server with one connection, without a socket and without threads of its own. A message takes the same way as one
/// that the thread of a busy connection has read, but for the system calls. So the work for a message can be measured.
pub struct InProcess {
    runtime: tokio::runtime::Runtime,
    connection: Pin<Box<dyn Future<Output = ()> + Send>>,
    pipe: Arc<Mutex<Pipe>>,
    /// The connection ends if this is dropped.
    _stopping: watch::Sender<bool>,
}

impl InProcess {
    /// Serves a database to this process. The addresses, sockets and TLS files of the settings are not used.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn open(db: &Database, config: Config) -> Result<Self, ServeError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(ServeError::Threads)?;
        let security = open_security(db, &config, false)?;
        let set = ReplicaSet::open(db, &config).map_err(|error| ServeError::ReplicaSet(error.message))?;
        let shared = Shared::new(db.clone(), config, ADDRESS, set, security, None);
        let shared = Arc::new(shared.map_err(|error| ServeError::Settings(error.message))?);
        let pipe = Arc::new(Mutex::new(Pipe::default()));
        let (stopping, stops) = watch::channel(false);
        let client = Client::new(1, Peer::socket("this process".to_owned()), None);
        let connection = Connection::new(PipeEnd(Arc::clone(&pipe)), shared, client, stops, Wish::default()).serve();
        Ok(Self { runtime, connection: Box::pin(connection), pipe, _stopping: stopping })
    }

    /// Returns the bytes of the reply to a message. They are empty if the message wants no reply, or is not a whole
    /// message yet.
    ///
    /// # Errors
    /// The connection has ended, as after a message that is not one of the protocol.
    pub fn answer(&mut self, message: &[u8]) -> io::Result<Vec<u8>> {
        {
            let mut pipe = self.pipe.lock();
            pipe.unread.extend_from_slice(message);
            pipe.is_drained = false;
        }
        let (connection, pipe) = (&mut self.connection, &self.pipe);
        let has_ended = self.runtime.block_on(std::future::poll_fn(|context| {
            match threads::poll_on_own(connection.as_mut(), context) {
                Poll::Ready(()) => Poll::Ready(true),
                Poll::Pending if pipe.lock().is_drained => Poll::Ready(false),
                Poll::Pending => Poll::Pending,
            }
        }));
        let reply = std::mem::take(&mut pipe.lock().written);
        if has_ended && reply.is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(reply) }
    }
}

/// The bytes between the process and the connection.
#[derive(Default)]
struct Pipe {
    /// The bytes that the connection has not read.
    unread: Vec<u8>,
    /// True if the connection waits for further bytes.
    is_drained: bool,
    /// The replies of the connection.
    written: Vec<u8>,
}

/// The end of the connection.
struct PipeEnd(Arc<Mutex<Pipe>>);

impl Stream for PipeEnd {
    fn socket(&mut self) -> Option<&mut Socket> {
        None
    }
}

impl AsyncRead for PipeEnd {
    /// Without bytes the read is pending, and nothing wakes it: the connection is polled for each message.
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut pipe = self.0.lock();
        if pipe.unread.is_empty() {
            pipe.is_drained = true;
            return Poll::Pending;
        }
        let count = pipe.unread.len().min(buffer.remaining());
        buffer.put_slice(pipe.unread.get(..count).unwrap_or_default());
        pipe.unread.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for PipeEnd {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.lock().written.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
