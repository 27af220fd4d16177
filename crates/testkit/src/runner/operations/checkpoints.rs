//! Checkpoints: they are made, kept during other operations, restored, compared, and continued from. Also repairs of
//! copies.

use super::lifecycle::close;
use crate::model::{indexes, read_state};
use crate::runner::kept::KeptCheckpoint;
use crate::runner::session::Session;
use crate::worlds::{PATH, remove_dir};
use alluvium::backup;
use alluvium::repair;
use alluvium::{Database, ErrorKind};
use alluvium_store::Options;
use std::path::{Path, PathBuf};

/// The maximum number of checkpoints kept.
const MOST: usize = 3;

pub(crate) fn step(session: &mut Session) {
    match session.rng.u32(0..12) {
        10.. => look_at_repaired(session),
        _ if session.checkpoints.kept.is_empty() => make_checkpoint(session),
        0..=4 => make_checkpoint(session),
        5..=7 => look_at_checkpoint(session),
        _ => go_on_from_checkpoint(session),
    }
}

fn any_checkpoint(session: &mut Session) -> usize {
    session.rng.usize(0..session.checkpoints.kept.len())
}

fn make_checkpoint(session: &mut Session) {
    let base = match session.checkpoints.kept.len() {
        0 => None,
        count => Some(session.rng.usize(0..count)).filter(|_| session.rng.u8(0..3) > 0),
    };
    let base = base.map(|at| &session.checkpoints.kept[at]);
    let foreign = base.is_some_and(|base| base.generation != session.checkpoints.generation);
    let base = base.map(|base| base.dir.clone());
    let copy = session.rng.bool();
    let dir = PathBuf::from(format!("checkpoint-{}", session.checkpoints.made));
    session.note(format!("checkpoint {} copy: {copy}, base: {base:?}", dir.display()));
    let mut checkpoint = session.db().checkpoint(&dir).copy(copy);
    if let Some(base) = base {
        checkpoint = checkpoint.base(base);
    }
    match checkpoint.run() {
        Ok(_) => assert!(!foreign, "a base of another database was taken"),
        Err(error) => return assert!(foreign && error.kind() == ErrorKind::Open, "checkpoint: {error}"),
    }
    session.effect("checkpoint", !session.state.collections.is_empty());
    session.checkpoints.made += 1;
    let generation = session.checkpoints.generation;
    session.checkpoints.kept.push(KeptCheckpoint { dir, state: session.state.clone(), generation });
    if session.checkpoints.kept.len() > MOST {
        let gone = any_checkpoint(session);
        let gone = session.checkpoints.kept.swap_remove(gone);
        remove_dir(&session.world.env, &gone.dir);
    }
}

/// Restores a checkpoint next to the database, and checks that it has the content from the time of the checkpoint.
fn look_at_checkpoint(session: &mut Session) {
    let at = any_checkpoint(session);
    let kept = &session.checkpoints.kept[at];
    let (dir, expected) = (kept.dir.clone(), kept.state.clone());
    session.note(format!("look at {}", dir.display()));
    let to = Path::new("restored");
    restore(session, &dir, to);
    let db = Database::builder().env(session.world.env.clone()).options(session.options.clone()).open(to);
    let db = db.unwrap_or_else(|e| panic!("the restored database does not open: {e}"));
    let found = read_state(&db).unwrap_or_else(|e| panic!("reading a restored database: {e}"));
    assert!(found == expected, "checkpoint and model differ:\n{}", expected.difference(&found));
    assert!(db.verify().run().is_ok_and(|report| report.damage.is_empty()));
    session.effect("look at a checkpoint", expected.collections.values().any(|c| !c.documents.is_empty()));
    db.close().expect("close");
    remove_dir(&session.world.env, to);
}

/// Repairs a copy of the database in the state after a kill. No content may be lost or reappear.
fn look_at_repaired(session: &mut Session) {
    session.note("repair a copy".to_owned());
    let copy = session.world.killed();
    let to = Path::new("repaired");
    let repair = repair::repair(session.home(), to).env(copy.env.clone()).memory(8 << 20);
    let report = repair.run().unwrap_or_else(|e| panic!("repair: {e}"));
    assert!(report.is_whole() && report.doubtful() == 0, "repair of a whole database: {report:?}");
    let options = Options { partitions: None, ..session.options.clone() };
    let db = Database::builder().env(copy.env.clone()).options(options).open(to);
    let db = db.unwrap_or_else(|e| panic!("the repaired database does not open: {e}"));
    let mut found = read_state(&db).unwrap_or_else(|e| panic!("reading a repaired database: {e}"));
    indexes::check_now(&db).unwrap_or_else(|broken| panic!("a repaired database: {broken}"));
    // A repair does not recover collections without documents.
    let mut expected = session.state.clone();
    for state in [&mut found, &mut expected] {
        state.collections.retain(|_, contents| !contents.documents.is_empty());
    }
    // A repair builds an index that was not ready, or leaves it out.
    for (name, contents) in &mut expected.collections {
        let Some(found) = found.collections.get_mut(name) else { continue };
        let unready = contents.indexes.iter().filter(|(_, index)| !index.ready);
        for index in unready.map(|(index, _)| index.clone()).collect::<Vec<_>>() {
            contents.indexes.remove(&index);
            found.indexes.remove(&index);
        }
    }
    let mut made = found.collections.values().flat_map(|contents| contents.indexes.values());
    assert!(made.all(|index| index.ready), "an index of a repaired database is not ready");
    assert!(found == expected, "repaired copy and model differ:\n{}", expected.difference(&found));
    session.effect("repair", !found.collections.is_empty());
}

/// Replaces the database by a restored checkpoint, as after a loss of the database.
fn go_on_from_checkpoint(session: &mut Session) {
    let at = any_checkpoint(session);
    let (dir, state) = (session.checkpoints.kept[at].dir.clone(), session.checkpoints.kept[at].state.clone());
    session.note(format!("go on from {}", dir.display()));
    close(session);
    session.put_back();
    remove_dir(&session.world.env, Path::new(PATH));
    restore(session, &dir, Path::new(PATH));
    session.checkpoints.generation += 1;
    session.timeline.lock().push(&state);
    // Sequence numbers after the checkpoint are assigned again, so the old versions are invalid.
    session.versions.clear();
    session.effect("go on from a checkpoint", state != session.state);
    session.state = state;
    session.open();
}

pub(super) fn restore(session: &mut Session, from: &Path, to: &Path) {
    let restore = backup::restore(from, to).copy(session.rng.bool()).quick(session.rng.bool());
    restore.env(session.world.env.clone()).run().unwrap_or_else(|e| panic!("restore: {e}"));
}
