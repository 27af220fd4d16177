//! Configures the system's allocator for the memory budget.
//!
//! glibc raises its threshold for separate mappings to the size of the largest freed block. After
//! the first freed buffer of one MiB, all such buffers are in its heaps, whose holes are not
//! returned to the system. With a budget of 32 MB, memory was 20 to 26% above it; with a fixed
//! threshold it was 9% below, at the cost of one more microsecond of page faults for each document.
//! A budget of 128 MB hides such holes, but not those of 16 MB documents among small ones: these
//! took 119 to 129% of the budget, and with a threshold of 4 MiB 86 to 105%.
//!
//! glibc also gives nearly every thread its own arena, and no other thread can use the holes in it:
//! an index build beside a writer took 74 MB more than with one arena (budget 128 MB). One arena is
//! enough for a small budget; many active threads have larger budgets.

/// Pairs of a budget in bytes and the fixed threshold for budgets up to it.
const THRESHOLDS: [(usize, i32); 2] = [(64 << 20, 256 << 10), (1 << 30, 4 << 20)];

/// The bytes of the budget for each arena.
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
