//! What fuzzers drive, over the corpora and over inputs made from them, the same ones each time: a parser refuses an input, or
//! keeps what it took.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cell::Cell;
use std::path::Path;
use testkit::{fuzz, seed};

/// The inputs in the repository, and those to begin with.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let mut inputs = fuzz::seeds(target);
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    if let Ok(entries) = std::fs::read_dir(dir) {
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        inputs.extend(paths.iter().map(|path| std::fs::read(path).unwrap()));
    }
    inputs
}

/// True for targets that make, or open, a database for each input.
fn makes_a_database(target: &str) -> bool {
    const THEY: [&str; 10] = [
        "loads",
        "segments",
        "sorted_files",
        "records",
        "manifests",
        "superblocks",
        "listings",
        "read_only",
        "metadata",
        "catalog",
    ];
    THEY.contains(&target)
}

#[test]
fn any_input_is_taken_or_refused() {
    let executions = Cell::new(0);
    for (at, (target, _)) in fuzz::TARGETS.iter().enumerate() {
        let inputs = corpus(target);
        inputs.iter().for_each(|input| fuzz::run(target, input));
        let usual = if makes_a_database(target) { 150 } else { 3000 };
        let name = format!("any_input_is_taken_or_refused # {target}");
        seed::each(&name, 1_000_000 * at as u64, usual, |seed| {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut input = inputs[rng.usize(0..inputs.len())].clone();
            let other = &inputs[rng.usize(0..inputs.len())];
            fuzz::mutate(&mut rng, &mut input, other);
            // A seed to be replayed is of one target.
            if seed::replayed().is_none_or(|seed| seed / 1_000_000 == at as u64) {
                fuzz::run(target, &input);
                executions.set(executions.get() + 1);
            }
        });
    }
    seed::tally("inputs of fuzz targets", executions.get());
}
