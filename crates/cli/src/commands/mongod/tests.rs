use super::*;

fn words(line: &str) -> Vec<OsString> {
    line.split(' ').map(OsString::from).collect()
}

#[test]
fn the_name_of_the_program_chooses_the_command() {
    assert_eq!(by_name(words("/opt/bin/mongod --port 1")), words("alluvium mongod --port 1"));
    assert_eq!(by_name(words("alluvium get mongod")), words("alluvium get mongod"));
}

#[test]
fn configuration_files_are_refused_by_name() {
    for line in ["alluvium mongod --config a.conf", "alluvium mongod -f a.conf", "mongod mongod --config=a"] {
        let failure = refuse_config(&words(line)).expect_err(line);
        assert!(failure.to_string().contains("--config"), "{failure}");
    }
    assert!(refuse_config(&words("alluvium serve my.db --config a.toml")).is_ok());
}
