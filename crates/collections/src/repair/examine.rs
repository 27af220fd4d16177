//! Examines a database that cannot be opened.

use super::{Loss, LostNumbers, refuse_read_only};
use crate::error::Result;
use alluvium_env::Env;
use alluvium_store::Salvage;
use std::path::Path;

/// The findings of [`examine`].
#[derive(Debug, Clone, Default)]
pub struct Examined {
    /// The unreadable parts of sorted files.
    pub losses: Vec<Loss>,
    /// The sequence numbers of operations that are lost from the log.
    pub lost_numbers: Vec<LostNumbers>,
    /// Other damaged or missing files, a sentence each.
    pub damage: Vec<String>,
    /// The incomplete ends of files that were being written when a process ended. They are not damage.
    pub torn: Vec<String>,
    /// The number of sorted files read.
    pub files: u64,
    /// The number of whole data blocks in these files.
    pub blocks: u64,
}

/// Reads every block of every file of a database without opening it. This also works for a database that cannot be
/// opened, or that must not be written. Takes the lock of the database, and writes nothing. Documents and indexes are
/// not checked; [`crate::Database::verify`] checks them.
///
/// ```
/// # let env = alluvium_env::Env::in_memory(1);
/// # let db = alluvium::Database::builder().env(env.clone()).open("db")?;
/// # db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
/// # db.close()?;
/// let found = alluvium::repair::examine("db").env(env).run()?;
/// assert!(found.losses.is_empty() && found.lost_numbers.is_empty() && found.damage.is_empty());
/// # alluvium::Result::Ok(())
/// ```
///
/// # Errors
/// [`crate::error::ErrorKind::Open`] if there is no database; [`crate::ErrorKind::InUse`]; errors
/// of reading. Damage is not an error.
pub fn examine(env: &Env, path: &Path) -> Result<Examined> {
    refuse_read_only(env, path)?;
    let Salvage { losses, lost_numbers, notes, torn, files, blocks, .. } = Salvage::read(env, path)?;
    Ok(Examined { losses, lost_numbers, damage: notes, torn, files, blocks })
}
