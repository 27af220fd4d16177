//! Sessions of clients.

use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use alluvium::{Map, Value};
use alluvium_env::Env;
use alluvium_env::sync::Mutex;
use std::collections::HashMap;
use std::time::Duration;

/// A session ends if it was not used for this long: what `hello` announces as 30 minutes.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// The most sessions, as in MongoDB.
const SESSIONS_MAX: usize = 1_000_000;

/// The sessions in use, by their identifiers.
pub(crate) struct Sessions {
    last_used: Mutex<HashMap<Vec<u8>, Duration>>,
    env: Env,
}

impl Sessions {
    pub(crate) fn new(env: Env) -> Self {
        Self { last_used: Mutex::new(HashMap::new()), env }
    }

    /// Notes that a session is used.
    ///
    /// # Errors
    /// Error 261 if there are too many.
    pub(crate) fn touch(&self, id: &[u8]) -> CommandResult<()> {
        let now = self.env.clock.now();
        let mut sessions = self.last_used.lock();
        if let Some(used) = sessions.get_mut(id) {
            *used = now;
            return Ok(());
        }
        if sessions.len() >= SESSIONS_MAX {
            let message = "Unable to add session into the cache because the number of active sessions is too high";
            return Err(CommandError::new(261, "TooManyLogicalSessions", message));
        }
        sessions.insert(id.to_vec(), now);
        Ok(())
    }

    /// Ends sessions.
    pub(crate) fn end(&self, ids: &[Vec<u8>]) {
        let mut sessions = self.last_used.lock();
        for id in ids {
            sessions.remove(id);
        }
    }

    /// Removes the sessions that were not used for long, and returns their identifiers.
    pub(crate) fn expire(&self) -> Vec<Vec<u8>> {
        let now = self.env.clock.now();
        let mut sessions = self.last_used.lock();
        let is_old = |used: &Duration| now.saturating_sub(*used) > TIMEOUT;
        let expired: Vec<Vec<u8>> =
            sessions.iter().filter(|(_, used)| is_old(used)).map(|(id, _)| id.clone()).collect();
        for id in &expired {
            sessions.remove(id);
        }
        expired
    }

    /// The identifiers of all sessions.
    pub(crate) fn all(&self) -> Vec<Vec<u8>> {
        self.last_used.lock().keys().cloned().collect()
    }

    /// The number of sessions.
    pub(crate) fn len(&self) -> usize {
        self.last_used.lock().len()
    }
}

/// The identifier of the session of a command: the bytes of a UUID.
///
/// # Errors
/// Error 14 for another form.
pub(crate) fn identifier(body: &Map) -> CommandResult<Option<Vec<u8>>> {
    match body.document("lsid") {
        None => Ok(None),
        Some(session) => of(session).map(Some),
    }
}

/// The identifier in a session's document.
///
/// # Errors
/// Error 14 for another form.
pub(crate) fn of(session: &Map) -> CommandResult<Vec<u8>> {
    match session.get("id") {
        Some(Value::Binary(uuid)) if uuid.bytes.len() == 16 => Ok(uuid.bytes.clone()),
        Some(other) => {
            let message = format!("BSON field 'lsid.id' is the wrong type '{}', expected a UUID", other.type_name());
            Err(CommandError::type_mismatch(message))
        }
        None => Err(CommandError::missing_field("BSON field 'lsid.id' is missing but a required field")),
    }
}
