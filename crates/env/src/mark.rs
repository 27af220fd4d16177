//! Counts of rare paths: a passing test proves nothing about a path that it never took.
//!
//! A crate declares its marks with [`declare_marks!`](crate::declare_marks) in a module `marks`,
//! and calls [`Mark::hit`] where something rare happens, never on the path of every read or write.
//! The counts belong to the process. Tests report them to the soak, which fails if one remains zero
//! (`docs/TESTING.md`).

// The counts are not points of preemption for any scheduler.
use std::sync::atomic::{AtomicU64, Ordering};

/// A rare path, and how often this process has taken it.
#[derive(Debug)]
pub struct Mark {
    description: &'static str,
    hits: AtomicU64,
}

impl Mark {
    /// A path that was never taken. The description is a past-tense clause: "a torn tail of the log
    /// was cut off".
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

/// Declares the marks of a crate, and `ALL`, which lists them.
///
/// Used once in each crate, in its module `marks`. `testkit::marks` lists the crates that have one.
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
