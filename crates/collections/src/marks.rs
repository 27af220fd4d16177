//! Rare paths of this crate, counted for tests.

alluvium_env::declare_marks! {
    KEY_TAKEN_IN_BATCH: "two documents of a batch had the same unique key",
    KEY_TAKEN: "a document already had the unique key",
    FIRST_ARRAY: "an index met its first array",
    FIRST_CUT_KEY: "an index met its first key that is cut",
    CHANGE_GREW: "a change was repeated because it needed more memory than was reserved",
    SHAPES_FULL: "a collection reached its limit of shapes",
    STALE_ENTRY: "a document refuted a stale index entry",
    PLAN_FORGOTTEN: "a wrong plan was forgotten",
    KEYS_SPILLED: "keys of a write by filter spilled into files",
    BUILD_RESUMED: "an index build resumed",
    BUILD_RESUMED_WITHIN: "an index build resumed within a partition",
    ENTRIES_SWEPT: "stale index entries were removed from files",
}
