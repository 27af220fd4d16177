use super::*;
use crate::plan::{self, Size};
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

/// Checks the plans of the repository for each size: this program accepts every command in them.
#[test]
fn the_plans_of_the_repository_can_be_run() {
    let env = Env::os();
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    for size in Size::ALL {
        let plan = plan::read(&env, &dir.join("all.toml"), size, 1).expect("a plan");
        for trial in plan::trials(&plan) {
            let experiment = trial.experiment;
            let commands = [experiment.prepare.as_ref(), Some(&experiment.command), experiment.warm_up.as_ref()];
            for command in commands.into_iter().flatten().filter(|_| experiment.program == plan::THIS_PROGRAM) {
                let value = |name: &str| match name {
                    "store" => Some("dir".to_owned()),
                    "seed" => Some(trial.seed.to_string()),
                    _ => trial.parameters.get(name).map(plan::text_of),
                };
                let arguments = plan::fill(command, &value);
                let whole = std::iter::once("alluvium-bench".to_owned()).chain(arguments);
                let parsed = Cli::try_parse_from(whole);
                assert!(parsed.is_ok(), "{}, {}: {}", experiment.name, size.name(), parsed.expect_err("an error"));
                assert!(command.iter().any(|argument| argument == "--json"), "{} prints no JSON", experiment.name);
            }
        }
        let included: std::collections::BTreeSet<&str> =
            plan.experiments.iter().map(|experiment| experiment.plan.as_str()).collect();
        let files = env.fs.list(&dir).expect("a directory");
        let names = files.iter().filter_map(|entry| entry.name.strip_suffix(".toml")).filter(|name| *name != "all");
        assert_eq!(included, names.collect(), "all.toml includes the others");
    }
}
