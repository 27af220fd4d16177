//! `$setWindowFields` over partitions in memory and in files.

use super::*;

/// The fields of documents, made from their `_id`s: numbers, some of which are missing, and a date.
const FIELDS: &str = r#"{"$set": {
    "x": {"$multiply": ["$_id", 0.5]},
    "n": {"$mod": [{"$multiply": ["$_id", 7919]}, 1000]},
    "some": {"$cond": [{"$lt": [{"$mod": ["$_id", 50]}, 3]}, "$_id", null]},
    "day": {"$add": [{"$toDate": {"$toLong": 0}}, {"$multiply": ["$_id", 3600000]}]}
}}"#;

/// Functions of each kind, over windows of each kind.
const FUNCTIONS: [&str; 22] = [
    r#"{"$sum": "$n"}"#,
    r#"{"$sum": "$n", "window": {"documents": ["unbounded", "current"]}}"#,
    r#"{"$avg": "$n", "window": {"documents": [-20, 10]}}"#,
    r#"{"$push": "$n", "window": {"documents": [2, 5]}}"#,
    r#"{"$max": "$n", "window": {"range": [-7.5, 3]}}"#,
    r#"{"$count": {}, "window": {"range": ["unbounded", 4]}}"#,
    r#"{"$min": "$n", "window": {"range": [-3, "current"]}}"#,
    r#"{"$sum": "$n", "window": {"range": [10000, 20000]}}"#,
    r#"{"$stdDevSamp": "$n", "window": {"documents": [-3, 0]}}"#,
    r#"{"$topN": {"n": 2, "sortBy": {"n": 1}, "output": "$_id"}, "window": {"documents": [-9, 9]}}"#,
    r#"{"$rank": {}}"#,
    r#"{"$denseRank": {}}"#,
    r#"{"$documentNumber": {}}"#,
    r#"{"$shift": {"output": "$n", "by": 100, "default": "none"}}"#,
    r#"{"$shift": {"output": "$n", "by": -3}}"#,
    r#"{"$expMovingAvg": {"input": "$n", "N": 5}}"#,
    r#"{"$linearFill": "$some"}"#,
    r#"{"$locf": "$some"}"#,
    r#"{"$derivative": {"input": "$n"}, "window": {"documents": [-2, 1]}}"#,
    r#"{"$integral": {"input": "$n"}, "window": {"documents": ["unbounded", "current"]}}"#,
    r#"{"$integral": {"input": "$n"}, "window": {"range": [-4, 9]}}"#,
    r#"{"$covarianceSamp": ["$x", "$n"], "window": {"documents": [-10, 10]}}"#,
];

fn stages(partition: &str, sort: &str, functions: &[&str]) -> String {
    let outputs: Vec<String> = functions.iter().enumerate().map(|(n, f)| format!(r#""f{n}": {f}"#)).collect();
    let stage = format!(
        r#"{{"$setWindowFields": {{"partitionBy": {partition}, "sortBy": {{"{sort}": 1}}, "output": {{{}}}}}}}"#,
        outputs.join(", ")
    );
    format!("[{FIELDS}, {stage}]")
}

/// Settings with this much memory for a stage that may use files.
fn small(world: &World, stage_bytes_max: usize) -> Settings {
    Settings { allow_disk_use: true, stage_bytes_max, ..world.settings() }
}

#[test]
fn fields_of_partitions_in_files_are_those_in_memory() {
    let in_days = r#"{"$sum": "$n", "window": {"range": [-2, 1], "unit": "day"}}"#;
    for (partition, sort, functions) in [
        ("null", "x", &FUNCTIONS[..]),
        (r#"{"$lt": ["$_id", 20]}"#, "x", &FUNCTIONS[..]),
        (r#"{"$mod": ["$_id", 3]}"#, "x", &FUNCTIONS[..]),
        ("null", "day", &[in_days, FUNCTIONS[13]][..]),
    ] {
        let stages = stages(partition, sort, functions);
        let large = World::new();
        let settings = Settings { stage_bytes_max: 1 << 30, memory_bytes_max: 1 << 30, ..large.settings() };
        let expected = all(large.run_with(1500, &stages, settings)).unwrap();
        assert_eq!(expected.len(), 1500);
        for bytes in [1, 100_000] {
            let world = World::new();
            assert_eq!(
                all(world.run_with(1500, &stages, small(&world, bytes))).unwrap(),
                expected,
                "{bytes}: {stages}"
            );
            assert!(world.0.filed_blocks.load(Ordering::Relaxed) > 1, "{bytes}: {stages}");
            assert_eq!(world.0.held.load(Ordering::Relaxed), 0);
        }
    }
}

#[test]
fn a_partition_in_a_file_takes_the_memory_of_a_stage() {
    let functions = [FUNCTIONS[1], FUNCTIONS[4], FUNCTIONS[13], FUNCTIONS[16], FUNCTIONS[17], FUNCTIONS[19]];
    let world = World::new();
    let bytes_max = 500_000;
    let made = all(world.run_with(20_000, &stages("null", "x", &functions), small(&world, bytes_max))).unwrap();
    assert_eq!(made.len(), 20_000);
    // The memory has three parts: the files of the sort, the partition, and the functions.
    let held = world.0.held_most.load(Ordering::Relaxed);
    assert!(held < 2 * bytes_max + (100 << 10), "{held}");
    let (filed, read) = (world.0.filed_blocks.load(Ordering::Relaxed), world.0.read_blocks.load(Ordering::Relaxed));
    assert!(filed > 40 && read == filed, "{read} reads of {filed} blocks");
}

#[test]
fn a_partition_without_files_ends_at_the_limit() {
    let world = World::new();
    let settings = Settings { allow_disk_use: false, ..small(&world, 100_000) };
    match all(world.run_with(1500, &stages("null", "x", &FUNCTIONS), settings)) {
        Err(Failure::Pipeline(error)) => assert_eq!(error.code() as i32, 292, "{error}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(world.0.filed_blocks.load(Ordering::Relaxed), 0);
}

/// At the stop, nothing is read from the input any more, and few documents are returned.
#[test]
fn a_stop_ends_functions_over_partitions_in_files() {
    for function in [
        r#"{"$sum": "$n"}"#,
        r#"{"$linearFill": {"$cond": [{"$in": ["$_id", [0, 19999]]}, 1, null]}}"#,
        r#"{"$count": {}, "window": {"range": [0, 1000000]}}"#,
    ] {
        let world = World::new();
        let mut execution = world.run_with(20_000, &stages("null", "x", &[function]), small(&world, 100_000));
        // For the first document, all documents of the partition were read.
        execution.next_record().unwrap();
        world.0.stop.store(true, Ordering::Relaxed);
        let before = world.0.read_blocks.load(Ordering::Relaxed);
        assert!(matches!(execution.next_record(), Err(Failure::Interrupted(Interrupted::Stopped))), "{function}");
        assert_eq!(world.0.read_blocks.load(Ordering::Relaxed), before, "{function}");
    }
    // The stop occurs in the middle of one document.
    let world = World::new();
    world.0.stops_at_block.store(20, Ordering::Relaxed);
    let stages = stages("null", "x", &[r#"{"$sum": "$n"}"#]);
    match all(world.run_with(20_000, &stages, small(&world, 100_000))) {
        Err(Failure::Interrupted(Interrupted::Stopped)) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(world.0.read_blocks.load(Ordering::Relaxed), 20);
}
