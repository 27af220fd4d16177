//! Hostile clients of a real server, with and without a login, while an honest client reads and writes. The server is
//! killed with -9 again and again. `tests/attacks/run` builds both and runs this.
//!
//! ```text
//! attack PROGRAM SECONDS SEED [NAME…]
//! ```
//!
//! Prints a table. Fails unless every reply to the honest client was right and arrived, all acknowledged documents
//! exist in the end, no command has panicked, and the memory of the server stayed within its limit.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test over real processes and sockets, in real time"
)]

mod attacks;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/all/common/mod.rs"]
mod common;
mod honest;
mod stage;
mod target;

use attacks::{ALL, Attack, Attacker, Tally};
use stage::Stage;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use target::{MEMORY_BYTES_MAX, Target};

/// The time between two kills.
const ROUND: Duration = Duration::from_secs(8);

struct Arguments {
    program: PathBuf,
    seconds: u64,
    seed: u64,
    names: Vec<String>,
}

fn arguments() -> Option<Arguments> {
    let mut given = std::env::args().skip(1);
    let (program, seconds, seed) = (given.next()?, given.next()?.parse().ok()?, given.next()?.parse().ok()?);
    let names: Vec<String> = given.collect();
    let is_known = |name: &String| ALL.iter().any(|attack| attack.name == *name);
    names.iter().all(is_known).then(|| Arguments { program: program.into(), seconds, seed, names })
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        let names: Vec<&str> = ALL.iter().map(|attack| attack.name).collect();
        eprintln!("usage: attack PROGRAM SECONDS SEED [NAME…]; the names are {}", names.join(", "));
        return ExitCode::from(2);
    };
    println!("seed {}, {} s", arguments.seed, arguments.seconds);
    let (tallies, failures) = run(&arguments);
    println!("{:<20}{:>10}{:>10}{:>10}{:>10}{:>10}", "attack", "attempts", "accepted", "refused", "closed", "silent");
    for (name, tally) in &tallies {
        let Tally { attempts, accepted, refused, closed, silent } = tally;
        println!("{name:<20}{attempts:>10}{accepted:>10}{refused:>10}{closed:>10}{silent:>10}");
    }
    match failures.is_empty() {
        true => {
            println!("held");
            ExitCode::SUCCESS
        }
        false => {
            failures.iter().for_each(|failure| println!("FAILED: {failure}"));
            let names = arguments.names.join(" ");
            println!("to repeat it: tests/attacks/run {} {} {names}", arguments.seconds, arguments.seed);
            ExitCode::FAILURE
        }
    }
}

/// Runs all rounds. Returns the counts of the attacks, and the failed checks.
fn run(arguments: &Arguments) -> (BTreeMap<&'static str, Tally>, Vec<String>) {
    let chosen = |attack: &&Attack| arguments.names.is_empty() || arguments.names.iter().any(|it| it == attack.name);
    let attacks: Vec<&Attack> = ALL.iter().filter(chosen).collect();
    let stage = Stage::default();
    let mut target = Target::new(&arguments.program);
    let mut failures = Vec::new();
    let mut tallies: BTreeMap<&'static str, Tally> = BTreeMap::new();
    let ends = Instant::now() + Duration::from_secs(arguments.seconds);
    stage.begin(target.start());
    stage::prepare(&stage);
    let honest = std::thread::scope(|scope| {
        let honest = scope.spawn(|| honest::run(&stage));
        for round in 0.. {
            let lasts = ROUND.min(ends.saturating_duration_since(Instant::now()));
            if lasts.is_zero() || failures.len() > 3 {
                break;
            }
            let seed = arguments.seed.wrapping_mul(1000).wrapping_add(round);
            let attackers: Vec<_> = attacks
                .iter()
                .map(|&attack| (attack.name, Attacker::new(&stage, seed, attack)))
                .map(|(name, attacker)| (name, scope.spawn(|| attacker.run())))
                .collect();
            std::thread::sleep(lasts);
            stage.end();
            failures.extend(target.kill());
            for (name, attacker) in attackers {
                match attacker.join() {
                    Ok(done) => tallies.entry(name).or_default().add(&done),
                    Err(_) => failures.push(format!("the attack {name} panicked")),
                }
            }
            stage.begin(target.start());
        }
        stage.finish();
        honest.join().expect("the honest client does not panic")
    });
    println!("kills: {}", target.kills);
    println!("peak of the server's memory: {} MB of {} MB", target.peak >> 20, MEMORY_BYTES_MAX >> 20);
    println!("honest client: {} calls, the slowest took {} ms", honest.calls, honest.slowest.as_millis());
    failures.extend(honest.failures.iter().cloned());
    failures.extend(honest::verify(&stage, &honest));
    failures.extend(target.stop());
    (tallies, failures)
}
