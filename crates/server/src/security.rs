//! Users, roles, logins, and the rights of users.
//!
//! A login fills the [`login::State`] of a connection. [`check`] compares the needs of a command ([`needs`]) with the
//! privileges that the roles of the user give. [`directory`] reads users and roles from the collections
//! `admin.system.users` and `admin.system.roles`.

pub(crate) mod access;
pub(crate) mod action;
pub(crate) mod audit;
pub(crate) mod built_in;
pub(crate) mod check;
pub(crate) mod directory;
pub(crate) mod failures;
pub(crate) mod login;
pub(crate) mod name;
pub(crate) mod needs;
pub(crate) mod privilege;
pub(crate) mod random;
pub(crate) mod records;

use crate::error::CommandResult;
use alluvium::Database;
use audit::Audit;
use directory::{Directory, Rules};
use failures::Failures;

/// The security of a server: shared by all connections.
pub(crate) struct Security {
    /// Users and roles.
    pub directory: Directory,
    /// Failed logins.
    pub failures: Failures,
    /// The log of logins, refusals and administrative acts.
    pub audit: Audit,
    /// False if every connection may run every command.
    required: bool,
    /// The secret for deriving made-up credentials of unknown users.
    secret: [u8; 32],
}

impl Security {
    /// Reads the users of a database.
    ///
    /// # Errors
    /// Errors of reading the users, of random numbers, and of the audit log.
    pub(crate) fn open(db: &Database, rules: Rules, audit: Audit) -> CommandResult<Self> {
        let env = db.as_ref().env.clone();
        Ok(Self {
            directory: Directory::open(db, rules)?,
            failures: Failures::new(env),
            audit,
            required: rules.logins,
            secret: random::bytes()?,
        })
    }

    /// True if commands need a login, and no user exists who could log in.
    pub(crate) fn is_open_to_all(&self) -> bool {
        self.required && !self.directory.has_users()
    }

    /// True if commands of a connection need a login. Before the first user is created, local connections need none.
    pub(crate) fn is_enforced(&self, is_local: bool) -> bool {
        self.required && (self.directory.has_users() || !is_local)
    }
}
