//! Rare paths of this crate, counted for tests.

crate::declare_marks! {
    FILE_REOPENED: "a file was opened again that had been closed for want of descriptors",
}
