use super::*;
use std::path::PathBuf;

#[test]
fn the_holder_of_a_lock_is_read_from_the_list_of_locks() {
    let line = "12: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF";
    assert_eq!(pid_of(line, 1234), Some((4711, false)));
    let line = line.replace("WRITE", "READ");
    assert_eq!(pid_of(&line, 1234), Some((4711, true)));
    let line = &line;
    assert_eq!(pid_of(line, 123), None);
    assert_eq!(pid_of("1: -> FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF", 1234), None, "it only waits");
    assert_eq!(pid_of("1: OFDLCK ADVISORY  WRITE -1 08:01:1234 0 EOF", 1234), None);
    assert_eq!(pid_of("", 1234), None);
}

#[test]
fn damage_is_answered_with_what_finds_and_saves() {
    let damage = || alluvium_env::Error::corrupt(Path::new("db/p000/1.sst"), 17, "a wrong checksum");
    let advice = of(&Error::Store(damage().into())).expect("advice");
    assert!(advice.contains("alluvium verify") && advice.contains("alluvium repair"), "{advice}");
    let advice = of(&Error::ReadOnly(damage().into())).expect("advice");
    assert!(advice.contains("alluvium verify") && advice.contains("alluvium build"), "{advice}");
}

#[test]
fn the_librarys_own_messages_name_neither_commands_nor_options() {
    let duplicate =
        Error::LoadDuplicate { input: "in".into(), what: "line", line: 1, collection: "main.c".into(), id: "1".into() };
    for error in [
        duplicate,
        Error::NoSuchIndex { collection: "main.c".into(), index: "a_1".into() },
        Error::NoSuchCollection { name: "c".into(), nearest: None },
        Error::Store(StoreError::InUse(PathBuf::from("db"))),
    ] {
        let text = error.to_string();
        assert!(!text.contains("--") && !text.contains('`'), "{text}");
        assert!(of(&error).is_some(), "{text}");
    }
}
