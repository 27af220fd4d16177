//! What the commands that are about this program know of it.

use crate::config::Config;

/// The definition of all arguments, and the settings.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    /// Makes the definition: most commands do without.
    pub definition: fn() -> clap::Command,
    pub config: &'a Config,
}
