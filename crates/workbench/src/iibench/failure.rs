//! Errors that end a run.

use std::error::Error;

/// An engine's error.
pub type Failure = Box<dyn Error + Send + Sync>;
