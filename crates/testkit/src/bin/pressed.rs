//! The process of a pressure scenario: `pressed SCENARIO DIRECTORY AMOUNT` prints the measured
//! figures.

#![allow(clippy::disallowed_methods)]

use alluvium_testkit::{marks, pressure};
use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, scenario, path, amount] = arguments.as_slice() else { panic!("pressed SCENARIO DIRECTORY AMOUNT") };
    let figures = pressure::run(scenario, Path::new(path), amount.parse().expect("an amount"));
    for mark in marks::all() {
        println!("rare\t{}\t{}", mark.description(), mark.hits());
    }
    println!("figures {figures}");
}
