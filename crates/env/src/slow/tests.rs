#![cfg(not(feature = "shuttle"))]

use super::{SlowFs, Speed};
use crate::mem::MemFs;
use crate::simulated::SimulatedClock;
use crate::{Clock, Fs, OpenMode};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn bytes_and_syncs_take_the_time_of_the_disk() {
    let clock = Arc::new(SimulatedClock::new());
    let speed = Speed { bytes_per_s: 1_000_000, latency: Duration::from_millis(10) };
    let fs = SlowFs::new(Arc::new(MemFs::new()), clock.clone(), speed);
    let file = fs.open(Path::new("file"), OpenMode::CreateNew).unwrap();
    assert_eq!(clock.now(), Duration::from_millis(10));
    file.write_at(&[7; 500_000], 0).unwrap();
    assert_eq!(clock.now(), Duration::from_millis(510));
    file.sync().unwrap();
    assert_eq!(clock.now(), Duration::from_millis(520));
    let mut buf = [0; 1000];
    file.read_exact_at(&mut buf, 0).unwrap();
    assert_eq!((clock.now(), buf[0]), (Duration::from_millis(531), 7));
    // A disk that was idle is not faster afterwards.
    clock.wait_until(Duration::from_secs(5));
    file.write_at(&[0; 1000], 0).unwrap();
    assert_eq!(clock.now(), Duration::from_millis(5001));
    assert_eq!(fs.worked(), Duration::from_millis(532));
}
