use super::*;
use clap::Parser;
use std::path::Path;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

fn verify(path: &Path) -> Args {
    Line::parse_from([Path::new("verify"), path]).args
}

/// If the check itself fails, the database could still be opened. The failure must not be reported as "no damage".
#[test]
fn what_fails_after_opening_is_told_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    Database::open(&path).unwrap().close().unwrap();
    let io = || alluvium_env::Error::io("read", &path, std::io::Error::other("the cable is out"));
    let env = Env::os();
    let ended =
        verify(&path).opened(&env, |_| Err(Failure::from(alluvium::Error::from(alluvium_store::Error::from(io())))));
    let Err(failure) = ended else { panic!("the check had failed") };
    assert!(failure.to_string().contains("the cable is out"), "{failure}");
    assert_eq!(failure.exit_code(), 1);
    assert!(verify(&path).opened(&env, |_| Ok(Found::default())).is_ok());
}

/// The check of a large database may take longer than the default maximum age of snapshots.
#[test]
fn the_check_is_not_ended_by_the_age_of_its_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    Database::open(&path).unwrap().close().unwrap();
    let mut age = Duration::ZERO;
    let found = verify(&path).opened(&Env::os(), |database| {
        age = database.store().options().snapshot_max_age;
        Ok(Found::default())
    });
    assert!(found.is_ok() && age >= Duration::from_secs(30 * 24 * 3600), "{age:?}");
}
