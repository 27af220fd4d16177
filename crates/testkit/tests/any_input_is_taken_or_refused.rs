//! Runs the fuzz targets on their corpora, and on inputs that are derived from these deterministically. A parser
//! refuses an input, or preserves what it has accepted. With `ALLUVIUM_TARGET`, only the named target is run.
#![allow(clippy::disallowed_methods)]

use alluvium_testkit::{fuzz, seed};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::path::Path;
use std::process::Command;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

const NAME: &str = "any_input_is_taken_or_refused";
const TARGET: &str = "ALLUVIUM_TARGET";

/// The inputs in the repository and the initial inputs, with their names.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let begin = fuzz::seeds(target).into_iter().enumerate();
    let mut inputs: Vec<_> = begin.map(|(at, input)| (format!("seeds({target})[{at}]"), input)).collect();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    if let Ok(entries) = std::fs::read_dir(dir) {
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        inputs.extend(paths.iter().map(|path| (path.display().to_string(), std::fs::read(path).unwrap())));
    }
    inputs
}

/// The requested target; by default all targets.
fn targets() -> Vec<&'static str> {
    let asked = std::env::var(TARGET).ok();
    let names = fuzz::TARGETS.iter().map(|(name, _)| *name);
    let found: Vec<_> = names.filter(|name| asked.as_deref().is_none_or(|asked| asked == *name)).collect();
    assert!(!found.is_empty(), "{TARGET}={}: there is no such target", asked.unwrap_or_default());
    found
}

/// True for targets that create or open a database for each input.
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

/// Runs an input. No thread may panic, even if the library would turn the panic into an error.
fn run(target: &str, input: &[u8]) {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    static COUNT: Once = Once::new();
    COUNT.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            PANICS.fetch_add(1, Ordering::SeqCst);
            usual(panic);
        }));
    });
    let before = PANICS.load(Ordering::SeqCst);
    fuzz::run(target, input);
    assert_eq!(PANICS.load(Ordering::SeqCst), before, "a thread has panicked");
}

#[test]
fn any_input_is_taken_or_refused() {
    let executions = Cell::new(0);
    for target in targets() {
        let inputs = corpus(target);
        for (name, input) in &inputs {
            if let Err(broken) = catch_unwind(AssertUnwindSafe(|| run(target, input))) {
                eprintln!("the input is {name}");
                resume_unwind(broken);
            }
        }
        let usual = if makes_a_database(target) { 150 } else { 3000 };
        seed::each_of(NAME, TARGET, target, usual, |seed| {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut input = inputs[rng.usize(0..inputs.len())].1.clone();
            let other = &inputs[rng.usize(0..inputs.len())].1;
            fuzz::mutate(&mut rng, &mut input, other);
            executions.set(executions.get() + 1);
            run(target, &input);
        });
    }
    println!("{} inputs were made", executions.get());
    seed::tally("fuzz executions", executions.get());
}

/// The command that is printed for a failing input runs exactly this input of this target, whatever its seed is.
#[test]
fn a_seed_and_a_target_run_one_input() {
    let replay = |target: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", NAME, "--nocapture"]).env(TARGET, target).env("ALLUVIUM_SEED", "999999000123");
        for other in ["ALLUVIUM_TALLY", "ALLUVIUM_FIRST", "ALLUVIUM_SECONDS", "ALLUVIUM_SEQUENCES"] {
            command.env_remove(other);
        }
        let done = command.output().unwrap();
        (done.status.success(), String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let (fine, said) = replay("json");
    assert!(fine && said.contains("1 inputs were made"), "{said}");
    let (fine, said) = replay("nothing");
    assert!(!fine, "a target that is not there is replayed: {said}");
}
