//! Variables of the environment.

use std::path::PathBuf;

/// Variables by name.
pub(crate) type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A variable of this process. One that is empty or not UTF-8 counts as not set.
#[allow(clippy::disallowed_methods, reason = "the command line is where configuration comes from")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The folder of this program among the user's, as the XDG Base Directory Specification has it. A relative path in the
/// variable counts as not set.
pub(crate) fn folder(variables: Variables<'_>, variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |name: &str| variables(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(below_home)))?;
    Some(base.join("alluvium"))
}
