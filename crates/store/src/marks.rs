//! Counters of rare code paths of this crate, for tests.

alluvium_env::declare_marks! {
    UNFINISHED_CREATION: "the creation of a database was begun again",
    FLUSH_DURING_REPLAY: "a log larger than memory was flushed during its replay",
    STORE_POISONED: "the store was poisoned",
    WRITE_WITHOUT_SPACE: "a write was refused for want of space",
    WRITER_WAITED: "admission delayed a writer",
    BATCH_SENT_BACK: "a batch was returned because its collection had changed",
    EARLIER_BATCH: "a batch waited for an earlier one to be applied",
    SEALED_FOR_LOG: "a memtable was sealed because the log was long",
    LOG_HELD: "the log was kept for a checkpoint",
    DROP_WAITED: "a dropped tree was kept for a snapshot",
    SNAPSHOT_TOO_OLD: "a snapshot was ended for its age",
    SNAPSHOT_TOO_LARGE: "a snapshot was ended for the space it kept",
    READ_TOO_LATE: "a scan outlived its snapshot",
    LONG_VALUE_RELEASED: "a scan released a long value until its turn",
    LOG_RESTORED: "a restore wrote a log",
}
