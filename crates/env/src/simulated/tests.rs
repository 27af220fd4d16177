use super::{SimulatedClock, run};
use crate::Clock;
use crate::sync::{Arc, Condvar, Mutex};
use crate::thread::spawn;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn only_waiting_takes_time() {
    run(1, || {
        let clock = Arc::new(SimulatedClock::new());
        let other = clock.clone();
        let late = spawn("late", move || {
            other.wait_until(3 * SECOND);
            other.now()
        });
        clock.wait_until(SECOND);
        assert_eq!(clock.now(), SECOND);
        assert_eq!(late.join().unwrap(), 3 * SECOND);
        assert_eq!(clock.now(), 3 * SECOND);
    });
}

#[test]
fn a_wait_ends_when_it_is_notified_or_its_time_is_over() {
    run(2, || {
        let clock = Arc::new(SimulatedClock::new());
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let (other, waiting) = (clock.clone(), pair.clone());
        let waiter = spawn("waiter", move || {
            let mut notified = waiting.0.lock();
            let in_vain = waiting.1.wait_for(&mut notified, SECOND);
            let first = other.now();
            while !*notified {
                assert!(!waiting.1.wait_for(&mut notified, 60 * SECOND));
            }
            (in_vain, first, other.now())
        });
        clock.wait_until(5 * SECOND);
        *pair.0.lock() = true;
        pair.1.notify_one();
        assert_eq!(waiter.join().unwrap(), (true, SECOND, 5 * SECOND));
    });
}

#[test]
#[should_panic(expected = "all threads wait for each other")]
fn a_deadlock_panics() {
    run(3, || {
        let pair = (Mutex::new(()), Condvar::new());
        let mut held = pair.0.lock();
        pair.1.wait(&mut held);
    });
}
