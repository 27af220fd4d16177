//! Rare paths of this crate, counted for tests.

alluvium_env::declare_marks! {
    TORN_LOG: "a torn tail of the log was cut off",
    UNFINISHED_SEGMENT: "an unfinished log segment was removed",
    SEGMENT_IN_DOUBT: "an unused log segment was created again",
    LOG_POISONED: "the log was poisoned",
    COMPRESSED_RECORD: "a compressed record of the log was read",
    DISK_RELIEVED: "a full disk had space again",
}
