//! All integration tests of the crate in one program. Linking a program for each file would take most of the time and
//! disk space.

#![allow(clippy::disallowed_methods, reason = "tests use real files, threads and clocks, and panic")]

mod common;
mod compatibility_is_written_down;
mod deltas_do_what_updates_do;
mod distinct_follows_mongodb;
mod documents_sort_as_mongodb_sorts_them;
mod filters_follow_mongodb;
mod filters_keep_the_limits;
mod filters_mean_what_they_say;
mod long_evaluations_end;
mod other_updates_follow_mongodb;
mod plans_are_as_written;
mod plans_find_what_filters_match;
mod positions_of_elements_that_match;
mod projections_follow_mongodb;
mod updates_decode_only_what_they_change;
mod updates_follow_mongodb;
mod updates_keep_the_limits;
mod updates_touch_what_they_say;
