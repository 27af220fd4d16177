use super::*;

#[test]
fn a_lock_waits_for_writes_and_keeps_others_out() {
    let gate = WriteGate::default();
    let writing = gate.enter().expect("open");
    assert_eq!(gate.lock(Duration::from_millis(1)), None, "a write is in the gate");
    assert!(gate.enter().is_some(), "a lock that failed closes nothing");
    drop(writing);
    assert_eq!(gate.lock(Duration::ZERO), Some(1));
    assert_eq!(gate.lock(Duration::ZERO), Some(2));
    assert!(gate.enter().is_none());
    assert_eq!(gate.unlock(), Some(1));
    assert!(gate.enter().is_none());
    assert_eq!(gate.unlock(), Some(0));
    assert_eq!(gate.unlock(), None);
    assert!(gate.enter().is_some());
}

#[tokio::test]
async fn a_write_that_waits_is_woken_by_the_last_unlock() {
    let gate = WriteGate::default();
    gate.lock(Duration::ZERO);
    gate.wait(Duration::from_millis(1)).await;
    assert!(gate.enter().is_none());
    let waiting = async {
        while gate.enter().is_none() {
            gate.wait(Duration::from_secs(3600)).await;
        }
    };
    tokio::join!(waiting, async { gate.unlock() });
}
