//! The session of a shell or a visitor: while it lasts, commands on the same thread use its open database instead of
//! opening their own.
//!
//! The session is a thread-local value and not a parameter, so that every command works in the shell unchanged.

use crate::mode::Mode;
use crate::signals::{self, Stop};
use alluvium::{Collection, Database, Transaction};
use std::cell::{Cell, RefCell};

#[derive(Clone)]
struct Session {
    database: Database,
    /// Documents are printed for people, with one field per line.
    pretty: bool,
    /// The session of a shell, which reads its commands from standard input.
    is_shell: bool,
    /// The transaction that was begun in the shell and has not been ended there.
    transaction: Option<Transaction>,
}

thread_local! {
    static OPEN: RefCell<Option<Session>> = const { RefCell::new(None) };
    /// A command that was typed at another command's prompt.
    static NEXT: RefCell<Option<String>> = const { RefCell::new(None) };
    /// The format in which a shell prints documents, if it was chosen in that shell.
    static MODE: Cell<Option<Mode>> = const { Cell::new(None) };
}

/// Makes the shell run this command next.
pub(crate) fn run_next(command: &str) {
    NEXT.with(|next| *next.borrow_mut() = Some(command.to_owned()));
}

/// The command to run next, if one was already typed.
pub(crate) fn take_next() -> Option<String> {
    NEXT.with(|next| next.borrow_mut().take())
}

/// While this value exists, commands run on the database of the session.
pub(crate) struct Entered(());

/// Begins the session of a shell.
pub(crate) fn enter(database: &Database, stop: &Stop, pretty: bool) -> Entered {
    begin(Session { database: database.clone(), pretty, is_shell: true, transaction: None }, stop)
}

/// Begins the session of a command that runs for another process.
pub(crate) fn enter_for_visitor(database: &Database, stop: &Stop) -> Entered {
    begin(Session { database: database.clone(), pretty: false, is_shell: false, transaction: None }, stop)
}

/// Turns the session of a visitor into the session of a shell.
pub(crate) fn continue_as_shell() {
    OPEN.with(|open| {
        if let Some(session) = open.borrow_mut().as_mut() {
            session.is_shell = true;
        }
    });
}

fn begin(session: Session, stop: &Stop) -> Entered {
    OPEN.with(|open| *open.borrow_mut() = Some(session));
    signals::share(Some(stop.clone()));
    Entered(())
}

impl Drop for Entered {
    fn drop(&mut self) {
        OPEN.with(|open| *open.borrow_mut() = None);
        set_mode(None);
        signals::share(None);
    }
}

/// Sets the format in which the shell prints documents; `None` for the format of the settings.
pub(crate) fn set_mode(mode: Option<Mode>) {
    MODE.with(|chosen| chosen.set(mode));
}

/// The format in which the shell prints documents, if it was chosen in that shell.
pub(crate) fn mode() -> Option<Mode> {
    MODE.with(Cell::get)
}

fn of_session<T>(get: impl FnOnce(&Session) -> T) -> Option<T> {
    OPEN.with(|open| open.borrow().as_ref().map(get))
}

/// The open database.
pub(crate) fn database() -> Option<Database> {
    of_session(|session| session.database.clone())
}

/// The transaction of the session.
pub(crate) fn transaction() -> Option<Transaction> {
    of_session(|session| session.transaction.clone()).flatten()
}

/// Sets the transaction of the session, and returns the former one.
pub(crate) fn set_transaction(transaction: Option<Transaction>) -> Option<Transaction> {
    OPEN.with(|open| {
        let mut open = open.borrow_mut();
        open.as_mut().and_then(|session| std::mem::replace(&mut session.transaction, transaction))
    })
}

/// A collection of the database, within the transaction of the session if there is one.
pub(crate) fn collection(database: &Database, name: &str) -> Collection {
    let collection = database.collection(name);
    match transaction() {
        Some(transaction) => transaction.within(&collection),
        None => collection,
    }
}

/// True if documents are printed with one field per line.
pub(crate) fn is_pretty() -> bool {
    of_session(|session| session.pretty).unwrap_or(false)
}

/// True within the session of a shell.
pub(crate) fn is_shell() -> bool {
    of_session(|session| session.is_shell).unwrap_or(false)
}

/// True within a session.
pub(crate) fn is_open() -> bool {
    of_session(|_| ()).is_some()
}
