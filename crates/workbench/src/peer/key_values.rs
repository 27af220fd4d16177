//! Keys and values.

use super::Failure;

/// A store of keys and values.
pub trait KeyValues<E = Failure>: Sync {
    /// A session of one thread.
    ///
    /// # Errors
    /// Errors of the store.
    fn session(&self) -> Result<Box<dyn KeyValueSession<E> + '_>, E>;

    /// Writes everything in memory to files, and waits for the background work that the store can
    /// wait for.
    ///
    /// # Errors
    /// Errors of the store.
    fn settle(&self) -> Result<(), E>;

    /// Closes the store.
    ///
    /// # Errors
    /// Errors of the store.
    fn close(self: Box<Self>) -> Result<(), E>;
}

/// One thread's connection to a store. Each write is a commit of its own: its log record is passed
/// to the operating system before the call returns, and no call waits for a sync. An implementation
/// that deviates from this says so in its documentation.
pub trait KeyValueSession<E = Failure> {
    /// Writes a value. An existing value is replaced.
    ///
    /// # Errors
    /// Errors of the store.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), E>;

    /// Replaces the content of `value` by the value of a key; false if the key does not exist.
    ///
    /// # Errors
    /// Errors of the store.
    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, E>;

    /// Deletes a key; true if it existed.
    ///
    /// # Errors
    /// Errors of the store.
    fn delete(&mut self, key: &[u8]) -> Result<bool, E>;

    /// Reads a value and writes the new value that `change` computes. This is atomic: no other
    /// update of the key happens in between. Returns false if the key does not exist.
    ///
    /// # Errors
    /// Errors of the store and of `change`; the value is then unchanged.
    fn update(&mut self, key: &[u8], change: &mut Change<'_, E>) -> Result<bool, E>;

    /// As [`KeyValueSession::update`] for each of these keys, in one transaction: all values are
    /// changed, or none. Returns false if a key does not exist, and `None` if the store has no such
    /// transactions here.
    ///
    /// # Errors
    /// Errors of the store and of `change`; the values are then unchanged.
    fn update_all(&mut self, keys: &[&[u8]], change: &mut Change<'_, E>) -> Result<Option<bool>, E> {
        let _unused = (keys, change);
        Ok(None)
    }
}

/// Appends the new value of a key to an empty buffer, given the existing value. It may be called
/// again if a transaction has to be repeated.
pub type Change<'a, E = Failure> = dyn FnMut(&[u8], &mut Vec<u8>) -> Result<(), E> + 'a;
