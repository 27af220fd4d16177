//! Random bytes for salts, nonces and keys.
//!
//! The bytes come from the system (`getrandom`), not from `env::Rng`. The generator of `env::Rng` can be seeded, and
//! the numbers of a general generator can be predicted from earlier numbers.

use crate::error::{CommandError, CommandResult};

/// Random bytes.
///
/// # Errors
/// Error 1 if the system provides no random bytes.
pub(crate) fn bytes<const N: usize>() -> CommandResult<[u8; N]> {
    let mut bytes = [0; N];
    fill(&mut bytes)?;
    Ok(bytes)
}

/// Fills a buffer with random bytes.
///
/// # Errors
/// Error 1 if the system provides no random bytes.
pub(crate) fn fill(bytes: &mut [u8]) -> CommandResult<()> {
    getrandom::fill(bytes)
        .map_err(|error| CommandError::internal(format!("the system provides no random numbers: {error}")))
}

/// A random UUID: version 4, and the variant of RFC 9562.
///
/// # Errors
/// Error 1 if the system has no random numbers.
pub(crate) fn uuid() -> CommandResult<Vec<u8>> {
    let mut bytes = bytes::<16>()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(bytes.to_vec())
}
