//! Names of collections.

use alluvium_collections::error::Result;
use alluvium_collections::names::FullName;

/// Checks the name of a collection without a database.
///
/// ```
/// assert!(alluvium::check_name("pets").is_ok() && alluvium::check_name("shop.pets").is_ok());
/// assert!(alluvium::check_name("p$ts").is_err());
/// ```
///
/// # Errors
/// [`crate::Error::InvalidName`].
pub fn check_name(name: &str) -> Result<()> {
    FullName::parse(name)?;
    Ok(())
}
