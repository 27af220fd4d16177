//! Threads of connections: one for each that sends a request as soon as it has the reply to the one before.
//!
//! A connection is a future. The runtime polls it, until the connection finds itself busy and asks for a thread
//! ([`Wish`]); then a thread polls it, where it waits in the system's call that reads ([`crate::socket`]). Whenever it has
//! to wait for something else, or no request came for some time, the thread gives it back to the runtime. So a request of
//! a busy connection wakes one thread, which does the whole of it; of an idle one, that of the runtime which waits for
//! all sockets.

use alluvium_env::thread::available_parallelism;
use std::cell::Cell;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

/// The threads for each core.
const OF_CORE: usize = 4;

thread_local! {
    static IS_OF_CONNECTION: Cell<bool> = const { Cell::new(false) };
}

/// True on a thread that polls one connection.
pub(crate) fn is_of_connection() -> bool {
    IS_OF_CONNECTION.get()
}

/// The most threads of a server: with more for each core, the system lets some of them wait for long, and requests of
/// the runtime, which are executed in the order in which they arrive, do not.
pub(crate) fn most() -> usize {
    available_parallelism() * OF_CORE
}

/// The threads of a server.
pub(crate) struct Threads {
    count: usize,
    free: AtomicUsize,
}

impl Threads {
    /// At most this number.
    pub(crate) fn new(count: usize) -> Self {
        Self { count, free: AtomicUsize::new(count) }
    }

    /// The number of connections that have a thread now.
    pub(crate) fn used(&self) -> usize {
        self.count.saturating_sub(self.free.load(Ordering::Relaxed))
    }

    fn take(self: &Arc<Self>) -> Option<Taken> {
        let taken = self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| free.checked_sub(1));
        taken.ok().map(|_| Taken(Arc::clone(self)))
    }
}

/// A thread of a connection, until this is dropped.
struct Taken(Arc<Threads>);

impl Drop for Taken {
    fn drop(&mut self) {
        IS_OF_CONNECTION.set(false);
        self.0.free.fetch_add(1, Ordering::Relaxed);
    }
}

/// A connection's wish for a thread.
#[derive(Clone, Default)]
pub(crate) struct Wish(Arc<AtomicBool>);

impl Wish {
    /// Continues on a thread of the connection's own, if one is free.
    pub(crate) async fn be_granted(&self) {
        let mut has_asked = false;
        std::future::poll_fn(|context| {
            if std::mem::replace(&mut has_asked, true) {
                return Poll::Ready(());
            }
            self.0.store(true, Ordering::Relaxed);
            // What polls the connection sees the wish, and has it polled again.
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

/// A connection, wherever it is polled.
pub(crate) struct Serving {
    /// `None` after its end, and after it has gone to another thread.
    connection: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    wish: Wish,
    threads: Arc<Threads>,
}

impl Serving {
    pub(crate) fn new(
        threads: Arc<Threads>,
        wish: Wish,
        connection: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        Self { connection: Some(Box::pin(connection)), wish, threads }
    }

    /// Polls the connection on this thread, until it has to wait for more than its next request.
    fn run(mut self, taken: Taken) {
        IS_OF_CONNECTION.set(true);
        let polled = Pin::new(&mut self).poll(&mut Context::from_waker(Waker::noop()));
        drop(taken);
        if polled.is_pending() {
            // The runtime polls it first of all, so that it is woken there.
            tokio::spawn(self);
        }
    }
}

impl Future for Serving {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(connection) = &mut self.connection else { return Poll::Ready(()) };
        if connection.as_mut().poll(context).is_ready() {
            self.connection = None;
            return Poll::Ready(());
        }
        if !self.wish.0.swap(false, Ordering::Relaxed) || is_of_connection() {
            return Poll::Pending;
        }
        let Some(taken) = self.threads.take() else { return Poll::Pending };
        let (connection, wish, threads) = (self.connection.take(), self.wish.clone(), Arc::clone(&self.threads));
        tokio::task::spawn_blocking(move || Self { connection, wish, threads }.run(taken));
        Poll::Ready(())
    }
}
