//! Tools over the files of a store: checking them, looking into them, and reading what is whole of damaged ones.

pub(crate) mod check;
pub(crate) mod inspect;
pub(crate) mod restore;
pub(crate) mod salvage;
mod verify;
