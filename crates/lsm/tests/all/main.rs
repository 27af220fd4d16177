//! All integration tests of the crate in one program, because linking one for each would take most of the time and
//! disk.

#![allow(clippy::disallowed_methods, reason = "tests use real files, threads and clocks, and panic")]

mod a_crash_at_any_step_loses_nothing_flushed;
mod a_failed_sync_of_the_directory;
mod a_flush_waits_for_writers;
mod a_long_storm_meets_every_kind_of_work;
mod a_number_that_stands_alone;
mod a_poisoned_partition_removes_nothing;
mod any_operations_match_the_model;
mod common;
mod dictionaries_are_trained_once_and_shared;
mod dropped_trees_give_their_space_back;
mod estimates_know_what_was_deleted;
mod every_failing_operation_is_survived;
mod keys_in_order_are_never_rewritten;
mod left_over_files;
mod range_tombstones;
mod readers_and_writers_at_once;
mod readers_hold_the_files_they_read;
mod reads_after_flush_and_compaction;
mod snapshots_outlive_compactions;
mod verify_finds_damage;
mod what_cannot_be_merged_stops_nothing_else;
