//! Rare paths, counted: what a test must have met before its silence means anything.
//!
//! [`mark`] is called where something rare happens, never on the way of every read or write. The counts are those of
//! the process: tests tell them to the soak, which fails where one stays zero (`docs/TESTING.md`).

// Counts are no points of preemption, whoever schedules the threads.
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! rare_paths {
    ($($name:ident: $words:literal,)+) => {
        /// A path that is rarely taken.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Rare {
            $(#[doc = concat!("Counts that ", $words, ".")] $name,)+
        }

        impl Rare {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// What happened, in words.
            pub const fn words(self) -> &'static str {
                match self {
                    $(Self::$name => $words,)+
                }
            }
        }
    };
}

rare_paths! {
    // Opening.
    TornLog: "a torn tail of the log was cut off",
    TornManifest: "a torn tail of a manifest was cut off",
    UnfinishedSegment: "a log segment that was being made was removed",
    SegmentInDoubt: "a log segment that nobody had written to was made again",
    UnfinishedCreation: "a database that was being created was begun again",
    LeftOvers: "files that no manifest names were removed",
    CrashDuringRecovery: "a second crash came during recovery",
    FlushDuringReplay: "the log was too large for memory and was flushed while it was replayed",
    // Failures.
    LogPoisoned: "the log was poisoned",
    ManifestPoisoned: "a manifest was poisoned",
    StorePoisoned: "the store was poisoned",
    WriteWithoutSpace: "a write was refused for want of space",
    DiskRelieved: "a full disk had space again",
    OutputTakenBack: "a flush or merge failed and took its files back",
    // Writing.
    WriterWaited: "admission made a writer wait",
    BatchSentBack: "a batch was sent back since its collection had changed",
    EarlierBatch: "a batch waited for an earlier one to be applied",
    SealedForLog: "a memtable was sealed since the log had grown long",
    LogHeld: "the log was kept for a checkpoint",
    KeyTakenInBatch: "two documents of a batch had one unique key",
    KeyTaken: "a document had the unique key already",
    FirstArray: "an index met its first array",
    ChangeGrew: "a change was made again since the document had grown",
    ShapesFull: "a collection had as many shapes as it may",
    LoadResumed: "a load went on where another had ended",
    // Files.
    MergeStopped: "a merge was told to stop",
    DropDuringMerge: "a tree was dropped while a merge read it",
    DropWaited: "a dropped tree was kept for a snapshot",
    FilesHeld: "a reader held files that had been replaced",
    ReadOvertaken: "a version was replaced while somebody read in it",
    DictionaryRetrained: "a dictionary was trained anew",
    RangeForgotten: "a range tombstone had nothing left to hide",
    FileUnderRange: "a file went whole under range tombstones",
    FileReopened: "a file was opened again that had been closed for want of descriptors",
    // Deltas.
    ChainFolded: "a long chain of deltas was folded in memory",
    FoldAcrossFlush: "a chain in memory was folded onto a value in a file",
    FoldInMerge: "a merge folded deltas onto a value",
    DeltaRefused: "a blind delta did not apply",
    // Reading.
    SnapshotTooOld: "a snapshot was ended for its age",
    SnapshotTooLarge: "a snapshot was ended for what it kept",
    ReadTooLate: "a scan outlived its snapshot",
    StaleEntry: "a stale index entry was told by its document",
    PlanForgotten: "a plan turned out wrong and was forgotten",
    SortSpilled: "a sort went on in files",
    KeysSpilled: "keys of documents to be written by a filter went into files",
    // Indexes.
    BuildResumed: "the build of an index went on after an end",
    BuildResumedWithin: "the build of an index went on within a partition",
    EntriesSwept: "stale index entries left the files",
    SweepWaited: "a sweep waited for a merge",
    // Copies.
    LogRestored: "a restore wrote a log",
}

const COUNTS: usize = Rare::ALL.len();
static MARKS: [AtomicU64; COUNTS] = [const { AtomicU64::new(0) }; COUNTS];

/// Says that it happened once more.
#[cold]
pub fn mark(rare: Rare) {
    MARKS[rare as usize].fetch_add(1, Ordering::Relaxed);
}

/// How often it happened in this process.
pub fn count(rare: Rare) -> u64 {
    MARKS[rare as usize].load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests;
