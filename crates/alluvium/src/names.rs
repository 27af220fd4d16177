//! Names of logical databases and collections.

use crate::{Error, Result};

/// The logical database of names without a dot.
pub const DEFAULT_LOGICAL: &str = "main";

/// A collection's full name: logical database and collection.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FullName {
    pub logical: String,
    pub collection: String,
}

impl FullName {
    /// Splits `logical.collection`; without a dot, the logical database is `main`.
    pub fn parse(name: &str) -> Result<Self> {
        match name.split_once('.') {
            Some((logical, collection)) => Self::new(logical, collection),
            None => Self::new(DEFAULT_LOGICAL, name),
        }
    }

    pub fn new(logical: &str, collection: &str) -> Result<Self> {
        check_logical(logical)?;
        check_collection(collection)?;
        Ok(Self { logical: logical.to_owned(), collection: collection.to_owned() })
    }
}

impl std::fmt::Display for FullName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.logical, self.collection)
    }
}

/// Refuses what no collection can be called: to be asked before a database is created for it.
///
/// ```
/// assert!(alluvium::check_name("pets").is_ok() && alluvium::check_name("shop.pets").is_ok());
/// assert!(alluvium::check_name("p$ts").is_err());
/// ```
///
/// # Errors
/// [`Error::InvalidName`].
pub fn check_name(name: &str) -> Result<()> {
    FullName::parse(name).map(drop)
}

fn refuse(name: &str, reason: &'static str) -> Result<()> {
    Err(Error::InvalidName { name: name.to_owned(), reason })
}

/// Checks the name of a logical database: MongoDB's rules.
pub(crate) fn check_logical(name: &str) -> Result<()> {
    if name.is_empty() {
        return refuse(name, "a logical database needs a name");
    }
    if name.len() > 63 {
        return refuse(name, "a logical database's name has at most 63 bytes");
    }
    if name.contains(['/', '\\', ' ', '"', '$', '.', '\0']) {
        return refuse(name, "a logical database's name has none of / \\ \" $ . space and NUL");
    }
    Ok(())
}

/// Checks the name of a collection: MongoDB's rules.
pub(crate) fn check_collection(name: &str) -> Result<()> {
    if name.is_empty() {
        return refuse(name, "a collection needs a name");
    }
    if name.len() > 200 {
        return refuse(name, "a collection's name has at most 200 bytes");
    }
    if name.contains(['$', '\0']) {
        return refuse(name, "a collection's name has no $ and no NUL");
    }
    if name.starts_with('.') || name.ends_with('.') {
        return refuse(name, "a collection's name does not begin or end with a dot");
    }
    if name.starts_with("system.") {
        return refuse(name, "names that begin with system. are reserved");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
