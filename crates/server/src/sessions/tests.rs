use super::*;
use alluvium_env::mem::MemFs;
use alluvium_env::{ManualClock, SeededRng};
use std::sync::Arc;

fn sessions() -> (Sessions, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new());
    let env = Env { fs: Arc::new(MemFs::new()), clock: clock.clone(), rng: Arc::new(SeededRng::new(1)) };
    (Sessions::new(env), clock)
}

fn id(n: u8) -> SessionId {
    SessionId { uuid: [n; 16], user: None }
}

/// True if a retryable write had to wait.
fn is_busy(sessions: &Sessions, id: &SessionId, number: i64) -> bool {
    // A waiting write ends at once, because the client counts as disconnected.
    match sessions.check_out(id, number, &AtomicBool::new(true)) {
        Ok(_) => false,
        Err(error) => {
            assert_eq!(error.code, 11601);
            true
        }
    }
}

#[test]
fn a_session_that_is_ended_during_a_write_stays_until_the_write_ends() {
    let (sessions, _clock) = sessions();
    let write = sessions.check_out(&id(1), 5, &AtomicBool::new(false)).unwrap();
    let ending = sessions.end(&[id(1), id(2)]);
    assert_eq!(ending.ids, [id(2)]);
    drop(ending);
    assert!(is_busy(&sessions, &id(1), 5), "the repetition runs beside the write");
    assert!(sessions.expire().ids.is_empty());
    drop(write);
    assert_eq!(sessions.expire().ids, [id(1)]);
    assert_eq!(sessions.len(), 0);
}

#[test]
fn a_repetition_keeps_a_session_that_was_ended_during_the_write() {
    let (sessions, clock) = sessions();
    let write = sessions.check_out(&id(1), 5, &AtomicBool::new(false)).unwrap();
    drop(sessions.end(&[id(1)]));
    drop(write);
    sessions.touch(&id(1)).unwrap();
    assert!(sessions.expire().ids.is_empty(), "its records are deleted before the repetition has read them");
    clock.advance(TIMEOUT + Duration::from_secs(1));
    assert_eq!(sessions.expire().ids, [id(1)]);
}

#[test]
fn no_write_begins_while_the_records_of_its_session_are_deleted() {
    let (sessions, clock) = sessions();
    sessions.touch(&id(1)).unwrap();
    let ending = sessions.end(&[id(1)]);
    assert!(is_busy(&sessions, &id(1), 1));
    drop(ending);
    assert!(!is_busy(&sessions, &id(1), 1));
    clock.advance(TIMEOUT + Duration::from_secs(1));
    let ending = sessions.expire();
    assert_eq!(ending.ids, [id(1)]);
    assert!(is_busy(&sessions, &id(1), 2));
    ending.give_up();
    assert!(!is_busy(&sessions, &id(1), 2), "it stays as it was");
}

#[test]
fn a_write_that_takes_longer_than_a_session_lasts_does_not_end_it() {
    let (sessions, clock) = sessions();
    let write = sessions.check_out(&id(1), 1, &AtomicBool::new(false)).unwrap();
    clock.advance(2 * TIMEOUT);
    assert!(sessions.expire().ids.is_empty());
    drop(write);
    assert!(sessions.expire().ids.is_empty(), "the write may be repeated now");
    clock.advance(TIMEOUT + Duration::from_secs(1));
    assert_eq!(sessions.expire().ids, [id(1)]);
}
