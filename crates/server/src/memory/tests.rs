use super::*;

const MIB: usize = 1 << 20;

fn account(capacity: usize) -> (Memory, Principal, Principal) {
    (Memory::new(capacity, SMALL), Principal::user("one"), Principal::user("other"))
}

#[test]
fn what_is_dropped_is_free_again() {
    let (memory, one, other) = account(8 * MIB);
    let mut charge = memory.try_charge(&one, 6 * MIB).unwrap();
    assert!(memory.try_charge(&other, 3 * MIB).is_none());
    charge.shrink(4 * MIB);
    let more = memory.try_charge(&one, MIB).unwrap();
    charge.add(more);
    assert_eq!((charge.bytes(), memory.used()), (5 * MIB, 5 * MIB));
    drop(charge);
    assert_eq!(memory.used(), 0);
    assert!(memory.0.state.lock().by_principal.is_empty());
}

#[test]
fn one_principal_leaves_a_quarter_to_others() {
    let (memory, one, other) = account(8 * MIB);
    let _first = memory.try_charge(&one, 4 * MIB).unwrap();
    assert!(memory.try_charge(&one, 3 * MIB).is_none());
    assert!(memory.try_charge(&other, 3 * MIB).is_some());
    let (memory, one, _) = account(8 * MIB);
    // A request may use the whole account if its principal has no other charge.
    assert!(memory.try_charge(&one, 8 * MIB).is_some());
}

#[test]
fn small_charges_never_wait() {
    let (memory, one, _) = account(MIB);
    let _all = memory.note(&one, 2 * MIB);
    let small = memory.charge_on_thread(&one, SMALL, Until::Ended, Duration::ZERO, &AtomicBool::new(false));
    assert!(small.is_some() && memory.is_short() && memory.is_exceeded());
    assert!(memory.charge_on_thread(&one, SMALL + 1, Until::Ended, Duration::ZERO, &AtomicBool::new(false)).is_some());
    assert!(memory.charge_on_thread(&one, MIB, Until::Ended, Duration::ZERO, &AtomicBool::new(false)).is_none());
}

#[test]
fn a_request_that_is_executed_gets_more_than_its_share() {
    let (memory, one, _) = account(8 * MIB);
    let _message = memory.try_charge(&one, 6 * MIB).unwrap();
    let charge = |until| memory.charge_on_thread(&one, 2 * MIB, until, Duration::ZERO, &AtomicBool::new(false));
    // The memory of a reply may be held for as long as the client wants.
    assert!(charge(Until::Sent).is_none());
    assert!(charge(Until::Ended).is_some() && !memory.is_exceeded());
}

#[test]
fn of_requests_that_have_all_memory_one_at_a_time_gets_more() {
    let (memory, one, other) = account(8 * MIB);
    let charge = |principal, bytes| {
        memory.charge_on_thread(principal, bytes, Until::Ended, Duration::ZERO, &AtomicBool::new(false))
    };
    let mut first = memory.try_charge(&one, 4 * MIB).unwrap();
    let _second = memory.try_charge(&other, 4 * MIB).unwrap();
    assert!(charge(&one, 5 * MIB).is_none());
    let more = charge(&one, 4 * MIB).unwrap();
    assert!(charge(&other, MIB).is_none());
    drop(more);
    first.add(charge(&one, MIB).unwrap());
    assert!(charge(&other, MIB).is_none());
    drop(first);
    assert!(charge(&other, 5 * MIB).is_none() && charge(&other, MIB).is_some());
}

#[test]
#[allow(clippy::disallowed_methods, reason = "threads of the system")]
fn few_threads_wait() {
    let (memory, one, other) = account(MIB);
    let _all = memory.note(&one, MIB);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..memory.0.threads_max() {
            let wait = || memory.charge_on_thread(&other, MIB, Until::Sent, Duration::from_secs(60), &stop).is_none();
            scope.spawn(move || assert!(wait()));
        }
        while memory.0.state.lock().threads < memory.0.threads_max() {
            std::thread::yield_now();
        }
        // One more charge is refused at once, because the limit of waiting threads is reached.
        assert!(memory.charge_on_thread(&other, MIB, Until::Sent, Duration::from_secs(3600), &stop).is_none());
        assert!(memory.is_short());
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(memory.0.state.lock().threads, 0);
}

fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

#[test]
fn those_that_wait_are_served_in_their_order() {
    let (memory, one, other) = account(8 * MIB);
    in_time(async {
        let held = memory.try_charge(&one, 6 * MIB).unwrap();
        let limit = Duration::from_secs(60);
        let large = memory.charge(&other, 7 * MIB, limit);
        let later = memory.charge(&one, MIB, limit);
        let both = async { tokio::join!(large, later) };
        tokio::pin!(both);
        // The later charge would fit, but granting it first would delay the earlier one forever.
        assert!(tokio::time::timeout(Duration::from_millis(50), &mut both).await.is_err());
        drop(held);
        let (large, later) = both.await;
        assert_eq!((large.unwrap().bytes(), later.unwrap().bytes()), (7 * MIB, MIB));
    });
    assert_eq!(memory.used(), 0);
}

#[test]
fn a_wait_ends_and_leaves_nothing() {
    let (memory, one, other) = account(8 * MIB);
    in_time(async {
        let _held = memory.try_charge(&one, 6 * MIB).unwrap();
        let limit = Duration::from_millis(50);
        let behind = memory.charge(&other, MIB, Duration::from_secs(60));
        let (refused, own) = tokio::join!(memory.charge(&other, 7 * MIB, limit), behind);
        // The charge behind is granted when this charge gives up.
        assert!(refused.is_none() && own.is_some());
        assert!(memory.charge(&one, 9 * MIB, limit).await.is_none());
    });
    assert_eq!(memory.used(), 0);
    assert!(memory.0.state.lock().waiting.is_empty());
}

/// A reply to a finished write is not refused, even if the account is exceeded. A second such reply waits for the
/// first.
#[test]
#[allow(clippy::disallowed_methods, reason = "threads of the system")]
fn replies_to_writes_exceed_the_account_one_at_a_time() {
    let (memory, one, other) = account(8 * MIB);
    let _request = memory.note(&one, 7 * MIB);
    let over = AtomicBool::new(false);
    let charge = |principal| memory.charge_made(principal, 9 * MIB, || over.load(Ordering::Relaxed));
    let first = charge(&one);
    assert_eq!(memory.used(), 16 * MIB);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| charge(&other).bytes());
        while memory.0.state.lock().threads == 0 {
            std::thread::yield_now();
        }
        assert!(!second.is_finished());
        drop(first);
        assert_eq!(second.join().unwrap(), 9 * MIB);
    });
    assert_eq!(memory.used(), 7 * MIB);
    // After the client has disconnected, a reply does not wait.
    let _first = charge(&one);
    over.store(true, Ordering::Relaxed);
    assert_eq!(charge(&other).bytes(), 9 * MIB);
}
