//! The rare paths of all crates, each of which the soak must take.

use alluvium_env::mark::Mark;

alluvium_env::declare_marks! {
    CRASH_DURING_RECOVERY: "a second crash interrupted recovery",
}

/// The marks that are declared in `src/marks.rs` of each crate, by the name of the crate's directory.
static CRATES: [(&str, &[&Mark]); 8] = [
    ("collections", alluvium_collections::marks::ALL),
    ("env", alluvium_env::marks::ALL),
    ("exec", alluvium_exec::marks::ALL),
    ("lsm", alluvium_lsm::marks::ALL),
    ("store", alluvium_store::marks::ALL),
    ("testkit", ALL),
    ("transfer", alluvium_transfer::marks::ALL),
    ("wal", alluvium_wal::marks::ALL),
];

/// The marks of all crates, always in the same order.
pub fn all() -> impl Iterator<Item = &'static Mark> {
    CRATES.iter().flat_map(|(_, marks)| marks.iter().copied())
}

#[cfg(test)]
mod tests;
