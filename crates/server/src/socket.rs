//! The socket of a connection. A thread of the connection or the runtime waits for it.
//!
//! A thread of a connection ([`crate::threads`]) waits in the system call that reads. A request therefore costs one
//! system call, and wakes only this thread. After [`LINGER`] without a byte, the read is pending: the connection moves
//! to the runtime, which waits for all its sockets together.

use crate::threads;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio_rustls::server::TlsStream;

/// The most time that the thread of a connection waits for the next request.
const LINGER: Duration = Duration::from_millis(20);
/// The most bytes of one read.
const READ_BYTES_MAX: usize = 256 << 10;

/// The events that the runtime waits for. `PRIORITY` reports the end of a stream even if unread bytes precede it.
#[cfg(target_os = "linux")]
const WATCHED: Interest = Interest::READABLE.add(Interest::WRITABLE).add(Interest::PRIORITY);
#[cfg(not(target_os = "linux"))]
const WATCHED: Interest = Interest::READABLE.add(Interest::WRITABLE);

/// A socket.
pub(crate) struct Socket {
    fd: Arc<OwnedFd>,
    /// The registration with the runtime; `None` while a thread waits for the socket.
    watched: Option<AsyncFd<Arc<OwnedFd>>>,
    /// True if nothing was read since the last write. A thread waits only for the first bytes of a request, because TLS
    /// reads again after the last bytes.
    is_answered: bool,
}

/// A stream of bytes over a socket.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// The socket; `None` for a stream within this process.
    fn socket(&mut self) -> Option<&mut Socket>;
}

impl Stream for Socket {
    fn socket(&mut self) -> Option<&mut Socket> {
        Some(self)
    }
}

impl Stream for TlsStream<Socket> {
    fn socket(&mut self) -> Option<&mut Socket> {
        Some(self.get_mut().0)
    }
}

impl Socket {
    /// Makes a socket from an accepted connection.
    ///
    /// # Errors
    /// Errors of the system.
    pub(crate) fn new(accepted: impl Into<OwnedFd>) -> io::Result<Self> {
        let fd = accepted.into();
        rustix::io::ioctl_fionbio(&fd, false)?;
        set_socket_timeout(&fd, Timeout::Recv, Some(LINGER))?;
        Ok(Self { fd: Arc::new(fd), watched: None, is_answered: false })
    }

    /// The descriptor that [`is_gone`] examines.
    pub(crate) fn descriptor(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.fd)
    }

    /// Waits until the other end has closed the connection.
    #[cfg(target_os = "linux")]
    async fn gone(&mut self) {
        while !is_gone(&self.fd) {
            let Ok(watched) = self.watched() else { return };
            match watched.ready(Interest::PRIORITY).await {
                Ok(mut changed) => changed.clear_ready(),
                // The next read returns the error.
                Err(_) => return,
            }
        }
    }

    /// Waits until the other end has closed the connection. This system has no event for it, so that the socket is
    /// polled.
    #[cfg(not(target_os = "linux"))]
    async fn gone(&mut self) {
        while !is_gone(&self.fd) {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    #[allow(deprecated, reason = "the other function is unsafe; this descriptor is open as long as it is watched")]
    fn watched(&mut self) -> io::Result<&AsyncFd<Arc<OwnedFd>>> {
        let watched = match self.watched.take() {
            Some(watched) => watched,
            None => AsyncFd::with_interest(Arc::clone(&self.fd), WATCHED)?,
        };
        Ok(self.watched.insert(watched))
    }
}

/// Reads from the socket. Returns true if there may be more bytes.
fn receive(fd: &OwnedFd, buffer: &mut ReadBuf<'_>, flags: RecvFlags) -> rustix::io::Result<bool> {
    let room = buffer.remaining().min(READ_BYTES_MAX);
    let (count, _) = recv(fd, buffer.initialize_unfilled_to(room), flags)?;
    buffer.advance(count);
    Ok(count == 0 || count == room)
}

/// Waits until the other end of a stream has closed the connection.
pub(crate) async fn gone(stream: &mut impl Stream) {
    match stream.socket() {
        Some(socket) => socket.gone().await,
        None => std::future::pending().await,
    }
}

/// True if the other end has closed the connection, even if unread bytes remain.
pub(crate) fn is_gone(fd: &OwnedFd) -> bool {
    #[cfg(target_os = "linux")]
    let flags = PollFlags::RDHUP;
    #[cfg(not(target_os = "linux"))]
    let flags = PollFlags::HUP;
    let mut polled = [PollFd::new(fd, flags)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    // `poll` always reports errors of the connection, too.
    poll(&mut polled, Some(&at_once)).is_ok_and(|changed| changed > 0)
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let is_answered = std::mem::take(&mut this.is_answered);
        if threads::is_of_connection() {
            this.watched = None;
            let flags = if is_answered { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
            return match receive(&this.fd, buffer, flags) {
                // The connection moves to the runtime, which polls it again.
                Err(Errno::AGAIN | Errno::INTR) => Poll::Pending,
                done => Poll::Ready(done.map(drop).map_err(io::Error::from)),
            };
        }
        let watched = this.watched()?;
        loop {
            let mut readable = ready!(watched.poll_read_ready(context))?;
            match receive(watched.get_ref(), buffer, RecvFlags::DONTWAIT) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => readable.clear_ready(),
                Ok(false) => {
                    readable.clear_ready();
                    return Poll::Ready(Ok(()));
                }
                done => return Poll::Ready(done.map(drop).map_err(io::Error::from)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    /// Writes without waiting if possible. Otherwise the runtime waits, for as long as the other end does not read.
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        loop {
            match send(&this.fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Err(Errno::AGAIN) if threads::is_of_connection() => return Poll::Pending,
                Err(Errno::AGAIN) => {}
                Err(Errno::INTR) => continue,
                done => {
                    this.is_answered = done.is_ok();
                    return Poll::Ready(Ok(done?));
                }
            }
            let mut writable = ready!(this.watched()?.poll_write_ready(context))?;
            // The socket may have become writable in between; the runtime then reports it.
            writable.clear_ready();
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match rustix::net::shutdown(&self.fd, rustix::net::Shutdown::Write) {
            // The other end has disconnected.
            Err(Errno::NOTCONN) => Poll::Ready(Ok(())),
            done => Poll::Ready(Ok(done?)),
        }
    }
}
