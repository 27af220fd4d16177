//! All integration tests of the crate, as one program. Linking a program for each file would take most of the time and
//! disk space.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests use real files, threads and clocks, and panic"
)]

mod a_bad_client_hurts_nobody_else;
mod a_lock_of_fsync_holds_writes_back;
mod clients_get_replies_without_asking;
mod clients_stay_where_they_came;
mod common;
mod connections_use_tls;
mod diagnosis_says_what_the_server_has;
mod fail_points_fail_what_they_name;
mod finds_read_ranges_of_indexes;
mod limits_and_monitors_are_as_promised;
mod operations_end_when_they_are_killed;
mod replies_are_those_of_mongodb;
mod tailable_cursors_wait_for_documents;
mod the_first_user_can_administer_users;
mod users_log_in_and_are_refused_what_their_roles_do_not_allow;
mod what_was_synced_survives_a_power_cut;
mod writes_wait_for_transactions;
