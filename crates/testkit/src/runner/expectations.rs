//! Checks of the results of operations.

use alluvium::ErrorKind;

/// Expects success, or else an error that the name does not exist or is already taken.
pub(crate) fn expect_there(result: alluvium::Result<()>, expected: bool) {
    match result {
        Ok(()) => assert!(expected, "it is not there, or taken, and nothing was said"),
        Err(error) => assert!(!expected && error.kind() == ErrorKind::Namespace, "{error}"),
    }
}

/// Checks a write against the expected reasons for a refusal by an index. Without reasons it must succeed; otherwise it
/// must fail for one of them. Returns true if it was refused.
pub(crate) fn expect_refused<T: std::fmt::Debug>(result: alluvium::Result<T>, why: &[ErrorKind]) -> bool {
    match result {
        Ok(_) => assert!(why.is_empty(), "what an index refuses was written: {why:?}"),
        Err(error) => assert!(why.contains(&error.kind()), "{:?}, not {why:?}: {error}", error.kind()),
    }
    !why.is_empty()
}

/// Checks an insert: `taken` is true if the `_id` exists, and `refused` if an index refuses a document.
pub(crate) fn expect_duplicate(result: alluvium::Result<()>, taken: bool, refused: bool) {
    match result {
        Ok(()) => assert!(!taken && !refused, "an _id or a key that is taken was not refused"),
        Err(error) if refused => {
            assert!(matches!(error.kind(), ErrorKind::DuplicateKey | ErrorKind::Invalid), "{error}");
        }
        Err(error) => assert!(taken && error.kind() == ErrorKind::DuplicateKey, "{error}"),
    }
}
