//! All integration tests of the crate in one program, because linking one for each would take most of the time and
//! disk.

mod a_failing_disk_leaves_no_file;
mod agrees_with_a_sorted_vector;
mod common;
mod damage_is_found_and_never_served;
mod index_entries_are_stored_as_columns;
mod index_files_find_what_the_file_has;
mod readers_are_shared_between_threads;
mod reads_are_few;
mod the_bytes_of_a_tiny_file;
mod versions_of_one_key_over_many_blocks;
mod what_is_whole_in_a_damaged_file_is_found;
