//! Names of logical databases and collections.

use alluvium_document::Text;

/// The logical database of names without a dot.
pub const DEFAULT_LOGICAL: &str = "main";

/// The prefix of the names of collections that `$out` fills. All other names that begin with `system.` are refused.
const TEMPORARY: &str = "system.out.";

/// The maximum length of a full name in bytes.
const NAME_BYTES_MAX: usize = 255;

/// The logical database of the collections in [`OF_SERVER`].
const ADMIN: &str = "admin";

/// The collections of a server in the logical database `admin`. Only these collections may have names that begin with
/// `system.`.
const OF_SERVER: [&str; 3] = ["system.users", "system.roles", "system.version"];

/// A name that MongoDB's rules do not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the name {name:?} is not allowed: {reason}")]
pub struct InvalidName {
    /// The name that was refused.
    pub name: String,
    /// The rule that it breaks.
    pub reason: &'static str,
}

/// A collection's full name: logical database and collection.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FullName {
    /// The logical database.
    pub logical: Text,
    /// The collection's name within it.
    pub collection: Text,
}

impl FullName {
    /// Splits `logical.collection` at the first dot; without a dot, the logical database is `main`.
    ///
    /// # Errors
    /// [`InvalidName`].
    pub fn parse(name: &str) -> Result<Self, InvalidName> {
        match name.split_once('.') {
            Some((logical, collection)) => Self::new(logical, collection),
            None => Self::new(DEFAULT_LOGICAL, name),
        }
    }

    /// The name of a collection in a logical database.
    ///
    /// # Errors
    /// [`InvalidName`].
    pub fn new(logical: &str, collection: &str) -> Result<Self, InvalidName> {
        check_logical(logical)?;
        if logical != ADMIN || !OF_SERVER.contains(&collection) {
            check_collection(collection)?;
        }
        if logical.len() + 1 + collection.len() > NAME_BYTES_MAX {
            return refuse(collection, "with its logical database and the dot, a name has at most 255 bytes");
        }
        Ok(Self { logical: logical.into(), collection: collection.into() })
    }

    /// The temporary name of a collection that a stage is filling. Users cannot create a collection with such a name.
    pub(crate) fn temporary(logical: &str, number: u64) -> Self {
        Self { logical: logical.into(), collection: format!("{TEMPORARY}{number:016x}").into() }
    }

    /// True for a collection of a logical database in which servers store their own documents.
    pub(crate) fn is_of_server(&self) -> bool {
        [ADMIN, "config", "local"].contains(&self.logical.as_str())
    }

    /// True for a name that was made by [`FullName::temporary`].
    pub(crate) fn is_temporary(&self) -> bool {
        self.collection.starts_with(TEMPORARY)
    }
}

impl std::fmt::Display for FullName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.logical)?;
        f.write_str(".")?;
        f.write_str(&self.collection)
    }
}

fn refuse<T>(name: &str, reason: &'static str) -> Result<T, InvalidName> {
    Err(InvalidName { name: name.to_owned(), reason })
}

/// Checks the name of a logical database by MongoDB's rules.
pub fn check_logical(name: &str) -> Result<(), InvalidName> {
    if name.is_empty() {
        return refuse(name, "a logical database needs a name");
    }
    if name.len() > 63 {
        return refuse(name, "the name of a logical database has at most 63 bytes");
    }
    if name.contains(['/', '\\', ' ', '"', '$', '.', '\0']) {
        return refuse(name, "the name of a logical database cannot contain / \\ \" $ . space or NUL");
    }
    Ok(())
}

/// Checks the name of a collection by MongoDB's rules.
pub fn check_collection(name: &str) -> Result<(), InvalidName> {
    if name.is_empty() {
        return refuse(name, "a collection needs a name");
    }
    if name.contains(['$', '\0']) {
        return refuse(name, "the name of a collection cannot contain $ or NUL");
    }
    if name.starts_with('.') {
        return refuse(name, "the name of a collection cannot begin with a dot");
    }
    if name.starts_with("system.") {
        return refuse(name, "names that begin with system. are reserved");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
