//! The privileges that a client needs to run a command.

use crate::error::CommandResult;
use crate::security::action::Action;
use crate::security::needs::{Needs, Rule, Subject, on_argument};
use crate::security::privilege::Need;

/// The privileges that a command needs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Access {
    /// No privilege: the command works before a login.
    Open,
    /// A login, and no privilege.
    Login,
    /// An action on the collection that the command names.
    Collection(Action),
    /// An action on the database that the command is sent to.
    Database(Action),
    /// An action on the whole server.
    Server(Action),
    /// The privileges that a rule derives from the command's fields.
    ByFields(Rule),
}

impl Access {
    /// True if the command works before a login.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Self::Open)
    }

    /// The privileges that a command needs.
    ///
    /// # Errors
    /// Errors for malformed fields.
    pub(crate) fn needs<'a>(self, subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
        match self {
            Self::Open | Self::Login => Ok(Vec::new()),
            Self::Collection(action) => Ok(vec![on_argument(subject, action)]),
            Self::Database(action) => Ok(vec![Need::database(subject.db, action)]),
            Self::Server(action) => Ok(vec![Need::server(action)]),
            Self::ByFields(rule) => rule(subject),
        }
    }
}
