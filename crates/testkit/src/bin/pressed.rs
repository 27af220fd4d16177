//! The process of a scenario under pressure: `pressed SCENARIO DIRECTORY AMOUNT` prints what it took.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use alluvium_env::marks::{self, Rare};
use alluvium_testkit::pressure;
use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, scenario, path, amount] = arguments.as_slice() else { panic!("pressed SCENARIO DIRECTORY AMOUNT") };
    let figures = pressure::run(scenario, Path::new(path), amount.parse().expect("an amount"));
    for rare in Rare::ALL {
        println!("rare\t{}\t{}", rare.words(), marks::count(*rare));
    }
    println!("figures {figures}");
}
