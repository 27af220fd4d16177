//! Rare paths of this crate, counted for tests.

alluvium_env::declare_marks! {
    SORT_SPILLED: "a sort spilled into files",
    GROUP_SPILLED: "groups spilled into files",
}
