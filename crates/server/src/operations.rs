//! The operations that are running.

use crate::client::Client;
use crate::sessions::SessionId;
use alluvium::Map;
use alluvium_env::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A running command.
#[derive(Clone)]
pub(crate) struct Operation {
    /// The database, or `database.collection`.
    pub namespace: Arc<str>,
    /// The kind of operation.
    pub op: &'static str,
    /// The fields of the command that listings may show: without secrets, statements and documents.
    pub shown: Arc<Map>,
    /// The session of the command.
    pub session: Option<SessionId>,
    /// The connection of the command.
    pub client: Arc<Client>,
    /// The time when the command began, on the server's clock.
    pub began: Duration,
    /// Set to end the command.
    pub stop: Arc<AtomicBool>,
    /// True if the command has not begun, because a lock of `fsync` blocks it.
    pub waits_for_lock: bool,
}

/// The running commands by number.
#[derive(Default)]
pub(crate) struct Operations {
    running: Mutex<Running>,
    /// The addresses of the connections.
    connections: Mutex<BTreeMap<i32, String>>,
}

#[derive(Default)]
struct Running {
    last: i32,
    by_number: BTreeMap<i32, Operation>,
}

/// A command that is in the list until this value is dropped.
pub(crate) struct Listed<'a> {
    operations: &'a Operations,
    /// The number of the command.
    pub number: i32,
}

impl Operations {
    /// Adds a command to the list.
    pub(crate) fn begin(&self, operation: Operation) -> Listed<'_> {
        let mut running = self.running.lock();
        running.last = running.last.wrapping_add(1).max(1);
        let number = running.last;
        running.by_number.insert(number, operation);
        Listed { operations: self, number }
    }

    /// The commands with their numbers.
    pub(crate) fn list(&self) -> Vec<(i32, Operation)> {
        self.running.lock().by_number.iter().map(|(number, operation)| (*number, operation.clone())).collect()
    }

    /// The connections of the commands that began before a time, on the server's clock.
    pub(crate) fn begun_before(&self, time: Duration) -> Vec<Arc<Client>> {
        let running = self.running.lock();
        let old = running.by_number.values().filter(|operation| operation.began < time);
        old.map(|operation| Arc::clone(&operation.client)).collect()
    }

    /// Replaces the flag that ends a command.
    pub(crate) fn stop_by(&self, number: i32, stop: Arc<AtomicBool>) {
        if let Some(operation) = self.running.lock().by_number.get_mut(&number) {
            operation.stop = stop;
        }
    }

    /// Ends the commands of some sessions at their next steps.
    pub(crate) fn kill_of_sessions(&self, sessions: &[SessionId]) {
        for operation in self.running.lock().by_number.values() {
            if operation.session.as_ref().is_some_and(|session| sessions.contains(session)) {
                operation.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Notes a connection.
    pub(crate) fn connect(&self, number: i32, address: String) {
        self.connections.lock().insert(number, address);
    }

    /// Removes a connection.
    pub(crate) fn disconnect(&self, number: i32) {
        self.connections.lock().remove(&number);
    }

    /// The numbers and addresses of all connections.
    pub(crate) fn connections(&self) -> Vec<(i32, String)> {
        self.connections.lock().iter().map(|(number, address)| (*number, address.clone())).collect()
    }

    /// Ends all commands at their next steps.
    pub(crate) fn end_all(&self) {
        for operation in self.running.lock().by_number.values() {
            operation.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Ends a command at its next step.
    pub(crate) fn kill(&self, number: i32) {
        if let Some(operation) = self.running.lock().by_number.get(&number) {
            operation.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.operations.running.lock().by_number.remove(&self.number);
    }
}
