use super::*;

#[test]
fn the_worst_second_is_compared_with_the_median() {
    let second = |get| Sample { get, ..Sample::default() };
    let samples: Vec<Sample> = [1, 100, 90, 50, 110].map(second).to_vec();
    assert_eq!(worst_over_median(&samples), 50.0 / 100.0);
    assert_eq!(worst_over_median(&[]), 1.0);
}

#[test]
fn a_run_ends_after_its_operations_and_counts_them() {
    let plan = Plan { name: "test".into(), threads: 3, duration: Duration::from_secs(60), operations: 1000 };
    let clock = alluvium_env::Env::os().clock;
    let outcome = run(&plan, &clock, &|| (0, 0.0), &|worker| {
        while worker.goes_on() {
            worker.timed(|| ());
            Counters::add(&worker.counters.get);
        }
        Ok::<(), ()>(())
    });
    assert_eq!(outcome.unwrap().operations, 1000);
}

#[test]
fn an_error_of_one_thread_ends_all() {
    let plan = Plan { name: "test".into(), threads: 3, duration: Duration::from_secs(60), operations: 0 };
    let clock = alluvium_env::Env::os().clock;
    let outcome = run(&plan, &clock, &|| (0, 0.0), &|worker| {
        while worker.goes_on() {
            if worker.index == 1 {
                return Err("broken");
            }
        }
        Ok(())
    });
    assert_eq!(outcome.unwrap_err(), "broken");
}
