//! New object ids.

use alluvium_env::Env;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A new object id, as BSON defines it: the time in seconds, five random bytes of this process, and
/// a counter. Within a process, ids ascend.
///
/// ```
/// let env = alluvium_env::Env::os();
/// assert_ne!(alluvium::new_object_id(&env), alluvium::new_object_id(&env));
/// ```
pub fn new_object_id(env: &Env) -> [u8; 12] {
    static PROCESS: OnceLock<([u8; 5], AtomicU32)> = OnceLock::new();
    let (process, counter) = PROCESS.get_or_init(|| {
        let random = env.rng.next_u64().to_le_bytes();
        let process = [random[0], random[1], random[2], random[3], random[4]];
        (process, AtomicU32::new(env.rng.next_u64() as u32 & 0x00ff_ffff))
    });
    let seconds = (env.clock.unix_millis() / 1000) as u32;
    let count = counter.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let mut id = [0; 12];
    id[..4].copy_from_slice(&seconds.to_be_bytes());
    id[4..9].copy_from_slice(process);
    id[9..].copy_from_slice(&count[1..]);
    id
}
