//! Allows or refuses commands. No other module does.

use super::Security;
use super::audit::Event;
use super::login::{Login, Peer};
use super::name::ADMIN;
use super::needs::{Needs, Subject};
use super::privilege::{Need, Target};
use crate::error::{CommandError, CommandResult};
use crate::security::access::Access;
use crate::security::action::Action;
use alluvium::Map;
use alluvium_wire::Sequence;

/// The collections that only the commands for users and roles may change.
const PROTECTED: [&str; 3] = ["system.users", "system.roles", "system.version"];
/// The actions that change nothing.
const READING: [Action; 9] = [
    Action::Find,
    Action::CollStats,
    Action::DbStats,
    Action::IndexStats,
    Action::ListIndexes,
    Action::PlanCacheRead,
    Action::ChangeStream,
    Action::DbHash,
    Action::Validate,
];

/// A command that a client has sent.
pub(crate) struct Wanted<'a> {
    /// The name.
    pub name: &'static str,
    /// The privileges that the command needs.
    pub access: Access,
    /// The database that the command is sent to.
    pub db: &'a str,
    /// The fields.
    pub body: &'a Map,
    /// Arrays of documents that were sent next to the body.
    pub sequences: &'a [Sequence],
}

impl Security {
    /// Checks that a client may run a command.
    ///
    /// # Errors
    /// Error 13 if the client may not; errors of malformed fields, and of reading the users.
    pub(crate) fn check(&self, peer: &Peer, wanted: &Wanted<'_>) -> CommandResult<()> {
        let refused = self.allow(peer, wanted);
        if let Err(error) = &refused
            && error.code == 13
        {
            self.write_event("refused", peer, peer.login(), [wanted.name, wanted.db], Some(error));
        }
        refused
    }

    /// Checks, before the next documents of a cursor are read, that the user still has the privileges that the cursor
    /// needs.
    ///
    /// # Errors
    /// Error 13 if a right was revoked or the user was dropped.
    pub(crate) fn check_cursor(&self, peer: &Peer, needs: &[Need<'_>], namespace: &str) -> CommandResult<()> {
        if !self.is_checked(peer) {
            return Ok(());
        }
        let login = peer.login();
        let privileges = self.privileges(login.as_ref(), "getMore")?;
        if needs.iter().all(|need| privileges.allow(need)) {
            return Ok(());
        }
        let error = CommandError::unauthorized(format!("not authorized on {namespace} to read its cursor any more"));
        self.write_event("refused", peer, login, ["getMore", namespace], Some(&error));
        Err(error)
    }

    /// True if the rights of a connection depend on its login. The owner of the database always has all rights.
    pub(crate) fn is_checked(&self, peer: &Peer) -> bool {
        !peer.is_owner && self.is_enforced(peer.is_local)
    }

    fn allow(&self, peer: &Peer, wanted: &Wanted<'_>) -> CommandResult<()> {
        if wanted.access.is_open() {
            return Ok(());
        }
        let enforced = self.is_checked(peer);
        let login = if enforced { peer.login() } else { None };
        let privileges = if enforced { Some(self.privileges(login.as_ref(), wanted.name)?) } else { None };
        let user = login.as_ref().map(|login| &login.name);
        let mut subject = Subject { db: wanted.db, body: wanted.body, sequences: wanted.sequences, user, exact: false };
        let needs = wanted.access.needs(&subject)?;
        if needs.iter().any(is_protected) {
            return Err(refusal(wanted));
        }
        let Some(privileges) = privileges else { return Ok(()) };
        let satisfied = |needs: &Needs<'_>| needs.iter().all(|need| privileges.allow(need));
        if satisfied(&needs) {
            return Ok(());
        }
        subject.exact = true;
        match satisfied(&wanted.access.needs(&subject)?) {
            true => Ok(()),
            false => Err(refusal(wanted)),
        }
    }

    /// True if the user of a connection has a right. Used by commands that show some users only a part of their result.
    ///
    /// # Errors
    /// Errors of reading the users.
    pub(crate) fn may(&self, peer: &Peer, need: &Need<'_>) -> CommandResult<bool> {
        if !self.is_checked(peer) {
            return Ok(true);
        }
        Ok(self.privileges(peer.login().as_ref(), "")?.allow(need))
    }

    /// True if the user of a connection has any privilege in a database.
    ///
    /// # Errors
    /// Errors of reading the users.
    pub(crate) fn may_reach(&self, peer: &Peer, db: &str) -> CommandResult<bool> {
        if !self.is_checked(peer) {
            return Ok(true);
        }
        Ok(self.privileges(peer.login().as_ref(), "")?.reach(db))
    }

    /// Runs a command, and writes it to the audit log with its result.
    ///
    /// # Errors
    /// Errors of the command.
    pub(crate) fn recorded<T>(
        &self,
        peer: &Peer,
        command: &str,
        namespace: &str,
        run: impl FnOnce() -> CommandResult<T>,
    ) -> CommandResult<T> {
        // Read first, because the command may end the login.
        let login = peer.login();
        let done = run();
        self.write_event("administration", peer, login, [command, namespace], done.as_ref().err());
        done
    }

    /// Appends a change that a command has made to the audit log.
    pub(crate) fn note_administration(&self, peer: &Peer, command: &str, namespace: &str) {
        self.write_event("administration", peer, peer.login(), [command, namespace], None);
    }

    /// Appends an application's message to the audit log.
    pub(crate) fn note(&self, peer: &Peer, command: &str, message: &str) {
        self.audit.write(&Event {
            kind: "message",
            address: &peer.address,
            user: peer.login().map(|login| login.name.to_string()),
            command,
            namespace: ADMIN,
            message: Some(message),
            error: None,
        });
    }

    /// Writes a line of the audit log.
    fn write_event(
        &self,
        kind: &'static str,
        peer: &Peer,
        login: Option<Login>,
        [command, namespace]: [&str; 2],
        error: Option<&CommandError>,
    ) {
        self.audit.write(&Event {
            kind,
            address: &peer.address,
            user: login.map(|login| login.name.to_string()),
            command,
            namespace,
            message: None,
            error: error.map(|error| (error.code, error.name)),
        });
    }
}

/// True if the need is to change a collection that only the server itself may change; even administrators are refused.
fn is_protected(need: &Need<'_>) -> bool {
    let Target::Collection(db, collection) = &need.target else { return false };
    db == ADMIN && PROTECTED.contains(&&**collection) && !READING.contains(&need.action)
}

fn refusal(wanted: &Wanted<'_>) -> CommandError {
    let Wanted { name, db, .. } = wanted;
    CommandError::unauthorized(format!("not authorized on {db} to execute command {name}"))
}
