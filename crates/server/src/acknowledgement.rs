//! Waits for the disk before a command is answered.

use crate::call::Call;
use crate::error::CommandResult;

impl Call<'_> {
    /// Notes whether everything that the command has done and seen so far is on the disk: its last act was a write of
    /// its own that waited for the sync. The log is synced in order, so earlier writes that the command saw are synced,
    /// too.
    pub(crate) fn note_durable(&self, is_durable: bool) {
        self.is_durable.set(is_durable);
    }

    /// Waits until the log is synced, if the write concern asks for the disk: then everything that the reply reports
    /// survives a power cut, whichever function has written it, even if the command only read the writes of other
    /// clients. Costs nothing if the command has noted that it waited, or if the whole log is synced.
    ///
    /// # Errors
    /// The error of the command; the error of the sync.
    pub(crate) fn wait_for_disk<T>(&self, result: CommandResult<T>) -> CommandResult<T> {
        if !self.write_concern.synced || self.is_durable.get() {
            return result;
        }
        let synced = self.shared.db.sync();
        // Of two errors, that of the command says more.
        let value = result?;
        synced?;
        Ok(value)
    }
}
