//! Rare paths of this crate, counted for tests.

alluvium_env::declare_marks! {
    LOAD_RESUMED: "a load resumed where an earlier one had ended",
}
