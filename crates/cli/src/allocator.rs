//! How the system's allocator keeps freed memory, set where the budget is small.
//!
//! glibc raises its threshold for separate mappings to the size of the largest block that was freed,
//! so after the first freed buffer of a MiB all such buffers live in its heaps, whose holes are not
//! given back. With a budget of 32 MB that came to 20 to 26% over it; with a fixed threshold to 9%
//! below it, for one more microsecond of page faults a document. Larger budgets hide the holes.

/// Budgets up to this many bytes get the fixed threshold.
const SMALL_BUDGET: usize = 64 << 20;

/// Prepares the allocator for a database with this memory budget in bytes.
pub(crate) fn prepare(memory_bytes: usize) {
    if memory_bytes <= SMALL_BUDGET {
        fix_threshold();
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
fn fix_threshold() {
    const THRESHOLD: libc::c_int = 256 << 10;
    // SAFETY: `mallopt` takes two integers, no pointers; glibc documents it as safe to call from any
    // thread (MT-Unsafe only against itself at start-up: this runs before the database starts its
    // threads), and any value of the threshold up to 32 MiB as valid.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, THRESHOLD);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn fix_threshold() {}
