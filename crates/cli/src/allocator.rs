//! Configures the system's allocator for the memory budget.
//!
//! glibc raises its threshold for separate mappings to the size of the largest freed block. After the first freed
//! buffer of one MiB, all such buffers are in its heaps, and the holes in these heaps are not returned to the system.
//! With a budget of 32 MB, memory use was 20 to 26% above the budget. With a fixed threshold it was 9% below the
//! budget, at the cost of one more microsecond of page faults for each document. With a budget of 128 MB such holes do
//! not matter, except those that 16 MB documents among small ones leave: memory use was 119 to 129% of the budget, and
//! with a threshold of 4 MiB 86 to 105%.
//!
//! glibc also gives nearly every thread its own arena, and no other thread can use the holes in it: an index build next
//! to a writer took 74 MB more than with one arena (budget 128 MB). One arena is enough for a small budget. Databases
//! with many active threads have larger budgets.
//!
//! Freed memory that lies below memory in use stays in the heaps: after a peak of queries a server kept 0.35 to 1.2 GB.
//! Therefore a server checks periodically whether much more memory is resident than is in use, and if so makes glibc
//! return the free pages ([`Returner`]).

use std::time::Duration;

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

/// The time between two checks.
const LOOK_AFTER: Duration = Duration::from_secs(1);

/// After an attempt that returned almost no memory, the next attempt follows after this time, or when resident memory
/// has grown.
const AGAIN_AFTER: Duration = Duration::from_secs(60);

/// The memory of a process that the database does not count.
const BESIDE_BYTES: usize = 64 << 20;

/// Resident memory has grown if it has increased by more than this.
const NEW_BYTES: usize = 16 << 20;

/// Returns the memory of freed blocks to the system.
#[derive(Debug, Default)]
pub struct Returner {
    next_look: Duration,
    /// The resident memory after the last attempt, and the time of the next attempt.
    last: Option<(usize, Duration)>,
}

impl Returner {
    /// Checks the memory of the process; to be called often. `resident` is called once a second; if it is much more
    /// than `used`, the memory of freed blocks is returned. Returns true if that was done.
    pub fn look(&mut self, now: Duration, resident: impl Fn() -> Option<usize>, used: impl FnOnce() -> usize) -> bool {
        if now < self.next_look {
            return false;
        }
        self.next_look = now + LOOK_AFTER;
        let Some(bytes) = resident() else { return false };
        let used = used();
        let is_much = bytes > used + used / 4 + BESIDE_BYTES;
        let is_new = self.last.is_none_or(|(left, again)| bytes > left + NEW_BYTES || now >= again);
        if !is_much || !is_new {
            return false;
        }
        give_back();
        self.last = Some((resident().unwrap_or(bytes), now + AGAIN_AFTER));
        true
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
fn give_back() {
    // SAFETY: `malloc_trim` takes a number of bytes to keep at the top of the heap, no pointers; glibc documents it as
    // safe to call from any thread at any time. It changes no block that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}

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

#[cfg(test)]
mod tests;
