//! Looking through a database that cannot be opened.

use super::{Loss, LostNumbers, refuse_read_only};
use crate::error::Result;
use alluvium_env::Env;
use alluvium_store::Salvage;
use std::path::Path;

/// What [`examine`] has found.
#[derive(Debug, Clone, Default)]
pub struct Examined {
    /// What cannot be read of sorted files.
    pub losses: Vec<Loss>,
    /// Numbers of operations that the log has lost.
    pub lost_numbers: Vec<LostNumbers>,
    /// What else is damaged or missing, a sentence each.
    pub damage: Vec<String>,
    /// Ends of files that were being written when a process ended: no damage.
    pub torn: Vec<String>,
    /// Sorted files read.
    pub files: u64,
    /// Whole data blocks in them.
    pub blocks: u64,
}

/// Reads every block of every file of a database without opening it, so that one that does not open
/// is looked through to its end, and one that may only be read. Takes its lock, and writes nothing.
/// Documents and indexes are not looked at, as [`crate::Database::verify`] does.
///
/// ```
/// # let env = alluvium_env::Env::in_memory(1);
/// # let db = alluvium::Database::builder().env(env.clone()).open("db")?;
/// # db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
/// # db.close()?;
/// let found = alluvium::repair::examine(&env, "db".as_ref())?;
/// assert!(found.losses.is_empty() && found.lost_numbers.is_empty() && found.damage.is_empty());
/// # alluvium::Result::Ok(())
/// ```
///
/// # Errors
/// [`crate::error::ErrorKind::Open`] if there is no database; [`crate::ErrorKind::InUse`]; what
/// reading says. Damage is no error.
pub fn examine(env: &Env, path: &Path) -> Result<Examined> {
    refuse_read_only(env, path)?;
    let Salvage { losses, lost_numbers, notes, torn, files, blocks, .. } = Salvage::read(env, path)?;
    Ok(Examined { losses, lost_numbers, damage: notes, torn, files, blocks })
}
