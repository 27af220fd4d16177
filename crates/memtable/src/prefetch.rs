//! Prefetching memory.
//!
//! Reading a byte fetches memory as well, but no later instruction retires before the byte has arrived. Therefore few
//! such reads run at the same time.

#![allow(unsafe_code)]

/// Begins to fetch the first bytes of `bytes`, and returns at once. Does nothing if `bytes` is
/// empty.
#[inline]
pub(crate) fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction is a hint. It reads and writes nothing that a program can see, and the processor
        // ignores it if there is no memory at the address (Intel, "Software Developer's Manual", volume 2, PREFETCHh).
        // Every x86-64 processor has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box(bytes.first());
}
