//! Creating, renaming and dropping collections.

use super::maintenance::{flush, pending};
use crate::model::Phase;
use crate::runner::expectations::expect_there;
use crate::runner::session::{NAMES, Session};
use alluvium::Durability;

pub(crate) fn step(session: &mut Session) {
    let durable = session.options.durability == Durability::Sync;
    let name = session.any_name();
    let mut state = session.state.clone();
    match session.rng.u32(0..4) {
        0 | 1 => {
            // In half of the cases, all documents are in files before the drop. Pending work then removes these files,
            // and only that work makes the drop durable.
            let in_files = session.rng.bool();
            if in_files {
                flush(session);
            }
            session.note(format!("drop {name}"));
            let was_there = state.collections.remove(&name).is_some();
            session.dropped |= was_there;
            let result = session.write(Phase::Schema, &[state], durable && was_there, |db| db.drop_collection(&name));
            expect_there(result, was_there);
            if was_there && in_files {
                pending(session);
            }
        }
        2 => {
            let to = NAMES[session.rng.usize(0..NAMES.len())];
            session.note(format!("rename {name} {to}"));
            let possible = state.collections.contains_key(&name) && !state.collections.contains_key(to);
            if possible {
                let contents = state.collections.remove(&name).expect("it is there");
                state.collections.insert(to.to_owned(), contents);
            }
            let result =
                session.write(Phase::Schema, &[state], durable && possible, |db| db.rename_collection(&name, to));
            expect_there(result, possible);
            session.effect("rename", possible);
        }
        _ => {
            let name = NAMES[session.rng.usize(0..NAMES.len())];
            session.note(format!("create {name}"));
            let new = state.create(name);
            let result = session
                .write(Phase::Schema, &[state], durable && new, |db| db.create_collection(name).run().map(|_| ()));
            expect_there(result, new);
        }
    }
}
