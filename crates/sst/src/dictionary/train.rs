//! Training by zstd, with tables whose size suits a small memory budget.
//!
//! `zstd_safe` offers only the usual parameters. Their tables take 10.5 MiB during a training, a
//! third of a budget of 32 MB.

#![allow(unsafe_code)]

use zstd_safe::zstd_sys::{
    ZDICT_fastCover_params_t, ZDICT_isError, ZDICT_optimizeTrainFromBuffer_fastCover, ZDICT_params_t,
};

/// The logarithm of the tables' number of places.
const TABLE_BITS: u32 = 16;

/// The memory of the tables in bytes: the counts of all samples, a copy of them, and the counts of
/// a part.
pub(crate) const TABLE_BYTES: usize = (4 + 4 + 2) << TABLE_BITS;

/// Trains a dictionary of at most `max_bytes` from the samples that `content` concatenates. Returns
/// `None` if the samples are too few or too similar.
pub(crate) fn train(content: &[u8], sizes: &[usize], max_bytes: usize) -> Option<Vec<u8>> {
    let within =
        sizes.iter().try_fold(0_usize, |sum, size| sum.checked_add(*size)).is_some_and(|sum| sum <= content.len());
    let count = u32::try_from(sizes.len()).ok().filter(|_| within)?;
    let mut bytes = vec![0; max_bytes];
    // The parameters are the same as in `ZDICT_trainFromBuffer`, except `f`.
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
    // SAFETY: zstd writes at most `bytes.len()` bytes to `bytes`, which has that length. It reads
    // as many bytes of `content` as the sum of `sizes`, which was checked to be within `content`,
    // and `count` elements of `sizes`. `parameters` is read and written before the call returns.
    // The function keeps no pointer, and has no state of its own.
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
    // SAFETY: the function only examines the number.
    let failed = unsafe { ZDICT_isError(written) } != 0;
    (!failed && written <= bytes.len()).then(|| {
        bytes.truncate(written);
        bytes
    })
}

#[cfg(test)]
mod tests;
