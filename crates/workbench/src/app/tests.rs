use super::*;
use clap::CommandFactory;

#[test]
fn the_definitions_of_all_arguments_are_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_shows_an_example() {
    for command in Cli::command().get_subcommands() {
        let groups: Vec<_> = command.get_subcommands().collect();
        let leaves = if groups.is_empty() { vec![command] } else { groups };
        for leaf in leaves {
            let help = leaf.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("alluvium-bench "), "{} has no example", leaf.get_name());
        }
    }
}

#[test]
fn commands_are_listed_in_alphabetical_order() {
    let names: Vec<_> = Cli::command().get_subcommands().map(|c| c.get_name().to_owned()).collect();
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(names, sorted);
}
