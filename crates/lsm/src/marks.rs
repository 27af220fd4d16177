//! Rare paths of this crate, counted for tests.

alluvium_env::declare_marks! {
    TORN_MANIFEST: "a torn tail of a manifest was cut off",
    LEFT_OVERS: "files that no manifest names were removed",
    MANIFEST_POISONED: "a manifest was poisoned",
    OUTPUT_TAKEN_BACK: "a failed flush or merge removed its files",
    MERGE_STOPPED: "a merge was cancelled",
    DROP_DURING_MERGE: "a tree was dropped while a merge read it",
    FILES_HELD: "a reader held files that had been replaced",
    READ_OVERTAKEN: "a version was replaced during a read",
    SWEEP_WAITED: "a sweep waited for a merge",
    DICTIONARY_RETRAINED: "a dictionary was trained again",
    RANGE_FORGOTTEN: "a range tombstone had nothing left to hide",
    FILE_UNDER_RANGE: "a whole file was removed under range tombstones",
    CHAIN_FOLDED: "a long chain of deltas was folded in memory",
    FOLD_ACROSS_FLUSH: "a chain in memory was folded onto a value in a file",
    FOLD_IN_MERGE: "a merge folded deltas onto a value",
    DELTA_REFUSED: "a blind delta did not apply",
}
