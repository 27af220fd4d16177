use super::*;
use crate::error::Error;
use crate::testing::Database;
use alluvium_env::sync::atomic::{AtomicUsize, Ordering};
use alluvium_store::Options;

#[test]
fn few_gather_at_once_and_a_waiting_thread_can_be_stopped() {
    let db = Database::with(Options::default());
    let gathering = Gathering::default();
    let places: Vec<_> = (0..AT_ONCE).map(|_| gathering.enter(db.store(), 1000, || Ok(())).unwrap()).collect();
    let checks = AtomicUsize::new(0);
    let stopped = gathering.enter(db.store(), 1000, || match checks.fetch_add(1, Ordering::SeqCst) {
        0 => Ok(()),
        _ => Err(Error::Stopped),
    });
    assert!(matches!(stopped.map(drop), Err(Error::Stopped)));
    alluvium_env::thread::scope(|scope| {
        let waiting = scope.spawn(|| gathering.enter(db.store(), 1000, || Ok(())).map(drop).unwrap());
        drop(places);
        waiting.join().unwrap();
    });
    assert_eq!(*gathering.busy.lock(), 0);
}
