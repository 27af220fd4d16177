//! Opens the database of a running program to its owner.

use crate::config::Config;
use crate::listener::{ServeError, Server};
use alluvium::Database;
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_env::thread::{JoinHandle, try_spawn};
use std::sync::Arc;

/// The number of requests that are executed at a time.
const THREADS: usize = 4;

/// A database that is open to its owner until this value is dropped.
pub struct Attached {
    ended: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

/// Serves a database at the socket `server.sock` in its directory. The user that this process runs as can connect with
/// `mongosh`, drivers and other clients of MongoDB.
///
/// # Errors
/// [`ServeError`]: the directory cannot be written, or the database is served there already.
pub fn attach(database: &Database) -> Result<Attached, ServeError> {
    let mut server = Server::bind(database, Config { threads: THREADS, ..Config::default() })?;
    server.admit_owner(None)?;
    let ended = Arc::new((Mutex::new(false), Condvar::new()));
    let until = Arc::clone(&ended);
    let wait = move || {
        let mut has_ended = until.0.lock();
        while !*has_ended {
            until.1.wait(&mut has_ended);
        }
    };
    let thread = try_spawn("alluvium-attach", move || server.run(wait)).map_err(ServeError::Threads)?;
    Ok(Attached { ended, thread: Some(thread) })
}

impl Drop for Attached {
    fn drop(&mut self) {
        *self.ended.0.lock() = true;
        self.ended.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // The panic was printed already. The database does not depend on this thread.
            let _panicked = thread.join();
        }
    }
}
