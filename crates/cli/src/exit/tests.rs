use super::*;
use alluvium_store::Error as StoreError;
use std::path::{Path, PathBuf};

fn code(error: impl Into<alluvium::Error>) -> u8 {
    Failure::from(error.into()).exit_code()
}

fn io(kind: io::ErrorKind) -> alluvium_env::Error {
    alluvium_env::Error::io("write", Path::new("file"), kind.into())
}

#[test]
fn the_librarys_errors_have_their_codes() {
    let path = PathBuf::from("db");
    let damage = alluvium_env::Error::corrupt(&path, 17, "a wrong checksum");
    assert_eq!(code(StoreError::from(damage)), DAMAGED);
    assert_eq!(code(StoreError::from(io(io::ErrorKind::StorageFull))), NO_SPACE);
    assert_eq!(code(StoreError::NoSpace(Box::new(StoreError::Closed))), NO_SPACE);
    assert_eq!(code(StoreError::from(io(io::ErrorKind::PermissionDenied))), FAILURE);
    assert_eq!(code(StoreError::NotADatabase(path.clone())), NOT_FOUND);
    assert_eq!(code(StoreError::ForeignDirectory(path.clone())), FAILURE);
    assert_eq!(code(StoreError::InUse(path.clone())), IN_USE);
    assert_eq!(code(StoreError::PartitionCount { path: path.clone(), found: 3, requested: 2 }), USAGE);
    assert_eq!(code(StoreError::InvalidOption { name: "memory_bytes", must_be: "more" }), USAGE);
    assert_eq!(code(StoreError::from(alluvium_env::Error::NewerFormat { path, found: 2, supported: 1 })), FAILURE);
    assert_eq!(code(alluvium::Error::DuplicateKey { collection: "c".into(), id: "1".into() }), DUPLICATE);
    assert_eq!(code(alluvium::Error::NoSuchCollection { name: "c".into(), nearest: None }), NOT_FOUND);
    assert_eq!(code(alluvium::Error::CollectionExists("c".into())), FAILURE);
    assert_eq!(code(alluvium::Error::Json("no JSON".into())), FAILURE);
}

#[test]
fn a_file_that_is_not_there_is_not_found() {
    assert_eq!(Failure::from(io(io::ErrorKind::NotFound)).exit_code(), NOT_FOUND);
    assert_eq!(Failure::from(io(io::ErrorKind::StorageFull)).exit_code(), NO_SPACE);
    assert_eq!(Failure::io("open", Path::new("x"), &io::ErrorKind::NotFound.into()).exit_code(), NOT_FOUND);
}

#[test]
fn a_closed_output_is_no_error_and_says_nothing() {
    let failure = Failure::stdout(&io::ErrorKind::BrokenPipe.into());
    assert_eq!((failure.exit_code(), failure.to_string()), (OK, String::new()));
    assert_eq!(Failure::stdout(&io::ErrorKind::StorageFull.into()).exit_code(), NO_SPACE);
}

#[test]
fn help_and_page_document_every_code() {
    let page = include_str!("../../../../docs/ERRORS.md");
    for code in [OK, FAILURE, USAGE, NOT_FOUND, DUPLICATE, DAMAGED, IN_USE, NO_SPACE, INTERRUPTED] {
        assert!(page.contains(&format!("| {code} |")), "{code}");
        assert!(HELP.contains(&format!("{code:>5}  ")), "{code}");
    }
}
