//! Threads of connections: a connection that sends each request as soon as it has the previous reply gets a thread of
//! its own.
//!
//! A connection is a future. The runtime polls the future until the connection finds that it is busy, and asks for a
//! thread ([`Wish`]). Then a thread polls the future, and waits in the system call that reads ([`crate::socket`]). If
//! the connection has to wait for anything else, or if no request arrives for some time, the thread gives the future
//! back to the runtime. A request on a busy connection therefore wakes one thread, which does all the work. A request
//! on an idle connection wakes the thread of the runtime that waits for all sockets.

use alluvium_env::thread::available_parallelism;
use std::cell::Cell;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

/// The number of threads for each core.
const OF_CORE: usize = 4;

thread_local! {
    static IS_OF_CONNECTION: Cell<bool> = const { Cell::new(false) };
}

/// True on a thread that polls one connection.
pub(crate) fn is_of_connection() -> bool {
    IS_OF_CONNECTION.get()
}

/// Polls a connection on this thread as on a thread of its own.
pub(crate) fn poll_on_own<F: Future + ?Sized>(connection: Pin<&mut F>, context: &mut Context<'_>) -> Poll<F::Output> {
    let was = IS_OF_CONNECTION.replace(true);
    let polled = connection.poll(context);
    IS_OF_CONNECTION.set(was);
    polled
}

/// The most threads of a server. With more threads for each core, the system would let some of them wait for long.
/// Requests on the runtime do not wait for long, because they are executed in the order of arrival.
pub(crate) fn most() -> usize {
    available_parallelism() * OF_CORE
}

/// The threads of a server.
pub(crate) struct Threads {
    count: usize,
    free: AtomicUsize,
}

impl Threads {
    /// Creates the pool with at most this number of threads.
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

/// A thread that is in use until this value is dropped.
struct Taken(Arc<Threads>);

impl Drop for Taken {
    fn drop(&mut self) {
        IS_OF_CONNECTION.set(false);
        self.0.free.fetch_add(1, Ordering::Relaxed);
    }
}

/// The wish of a connection for a thread of its own.
#[derive(Clone, Default)]
pub(crate) struct Wish(Arc<AtomicBool>);

impl Wish {
    /// Continues on a thread of this connection, if a thread is free.
    pub(crate) async fn be_granted(&self) {
        let mut has_asked = false;
        std::future::poll_fn(|context| {
            if std::mem::replace(&mut has_asked, true) {
                return Poll::Ready(());
            }
            self.0.store(true, Ordering::Relaxed);
            // The poller of the connection sees the wish, and polls the connection again on another thread.
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

/// A connection that is being served, on the runtime or on a thread.
pub(crate) struct Serving {
    /// `None` after the connection has ended or has moved to another thread.
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

    /// Polls the connection on this thread until the connection has to wait for anything other than its next request.
    fn run(mut self, taken: Taken) {
        IS_OF_CONNECTION.set(true);
        let polled = Pin::new(&mut self).poll(&mut Context::from_waker(Waker::noop()));
        drop(taken);
        if polled.is_pending() {
            // The runtime polls the connection once first, so that later events wake the connection on the runtime.
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
