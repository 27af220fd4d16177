//! All integration tests of the crate in one program, because linking one for each would take most of the time and
//! disk.

#![allow(clippy::disallowed_methods, reason = "tests use real files, threads and clocks, and panic")]

mod a_reserve_is_left_free;
mod a_torn_tail_is_cut;
mod any_flipped_bit_is_found_or_harmless;
mod common;
mod crashes_lose_nothing_synced;
mod damage_is_refused_or_skipped;
mod errors_poison_or_change_nothing;
mod few_files_are_open_at_once;
mod one_sync_serves_many;
mod replays_what_was_appended;
mod what_a_failed_sync_lost_is_written_again;
