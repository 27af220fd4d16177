//! Closing, killing and opening the database.

use super::cursors::end_cursors;
use crate::model::Phase;
use crate::reading;
use crate::runner::session::Session;

pub(crate) fn reopen(session: &mut Session) {
    if session.rng.bool() {
        session.note("kill".to_owned());
        kill(session);
        session.open();
        session.effect("kill and open", !session.state.collections.is_empty());
    } else {
        session.note("close".to_owned());
        close(session);
        session.open();
        session.effect("close and open", !session.state.collections.is_empty());
    }
}

/// Opens the database, in the state after a kill, for reading only on a disk that refuses writes. It must have all
/// content.
pub(crate) fn read_only(session: &mut Session) {
    session.note("open for reading only".to_owned());
    let killed = session.world.killed();
    let found = reading::read(&killed, session.home(), &session.options, session.rng.bool());
    let found = found.unwrap_or_else(|broken| panic!("{broken}")).expect("the database is complete");
    let expected = &session.state;
    assert!(found == *expected, "expected and found differ for a reader:\n{}", expected.difference(&found));
    session.effect("open for reading only", found.collections.values().any(|c| !c.documents.is_empty()));
}

/// Closes the database, which makes all writes durable.
pub(crate) fn close(session: &mut Session) {
    session.snapshots.clear();
    session.timeline.lock().phase = Phase::Close;
    if let Some(db) = session.db.take() {
        db.close().unwrap_or_else(|e| panic!("close: {e}"));
    }
    end_cursors(session);
    let mut timeline = session.timeline.lock();
    timeline.durable();
    timeline.phase = Phase::Open;
}

/// Drops the database, which may be unable to close.
pub(crate) fn end_abruptly(session: &mut Session) {
    session.snapshots.clear();
    session.cursors.clear();
    if let Some(db) = session.db.take() {
        let _refused = db.close();
    }
    session.timeline.lock().phase = Phase::Open;
}

/// Kills the process, and continues with the disk that remains.
pub(crate) fn kill(session: &mut Session) {
    let world = session.world.killed();
    session.snapshots.clear();
    // The old process must no longer report to the hook.
    session.world.faults.set_hook(None);
    session.cursors.clear();
    session.db = None;
    if let Some(moved) = &mut session.moved {
        moved.killed();
    }
    session.world = world;
    session.timeline.lock().phase = Phase::Open;
}
