//! All integration tests of the crate, as one program: linking a program for each test would take most of the build
//! time and disk space.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    reason = "tests use real files, threads and clocks, and panic"
)]

mod any_store_is_measured_and_checked;
mod charts_are_drawn_in_a_browser;
#[allow(dead_code, reason = "shared with the tests of the command line, which use more of it")]
#[path = "../../../cli/tests/all/common/mod.rs"]
mod common;
mod generated_data_depends_on_its_seed_alone;
mod generated_files_replace_nothing;
mod generators_end_as_other_commands_do;
mod plans_are_run_to_their_end;
mod records;
mod reports_show_what_was_measured;
mod the_demo_shows_all_of_it;
mod the_scenarios_report_json;
