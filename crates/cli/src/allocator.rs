//! How the system's allocator keeps freed memory, set by the budget.
//!
//! glibc raises its threshold for separate mappings to the size of the largest block that was freed,
//! so after the first freed buffer of a MiB all such buffers live in its heaps, whose holes are not
//! given back. With a budget of 32 MB that came to 20 to 26% over it; with a fixed threshold to 9%
//! below it, for one more microsecond of page faults a document. A budget of 128 MB hides such holes, but not those of documents
//! of 16 MB among small ones, which took 119 to 129% of it, and with a threshold of 4 MiB 86 to 105%.
//!
//! It also gives nearly every thread an arena, whose holes are no other's: an index built beside a writer took 74 MB more than
//! with one arena (budget 128 MB). One is enough for a small budget; more threads at work have larger ones.

/// Budgets up to this number of bytes get a fixed threshold of the next number of bytes.
const THRESHOLDS: [(usize, i32); 2] = [(64 << 20, 256 << 10), (1 << 30, 4 << 20)];

/// Bytes of the budget for each arena.
const BYTES_OF_ARENA: usize = 256 << 20;

/// Prepares the allocator for a database with this memory budget in bytes.
pub fn prepare(memory_bytes: usize) {
    limit_arenas((memory_bytes / BYTES_OF_ARENA).clamp(1, 1024));
    if let Some((_, threshold)) = THRESHOLDS.iter().find(|(most, _)| memory_bytes <= *most) {
        fix_threshold(*threshold);
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn fix_threshold(bytes: i32) {
    set(libc::M_MMAP_THRESHOLD, bytes);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn limit_arenas(most: usize) {
    set(libc::M_ARENA_MAX, most as libc::c_int);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
fn set(parameter: libc::c_int, value: libc::c_int) {
    // SAFETY: `mallopt` takes two integers, no pointers; glibc documents it as safe to call from any
    // thread (MT-Unsafe only against itself at start-up: this runs before the database starts its
    // threads), and any threshold up to 32 MiB and any number of arenas from 1 on as valid.
    unsafe {
        libc::mallopt(parameter, value);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn fix_threshold(_bytes: i32) {}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn limit_arenas(_most: usize) {}
