use super::*;
use crate::plan::{Experiment, Parameters};
use std::collections::BTreeMap;

fn experiment(name: &str) -> Experiment {
    Experiment {
        plan: String::new(),
        plan_title: String::new(),
        name: name.to_owned(),
        title: String::new(),
        program: String::new(),
        prepare: None,
        command: Vec::new(),
        warm_up: None,
        fresh: false,
        cold: false,
        repeats: 3,
        values: Parameters::new(),
        grid: BTreeMap::new(),
        charts: Vec::new(),
    }
}

#[test]
fn the_time_left_is_that_of_like_trials() {
    let (one, other) = (experiment("one"), experiment("other"));
    let trial = |experiment| Trial { experiment, number: 0, parameters: Parameters::new(), repeat: 0, seed: 0 };
    let (first, second) = (trial(&one), trial(&other));
    let mut progress = Progress::new(&[&first, &first, &first, &second]);
    assert_eq!(progress.estimate(), "");
    progress.end(&first, Duration::from_secs(10), None);
    assert_eq!(progress.estimate(), ", 30 s left", "two of the same, and one that may take as long");
    progress.learn("other", 200.0);
    assert_eq!(progress.estimate(), ", 3 min left");
    progress.end(&second, Duration::from_secs(200), Some("killed"));
    progress.end(&first, Duration::from_secs(20), None);
    assert_eq!(progress.estimate(), ", 15 s left");
    progress.end(&first, Duration::from_secs(20), None);
    assert_eq!(progress.estimate(), "");
}
