//! Tools for the files of a store: check, inspection, restore and salvage.

pub(crate) mod check;
pub(crate) mod inspect;
pub(crate) mod restore;
pub(crate) mod salvage;
mod verify;
