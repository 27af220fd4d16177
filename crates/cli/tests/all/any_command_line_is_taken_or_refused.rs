//! Command lines, configuration files and lines of the shell, derived deterministically from `fuzz/corpus`: each is
//! accepted, or refused with a message. With `ALLUVIUM_TARGET`, only the named target runs.

use alluvium_testkit::{fuzz, seed};
use std::cell::Cell;
use std::path::{Path, PathBuf};

const NAME: &str = "-p alluvium-cli --test all any_command_line_is_taken_or_refused";
const TARGET: &str = "ALLUVIUM_TARGET";
const TARGETS: [(&str, fuzz::Target); 2] =
    [("arguments", alluvium_cli::fuzz::arguments), ("shell", alluvium_cli::fuzz::shell)];

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn any_command_line_is_taken_or_refused() {
    let asked = std::env::var(TARGET).ok();
    let executions = Cell::new(0);
    for (target, run) in TARGETS.iter().filter(|(name, _)| asked.as_deref().is_none_or(|asked| asked == *name)) {
        let inputs = corpus(target);
        inputs.iter().for_each(|input| run(input));
        seed::each_of(NAME, TARGET, target, 2000, |seed| {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut input = inputs[rng.usize(0..inputs.len())].clone();
            let other = &inputs[rng.usize(0..inputs.len())];
            fuzz::mutate(&mut rng, &mut input, other);
            executions.set(executions.get() + 1);
            run(&input);
        });
    }
    seed::tally("fuzz executions", executions.get());
}
