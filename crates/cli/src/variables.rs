//! Environment variables.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

/// A lookup of variables by name.
pub(crate) type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

thread_local! {
    /// The variables of another process, whose command runs on this thread.
    static OF_VISITOR: RefCell<Option<HashMap<String, String>>> = const { RefCell::new(None) };
}

/// Makes the command on this thread use these variables instead of the variables of the process; `None` restores those
/// of the process.
pub(crate) fn share(variables: Option<HashMap<String, String>>) {
    OF_VISITOR.with(|shared| *shared.borrow_mut() = variables);
}

/// A variable of this process. An empty variable, or one that is not UTF-8, counts as not set.
pub(crate) fn variable(name: &str) -> Option<String> {
    given(name).filter(|value| !value.is_empty())
}

/// A variable of this process, even if it is empty. A variable that is not UTF-8 counts as not set.
#[allow(clippy::disallowed_methods, reason = "the command line is where configuration comes from")]
pub(crate) fn given(name: &str) -> Option<String> {
    OF_VISITOR.with(|shared| match &*shared.borrow() {
        Some(variables) => variables.get(name).cloned(),
        None => std::env::var(name).ok(),
    })
}

/// The user's directory for this program, according to the XDG Base Directory Specification. A variable with a relative
/// path counts as not set.
pub(crate) fn folder(variables: Variables<'_>, variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |name: &str| variables(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(below_home)))?;
    Some(base.join("alluvium"))
}
