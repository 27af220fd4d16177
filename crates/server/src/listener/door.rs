//! Accepts the connections of the owner of the database.

use super::{Acceptor, ServeError, Server, pause};
use crate::owner::{OWNER_SOCKET, OwnerSocket, RUN, Runner, Visit, is_of_owner};
use crate::security::login::Peer;
use crate::shared::Shared;
use crate::socket::Socket;
use crate::tls::Greeting;
use rustix::net::RecvFlags;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::Interest;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot, watch};

/// The owner's socket, and the runner for connections that do not speak MongoDB's protocol.
pub(super) struct Door {
    listener: UnixListener,
    socket: OwnerSocket,
    runner: Option<Runner>,
}

impl Server {
    /// Also listens on the owner's socket, which is a file in the directory of the database. Without a runner, only
    /// clients of MongoDB are served there.
    ///
    /// # Errors
    /// [`ServeError::Listen`]: the directory cannot be written, or this process already listens on the socket.
    pub fn admit_owner(&mut self, runner: Option<Runner>) -> Result<(), ServeError> {
        let path = self.shared.db.path().join(OWNER_SOCKET);
        let failed = |source| ServeError::Listen { address: path.display().to_string(), source };
        let (listener, socket) = OwnerSocket::bind(&self.shared.db).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let _runtime = self.runtime.enter();
        let listener = UnixListener::from_std(listener).map_err(failed)?;
        self.door = Some(Door { listener, socket, runner });
        Ok(())
    }
}

impl Acceptor {
    /// Accepts connections of the owner until the server stops.
    pub(super) async fn owner(mut self, door: Door) {
        let Door { listener, socket, runner } = door;
        let address = self.shared.db.path().join(OWNER_SOCKET).display().to_string();
        let (sender, mut clients) = mpsc::unbounded_channel();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) if is_of_owner(&stream) => {
                        let visitor = Visitor {
                            stream,
                            runner: runner.clone(),
                            shared: Arc::clone(&self.shared),
                            stopping: self.stopping.clone(),
                        };
                        tokio::spawn(visitor.serve(sender.clone(), self.open.clone()));
                    }
                    Ok(_) => log::warn!("a connection of another user to {address} was refused"),
                    Err(error) => pause(&error).await,
                },
                Some(stream) = clients.recv() => {
                    let socket = stream.into_std().and_then(Socket::new);
                    self.serve(Peer::owner(address.clone()), async { Ok((socket?, Greeting::default())) });
                }
                _ = self.stopping.changed() => break,
            }
        }
        drop((listener, socket));
    }
}

/// A connection that has not sent anything yet.
struct Visitor {
    stream: UnixStream,
    runner: Option<Runner>,
    shared: Arc<Shared>,
    stopping: watch::Receiver<bool>,
}

impl Visitor {
    /// Serves the connection with the runner, or passes it on to be served as a MongoDB client.
    async fn serve(mut self, clients: mpsc::UnboundedSender<UnixStream>, _open: mpsc::Sender<()>) {
        let first = tokio::select! {
            first = peek(&self.stream) => first,
            _ = self.stopping.changed() => return,
        };
        match first {
            Ok(bytes) if bytes == RUN => match self.runner.take() {
                Some(runner) => self.run(runner).await,
                // The connection is closed without a reply.
                None => log::debug!("a command was refused: this program runs none"),
            },
            Ok(_) => {
                let _the_server_ends = clients.send(self.stream);
            }
            Err(error) => log::debug!("a connection to the owner's socket ended: {error}"),
        }
    }

    async fn run(mut self, runner: Runner) {
        let blocking = self.stream.into_std().and_then(|stream| stream.set_nonblocking(false).map(|()| stream));
        let stream = match blocking {
            Ok(stream) => stream,
            Err(error) => return log::warn!("a command could not be run: {error}"),
        };
        let stop = Arc::new(AtomicBool::new(false));
        let visit = Visit { stream, database: self.shared.db.clone(), stop: Arc::clone(&stop) };
        let (ended, mut waiting) = oneshot::channel::<()>();
        let started = alluvium_env::thread::try_spawn("alluvium-run", move || {
            let _dropped_at_the_end = ended;
            runner.run(visit);
        });
        if let Err(error) = started {
            return log::warn!("a command could not be run: {error}");
        }
        tokio::select! {
            _ = &mut waiting => return,
            _ = self.stopping.changed() => stop.store(true, Ordering::Relaxed),
        }
        let _ended = waiting.await;
    }
}

/// Returns the first bytes of a connection without consuming them. The bytes arrive together.
async fn peek(stream: &UnixStream) -> io::Result<[u8; RUN.len()]> {
    let mut bytes = [0; RUN.len()];
    stream
        .async_io(Interest::READABLE, || Ok(rustix::net::recv(stream, &mut bytes, RecvFlags::PEEK).map(|_| ())?))
        .await?;
    Ok(bytes)
}
