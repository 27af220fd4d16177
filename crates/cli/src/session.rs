//! The database that a shell has open: while there is one, commands on the same thread run on it, and do not open
//! their own.
//!
//! It is kept beside the commands rather than handed to each, so that every command works in the shell, and none has to
//! know whether it does.

use crate::signals::Stop;
use alluvium::Database;
use std::cell::RefCell;

#[derive(Clone)]
struct Session {
    database: Database,
    stop: Stop,
    /// Documents are printed for people: a field a line.
    pretty: bool,
}

thread_local! {
    static OPEN: RefCell<Option<Session>> = const { RefCell::new(None) };
}

/// As long as this lives, commands run on the database.
pub(crate) struct Entered(());

/// Begins a session.
pub(crate) fn enter(database: &Database, stop: &Stop, pretty: bool) -> Entered {
    let session = Session { database: database.clone(), stop: stop.clone(), pretty };
    OPEN.with(|open| *open.borrow_mut() = Some(session));
    Entered(())
}

impl Drop for Entered {
    fn drop(&mut self) {
        OPEN.with(|open| *open.borrow_mut() = None);
    }
}

fn of_session<T>(get: impl FnOnce(&Session) -> T) -> Option<T> {
    OPEN.with(|open| open.borrow().as_ref().map(get))
}

/// The database that is open.
pub(crate) fn database() -> Option<Database> {
    of_session(|session| session.database.clone())
}

/// What asks the running command to stop.
pub(crate) fn stop() -> Option<Stop> {
    of_session(|session| session.stop.clone())
}

/// True if documents are printed a field a line.
pub(crate) fn is_pretty() -> bool {
    of_session(|session| session.pretty).unwrap_or(false)
}

/// True within a session.
pub(crate) fn is_open() -> bool {
    of_session(|_| ()).is_some()
}
