//! Arguments that name the collections whose changes are recorded or watched.

use crate::exit::{Failure, Outcome};
use crate::notes;
use crate::text;
use alluvium::{ChangeScope, Database, FullName};

/// The collections whose changes are recorded together.
#[derive(Debug, clap::Args)]
pub(crate) struct ScopeArgs {
    /// A logical database such as `shop`, or a collection such as `shop.pets` or `main.pets`; by default everything but
    /// the databases admin, config and local
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

impl ScopeArgs {
    /// The scope of the name.
    ///
    /// # Errors
    /// A name that no collection can have.
    pub(crate) fn scope(&self) -> Outcome<ChangeScope> {
        let Some(name) = &self.name else { return Ok(ChangeScope::Everything) };
        let invalid = |error| Failure::from(alluvium::Error::InvalidName(error));
        if name.contains('.') {
            return Ok(ChangeScope::Collection(FullName::parse(name).map_err(invalid)?));
        }
        // Any collection has a valid name only if its logical database has.
        let any = FullName::new(name, "any").map_err(invalid)?;
        Ok(ChangeScope::Logical(any.logical))
    }
}

/// Prints a note if the scope has no collection yet, since its name may be wrong.
pub(crate) fn note_if_missing(database: &Database, scope: &ChangeScope) {
    let names: Vec<String> = database.collections().iter().map(|info| info.full_name()).collect();
    match scope {
        ChangeScope::Logical(logical) if !names.iter().any(|name| name.starts_with(&format!("{logical}."))) => {
            let of_main = format!("main.{logical}");
            let meant = match names.contains(&of_main) {
                true => format!("; for the collection {of_main}, write {of_main}"),
                false => String::new(),
            };
            notes::say(&format!("there is no logical database {logical} yet{}", text::plain(&meant)));
        }
        ChangeScope::Collection(name) if !names.contains(&name.to_string()) => {
            notes::say(&format!("there is no collection {} yet", text::plain(&name.to_string())));
        }
        ChangeScope::Everything | ChangeScope::Logical(_) | ChangeScope::Collection(_) => {}
    }
}
