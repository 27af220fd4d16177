use super::*;
use std::ffi::OsString;

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

/// The arguments with one configuration file.
fn expanded(line: &str, content: &str) -> Vec<OsString> {
    let read = |path: &Path| {
        assert_eq!(path, Path::new("a.conf"));
        Ok(content.to_owned())
    };
    expand(words(line), read).expect(line)
}

#[test]
fn the_name_of_the_program_chooses_the_command() {
    assert_eq!(by_name(words("/opt/bin/mongod --port 1")), words("alluvium mongod --port 1"));
    assert_eq!(by_name(words("alluvium get mongod")), words("alluvium get mongod"));
}

#[test]
fn arguments_without_effect_are_removed_with_their_values() {
    let line =
        "alluvium mongod --nojournal --port 1 --syncdelay 0 --wiredTigerJournalCompressor=snappy --quiet --replSet a";
    assert_eq!(expanded(line, ""), words("alluvium mongod --port 1 --replSet a"));
    // The arguments of other commands do not change.
    assert_eq!(expanded("alluvium get --quiet", ""), words("alluvium get --quiet"));
    assert_eq!(expanded("alluvium serve my.db --config a.toml", ""), words("alluvium serve my.db --config a.toml"));
}

#[test]
fn a_configuration_file_comes_before_the_arguments() {
    let content = "net:\n  port: 5\n";
    for line in [
        "alluvium mongod --port 6 --config a.conf",
        "alluvium mongod -f a.conf --port 6",
        "alluvium mongod --config=a.conf --port 6",
    ] {
        assert_eq!(expanded(line, content), words("alluvium mongod --port 5 --port 6"));
    }
    assert!(expand(words("alluvium mongod --config"), |_| Ok(String::new())).is_err());
}
