//! All tests of the crate from outside, in one program: linking each separately would take most of the time and disk
//! space.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    reason = "tests use real files, threads and clocks, and panic"
)]

mod a_broken_pipe_is_no_error;
mod a_damaged_database_is_repaired;
mod a_database_has_one_process_and_one_partition_count;
mod a_database_is_read_where_nothing_can_be_written;
mod a_database_that_is_moved_while_it_is_open_stays_whole;
mod a_disk_at_its_reserve_refuses_writes;
mod a_dump_is_restored_as_it_was;
mod a_file_system_that_shuts_down_keeps_what_was_acknowledged;
mod a_finished_load_run_again_changes_nothing;
mod a_killed_load_resumes;
mod a_killed_server_applies_retried_writes_once;
mod a_launcher_of_mongod_finds_what_it_waits_for;
mod a_limit_on_the_size_of_files_is_an_error;
mod a_missing_collection_is_named_with_the_nearest;
mod a_power_cut_of_the_program_keeps_what_it_acknowledged;
mod a_read_only_store_is_built_and_read;
mod a_served_database_is_open_to_its_owner;
mod a_server_obeys_signals;
mod a_shell_is_typed_at;
mod a_shell_runs_scripts;
mod an_interrupted_checkpoint_leaves_nothing;
mod an_interrupted_index_build_goes_on;
mod an_interrupted_load_stops_cleanly;
mod an_interrupted_question_stops;
mod any_command_line_is_taken_or_refused;
mod awkward_json_comes_back_the_same;
mod bad_lines_go_to_the_rejects;
mod change_streams_through_a_server_miss_nothing;
mod changes_are_recorded_by_name;
mod changes_are_watched;
mod checkpoints_are_made_restored_and_inspected;
mod collations_compare_on_the_command_line;
mod collections_are_created_with_options;
mod collections_are_renamed_and_dropped;
mod commands_that_read_create_nothing;
mod common;
mod compressed_files_load_like_plain_ones;
mod documents_are_printed_in_every_format;
mod documents_are_put_got_and_deleted;
mod duplicates_stop_replace_or_are_skipped;
mod exit_codes_are_as_documented;
mod figures_come_as_json;
mod files_are_for_their_owner;
mod files_of_every_format_are_loaded;
mod files_of_other_programs_are_loaded;
mod histories_through_a_server_are_linearizable;
mod indexes_are_made_listed_and_dropped;
mod json_text;
mod length_prefixed_pairs_become_a_store;
mod long_output_is_paged;
mod many_values_under_a_key;
mod names_are_printed_on_one_line;
mod nothing_is_written_over_a_database_or_an_input;
mod packages;
mod page;
mod pipelines_are_run;
mod questions_are_asked;
mod real_json_comes_back_unchanged;
mod scans_are_ordered_and_narrowed;
mod script;
mod served;
mod settings_have_one_precedence;
mod shells_and_man_know_every_command;
mod special_files_and_limits_are_named;
mod standard_input_is_loaded_and_not_resumable;
mod tables_and_large_objects_are_loaded_and_exported;
mod the_id_field_becomes_the_id;
mod the_tutorial_runs;
mod traced;
mod transactions_through_a_server_are_isolated;
mod twenty_questions_are_answered;
mod updates_change_fields;
mod validators_refuse_documents;
mod values_are_counted;
mod views_are_created;
mod what_cannot_be_printed_is_named;
mod what_documents_contain_is_described;
mod what_is_exported_can_be_loaded;
mod what_is_typed_is_understood_or_answered;
