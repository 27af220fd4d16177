//! Maintenance: flushes, compactions, syncs, and interrupted work.

use crate::model::Phase;
use crate::runner::session::Session;
use alluvium::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(crate) fn sync(session: &mut Session) {
    session.note("sync".to_owned());
    session.write(Phase::Sync, &[], true, |db| db.sync()).expect("sync");
}

/// Flushes the memtables.
pub(crate) fn flush(session: &mut Session) {
    session.note("flush".to_owned());
    session.write(Phase::Flush, &[], true, |db| db.flush()).expect("flush");
    session.flushes += u32::from(session.dirty);
    session.dirty = false;
}

pub(crate) fn pending(session: &mut Session) {
    session.note("run pending".to_owned());
    let one = session.rng.bool();
    let phase = merging(session);
    let done = session.write(phase, &[], false, |db| match one {
        true => Ok(db.store().run_one_pending()?),
        false => Ok(db.store().run_pending().map(|()| false)?),
    });
    session.compactions += u32::from(done.expect("pending work"));
}

pub(crate) fn merging(session: &mut Session) -> Phase {
    match std::mem::take(&mut session.dropped) {
        true => Phase::Purge,
        false => Phase::Compaction,
    }
}

/// Compacts everything.
pub(crate) fn compact(session: &mut Session) {
    session.note("compact".to_owned());
    if session.rng.bool() {
        flush(session);
    }
    let phase = merging(session);
    session.write(phase, &[], true, |db| db.compact().run()).expect("compact");
    session.dirty = false;
    session.compactions += 1;
}

pub(crate) fn settle(session: &mut Session) {
    session.note("settle".to_owned());
    let phase = merging(session);
    session.write(phase, &[], true, |db| db.wait_for_compaction()).expect("settle");
    session.effect("settle", session.dirty);
    session.dirty = false;
}

/// Compacts. The stop flag is either set from the start, or never.
pub(crate) fn compact_or_stop(session: &mut Session) {
    let stop = session.rng.bool();
    session.note(format!("compact unless {stop}"));
    let phase = merging(session);
    let result = session.write(phase, &[], false, |db| db.compact().stop_when(Arc::new(AtomicBool::new(stop))).run());
    session.effect("compact unless", true);
    match result {
        // The compaction may find nothing to do before it checks the flag.
        Ok(()) => {}
        Err(error) => assert!(stop && error.kind() == ErrorKind::Stopped, "{error}"),
    }
}
