//! The directory of the open database is moved, replaced by the directory of another database, moved back, or removed.
//! Each database keeps its promises, and no other directory is changed.

use super::checkpoints::restore;
use super::lifecycle::end_abruptly;
use crate::runner::moved::{ASIDE, Moved, Other};
use crate::runner::session::Session;
use crate::worlds::{PATH, remove_dir};
use alluvium::Durability;
use alluvium_store::Options;
use std::path::Path;

fn create_other(session: &mut Session) -> Other {
    let options = Options { partitions: Some(1 + session.rng.u32(0..3)), ..session.options.clone() };
    Other::create(&session.world, options, 1 + session.rng.u32(0..20))
}

/// Moves the directory of the open database to another path, or back.
pub(crate) fn move_directory(session: &mut Session) {
    if session.moved.is_some() {
        session.note("move the directory back".to_owned());
        session.put_back();
        session.effect("move the directory back", !session.state.collections.is_empty());
        return;
    }
    let (replaced, closed) = (session.rng.u8(0..4) > 0, session.rng.bool());
    session.note(format!("move the directory, replaced {replaced}"));
    session.world.env.fs.rename(Path::new(PATH), Path::new(ASIDE)).expect("rename");
    let mut other = if replaced { Some(create_other(session)) } else { None };
    if let Some(other) = other.as_mut().filter(|_| closed) {
        other.close();
    }
    session.moved = Some(Moved { other });
    session.effect("move the directory", !session.state.collections.is_empty());
}

/// Writes to the database that was created at the path of the moved one.
pub(crate) fn write_to_other(session: &mut Session) {
    if let Some(other) = session.moved.as_mut().and_then(|moved| moved.other.as_mut()) {
        other.write(1);
    }
}

/// Removes the directory of the open database, which must not acknowledge a durable write after that. Another database
/// at the old path must not change. Continues from a checkpoint.
pub(crate) fn remove_directory(session: &mut Session) {
    if session.background {
        // A background thread would write into the directory while it is removed.
        return;
    }
    session.note("remove the directory".to_owned());
    let saved = Path::new("saved");
    session.db().checkpoint(saved).run().expect("a checkpoint");
    let home = session.home();
    remove_dir(&session.world.env, home);
    let mut other = match session.moved.take() {
        Some(moved) => moved.other,
        None if session.rng.bool() => Some(create_other(session)),
        None => None,
    };
    let collection = session.db().collection("main.late").with_durability(Durability::Sync);
    let refused = collection.put(1, r#"{"late": true}"#).expect_err("a write to a removed directory");
    assert!(refused.to_string().contains("was removed while it was in use"), "{refused}");
    let again = collection.put(2, r#"{"late": true}"#).expect_err("a second write to a removed directory");
    assert_eq!(again.kind(), alluvium::ErrorKind::Poisoned, "{again}");
    session.db().flush().expect_err("a flush to a removed directory");
    end_abruptly(session);
    if let Some(other) = &mut other {
        other.write(3);
    }
    if let Some(other) = other {
        other.check_and_remove(&session.world);
    }
    restore(session, saved, Path::new(PATH));
    remove_dir(&session.world.env, saved);
    session.checkpoints.generation += 1;
    session.versions.clear();
    session.effect("remove the directory", !session.state.collections.is_empty());
    session.open();
}
