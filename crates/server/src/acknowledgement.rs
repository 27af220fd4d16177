//! Waits for the sync of the log before a command is answered.

use crate::call::Call;
use crate::error::CommandResult;

impl Call<'_> {
    /// Notes whether everything that the command has written and read so far is on the disk. This is the case if the
    /// last step of the command was a write that waited for the sync. The log is synced in order; therefore, earlier
    /// writes that the command has read are synced, too.
    pub(crate) fn note_durable(&self, is_durable: bool) {
        self.is_durable.set(is_durable);
    }

    /// Waits until the log is synced, if the write concern asks for the disk. Everything that the reply reports then
    /// survives a power cut, including writes of other clients that the command read. Does not wait if the command has
    /// noted that its own write waited, or if the whole log is synced.
    ///
    /// # Errors
    /// The error of the command; the error of the sync.
    pub(crate) fn wait_for_disk<T>(&self, result: CommandResult<T>) -> CommandResult<T> {
        if !self.write_concern.synced || self.is_durable.get() {
            return result;
        }
        let synced = self.shared.db.sync();
        // If both failed, the error of the command is more useful.
        let value = result?;
        synced?;
        Ok(value)
    }
}
