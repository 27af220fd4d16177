//! Environment variables.

use std::path::PathBuf;

/// A lookup of variables by name.
pub(crate) type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A variable of this process. An empty variable, or one that is not UTF-8, counts as not set.
pub(crate) fn variable(name: &str) -> Option<String> {
    given(name).filter(|value| !value.is_empty())
}

/// A variable of this process, even if it is empty. One that is not UTF-8 counts as not set.
#[allow(clippy::disallowed_methods, reason = "the command line is where configuration comes from")]
pub(crate) fn given(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The user's directory for this program, by the XDG Base Directory Specification. A relative path
/// in the variable counts as not set.
pub(crate) fn folder(variables: Variables<'_>, variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |name: &str| variables(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(below_home)))?;
    Some(base.join("alluvium"))
}
