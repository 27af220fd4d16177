#![cfg(not(feature = "shuttle"))]

use super::*;
use crate::Env;

fn read(env: &Env, path: &str) -> io::Result<String> {
    let mut text = String::new();
    FileReader::new(env.fs.open(Path::new(path), OpenMode::Read)?).read_to_string(&mut text)?;
    Ok(text)
}

fn write(env: &Env, path: &str, text: &str, finish: bool) {
    let mut file = WholeFile::create(&env.fs, Path::new(path)).unwrap();
    for piece in text.as_bytes().chunks(3) {
        file.write_all(piece).unwrap();
    }
    if finish {
        file.finish().unwrap();
    }
}

fn names(env: &Env) -> Vec<String> {
    env.fs.list(Path::new("")).unwrap().into_iter().map(|entry| entry.name).collect()
}

#[test]
fn a_file_has_its_name_when_it_is_whole() {
    let env = Env::in_memory(1);
    write(&env, "a", "the first", true);
    assert_eq!((read(&env, "a").unwrap().as_str(), names(&env)), ("the first", vec!["a".to_owned()]));
    write(&env, "a", "the second", false);
    assert_eq!((read(&env, "a").unwrap().as_str(), names(&env)), ("the first", vec!["a".to_owned()]));
    env.fs.open(Path::new("a.part"), OpenMode::CreateNew).unwrap();
    write(&env, "a", "the third", true);
    assert_eq!((read(&env, "a").unwrap().as_str(), names(&env)), ("the third", vec!["a".to_owned()]));
}

#[test]
fn errors_come_through_streams() {
    let error = Error::io("write", Path::new("a"), io::ErrorKind::StorageFull.into());
    let through = io::Error::from(error.clone());
    assert_eq!(through.kind(), io::ErrorKind::StorageFull);
    assert_eq!(Error::of_stream("read", Path::new("b"), through).to_string(), error.to_string());
    let other = Error::of_stream("read", Path::new("b"), io::ErrorKind::UnexpectedEof.into());
    assert!(other.to_string().starts_with("cannot read b: "), "{other}");
}
