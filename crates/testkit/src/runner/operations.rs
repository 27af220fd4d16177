//! Random operations: each is drawn, and applied to the database and to the model. Then the results are compared.
//!
//! An operation is a function of a [`Session`]. The modules are:
//!
//! | module | operations |
//! |---|---|
//! | `documents`, `by_id`, `by_filter` | writes of documents |
//! | `reads`, `queries`, `cursors`, `snapshots`, `fields` | reads |
//! | `schema`, `logical`, `indexes` | collections, logical databases, indexes |
//! | `loads`, `growth`, `dumps`, `checkpoints` | documents in bulk, and copies of the database |
//! | `maintenance`, `lifecycle` | flushes and compactions; closing, killing, opening |
//! | `displacements` | the directory is moved, replaced and removed under the open database |

pub(super) mod by_filter;
pub(super) mod by_id;
pub(super) mod checkpoints;
pub(super) mod cursors;
pub(super) mod displacements;
pub(super) mod documents;
pub(super) mod dumps;
pub(super) mod fields;
pub(super) mod growth;
pub(super) mod indexes;
pub(super) mod lifecycle;
pub(super) mod loads;
pub(super) mod logical;
pub(super) mod maintenance;
pub(super) mod queries;
pub(super) mod reads;
pub(super) mod schema;
pub(super) mod snapshots;

use super::session::{Mix, Session};

/// Executes one random operation.
pub(crate) fn step(session: &mut Session) {
    displacements::write_to_other(session);
    if session.mix == Mix::All {
        match session.rng.u32(0..100) {
            0..=24 => return read(session),
            25..=32 => return queries::step(session),
            33..=44 => return cursors::step(session),
            45..=47 => return upkeep(session),
            _ => {}
        }
    }
    if session.mix == Mix::Writes && session.rng.u32(0..100) < 4 {
        return writing_upkeep(session);
    }
    if session.rng.u32(0..100) < 22 {
        return if session.rng.bool() { by_id::step(session) } else { by_filter::step(session) };
    }
    match session.rng.u32(0..100) {
        0..=17 => documents::put(session),
        18..=25 => indexes::step(session),
        26..=35 => documents::insert(session),
        36..=46 => documents::delete(session),
        47..=50 => documents::modify(session),
        51..=54 => documents::update(session),
        55..=64 => documents::batch(session),
        65..=67 => loads::load(session),
        68..=71 => schema::step(session),
        72 => logical::drop_logical(session),
        73..=75 => maintenance::sync(session),
        76..=81 => maintenance::flush(session),
        82..=87 => maintenance::pending(session),
        88..=89 => maintenance::compact(session),
        90..=92 => lifecycle::reopen(session),
        93..=95 if session.mix == Mix::All => checkpoints::step(session),
        _ => snapshots::step(session),
    }
}

fn read(session: &mut Session) {
    snapshots::forget_ended(session);
    match session.rng.u32(0..20) {
        0..=6 => reads::get(session),
        7..=8 => reads::get_many(session),
        9..=10 => reads::get_fields(session),
        11..=15 => reads::scan(session),
        16 => reads::count(session),
        _ if session.snapshots.is_empty() => reads::get(session),
        _ => {
            let at = session.rng.usize(0..session.snapshots.len());
            snapshots::check_snapshot(session, at);
        }
    }
}

/// Executes an operation that changes no document.
fn upkeep(session: &mut Session) {
    match session.rng.u8(0..32) {
        24..=29 => displacements::move_directory(session),
        30..=31 => displacements::remove_directory(session),
        0..=3 => maintenance::settle(session),
        4..=6 => maintenance::compact_or_stop(session),
        7..=10 => indexes::stop_index(session),
        11..=13 => fields::field_names(session),
        14..=17 => fields::typed(session),
        18..=21 => logical::check_names(session),
        22 => lifecycle::read_only(session),
        _ => dumps::dump_and_restore(session),
    }
}

/// Executes an operation that changes no document, but writes to the disk.
fn writing_upkeep(session: &mut Session) {
    match session.rng.u8(0..4) {
        0 => maintenance::settle(session),
        1 => maintenance::compact_or_stop(session),
        2 => indexes::stop_index(session),
        _ => fields::typed(session),
    }
}
