//! Training, by zstd, with tables of a size that suits a small memory budget.
//!
//! `zstd_safe` has only the usual parameters, whose tables take 10.5 MiB: a third of a budget of 32 MB, as long as a
//! training runs.

#![allow(unsafe_code)]

use zstd_safe::zstd_sys::{
    ZDICT_fastCover_params_t, ZDICT_isError, ZDICT_optimizeTrainFromBuffer_fastCover, ZDICT_params_t,
};

/// The tables have two to this many places.
const TABLE_BITS: u32 = 16;

/// The bytes of memory that the tables take: what is counted of all samples, a copy of it, and what is counted of a part.
pub(crate) const TABLE_BYTES: usize = (4 + 4 + 2) << TABLE_BITS;

/// Trains a dictionary of at most `max_bytes` from samples, which stand one after the other in `content`. `None` if they are
/// too few, or too alike.
pub(crate) fn train(content: &[u8], sizes: &[usize], max_bytes: usize) -> Option<Vec<u8>> {
    let within =
        sizes.iter().try_fold(0_usize, |sum, size| sum.checked_add(*size)).is_some_and(|sum| sum <= content.len());
    let count = u32::try_from(sizes.len()).ok().filter(|_| within)?;
    let mut bytes = vec![0; max_bytes];
    // As zstd's own choice (`ZDICT_trainFromBuffer`), but for `f`.
    let mut parameters = ZDICT_fastCover_params_t {
        k: 0,
        d: 8,
        f: TABLE_BITS,
        steps: 4,
        nbThreads: 0,
        splitPoint: 0.0,
        accel: 1,
        shrinkDict: 0,
        shrinkDictMaxRegression: 0,
        zParams: ZDICT_params_t { compressionLevel: 3, notificationLevel: 0, dictID: 0 },
    };
    // SAFETY: zstd writes at most `bytes.len()` bytes to `bytes`, which are there, and reads of `content` as many as `sizes`
    // add up to, which is within it, and `count` numbers of `sizes`. `parameters` is read and written before it returns.
    // Nothing is kept; the function has no state of its own.
    let written = unsafe {
        ZDICT_optimizeTrainFromBuffer_fastCover(
            bytes.as_mut_ptr().cast(),
            bytes.len(),
            content.as_ptr().cast(),
            sizes.as_ptr(),
            count,
            &raw mut parameters,
        )
    };
    // SAFETY: it looks at the number alone.
    let failed = unsafe { ZDICT_isError(written) } != 0;
    (!failed && written <= bytes.len()).then(|| {
        bytes.truncate(written);
        bytes
    })
}

#[cfg(test)]
mod tests;
