//! The database that a shell has open: while there is one, commands on the same thread run on it, and do not open
//! their own.
//!
//! It is a thread-local value rather than a parameter, so that every command works in the shell without knowing it.

use crate::signals::{self, Stop};
use alluvium::Database;
use std::cell::RefCell;

#[derive(Clone)]
struct Session {
    database: Database,
    /// Documents are printed for people: a field a line.
    pretty: bool,
}

thread_local! {
    static OPEN: RefCell<Option<Session>> = const { RefCell::new(None) };
    /// A command that was typed where a command asked for something.
    static NEXT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Has the shell run this command next.
pub(crate) fn run_next(command: &str) {
    NEXT.with(|next| *next.borrow_mut() = Some(command.to_owned()));
}

/// The command to run next, if one was typed already.
pub(crate) fn take_next() -> Option<String> {
    NEXT.with(|next| next.borrow_mut().take())
}

/// While this exists, commands run on the database.
pub(crate) struct Entered(());

/// Begins a session.
pub(crate) fn enter(database: &Database, stop: &Stop, pretty: bool) -> Entered {
    let session = Session { database: database.clone(), pretty };
    OPEN.with(|open| *open.borrow_mut() = Some(session));
    signals::share(Some(stop.clone()));
    Entered(())
}

impl Drop for Entered {
    fn drop(&mut self) {
        OPEN.with(|open| *open.borrow_mut() = None);
        signals::share(None);
    }
}

fn of_session<T>(get: impl FnOnce(&Session) -> T) -> Option<T> {
    OPEN.with(|open| open.borrow().as_ref().map(get))
}

/// The database that is open.
pub(crate) fn database() -> Option<Database> {
    of_session(|session| session.database.clone())
}

/// True if documents are printed a field a line.
pub(crate) fn is_pretty() -> bool {
    of_session(|session| session.pretty).unwrap_or(false)
}

/// True within a session.
pub(crate) fn is_open() -> bool {
    of_session(|_| ()).is_some()
}
