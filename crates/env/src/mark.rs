//! Counts how often rare paths are taken: a passing test proves nothing about a path that it never
//! took.
//!
//! A crate declares its marks with [`declare_marks!`](crate::declare_marks) in a module `marks`,
//! and calls [`Mark::hit`] where something rare happens, but never on a path that every read or
//! write takes. The counts belong to the process. Tests report the counts to the soak, which fails
//! if a count remains zero (`docs/TESTING.md`).

// The counts use plain atomics, so that no test scheduler preempts a thread at them.
use std::sync::atomic::{AtomicU64, Ordering};

/// A rare path, and how often this process has taken it.
#[derive(Debug)]
pub struct Mark {
    description: &'static str,
    hits: AtomicU64,
}

impl Mark {
    /// A mark of a path that was never taken. The description is a clause in the past tense: "a
    /// torn tail of the log was cut off".
    pub const fn new(description: &'static str) -> Self {
        Self { description, hits: AtomicU64::new(0) }
    }

    /// Counts that the path was taken.
    #[cold]
    pub fn hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    /// How often the path was taken.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// A description of the event.
    pub const fn description(&self) -> &'static str {
        self.description
    }
}

/// Declares the marks of a crate, and `ALL`, the list of them.
///
/// Used once in each crate, in its module `marks`. `testkit::marks` lists the crates that have such
/// a module.
#[macro_export]
macro_rules! declare_marks {
    ($($name:ident: $description:literal,)+) => {
        $(
            #[doc = concat!("Counts that ", $description, ".")]
            pub static $name: $crate::mark::Mark = $crate::mark::Mark::new($description);
        )+

        /// All marks of this crate.
        pub static ALL: &[&$crate::mark::Mark] = &[$(&$name,)+];
    };
}

#[cfg(test)]
mod tests;
