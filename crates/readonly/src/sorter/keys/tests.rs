use super::*;
use std::collections::BTreeSet;
use std::path::Path;

fn proceed(_: u64) -> Result<()> {
    Ok(())
}

#[test]
fn a_set_has_the_keys_that_were_added() {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new("db")).unwrap();
    let mut set = KeySet::new(&env, "db/sort-1".into());
    let mut rng = fastrand::Rng::with_seed(7);
    let mut key = move || {
        let mut key = rng.u16(..3000).to_be_bytes().to_vec();
        key.resize(key.len() + rng.usize(..3) * rng.usize(..400), 1);
        key
    };
    let mut expected: BTreeSet<Vec<u8>> = BTreeSet::new();
    for round in 0..60 {
        let asked: Vec<Vec<u8>> = (0..200).map(|_| key()).collect::<BTreeSet<_>>().into_iter().collect();
        let found = set.contains(&asked, proceed).unwrap();
        let are_there: Vec<bool> = asked.iter().map(|key| expected.contains(key)).collect();
        assert_eq!(found, are_there, "{round}");
        let new: Vec<Vec<u8>> = asked.into_iter().zip(found).filter(|(_, found)| !found).map(|(key, _)| key).collect();
        set.add(&new, proceed).unwrap();
        expected.extend(new);
        // There are at most three runs for each digit of the number of additions in base four.
        assert!(set.runs.len() <= 3 * 3, "{}", set.runs.len());
    }
    assert!(env.fs.list(Path::new("db/sort-1")).unwrap().len() <= 9);
    drop(set);
    assert!(env.fs.list(Path::new("db")).unwrap().is_empty(), "no file is left");
}

#[test]
fn a_set_ends_when_it_is_told_to() {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new("db")).unwrap();
    let keys: Vec<[u8; 4]> = (0..5000u32).map(u32::to_be_bytes).collect();
    for calls in [0u32, 1, 20, 100] {
        let left = std::cell::Cell::new(calls);
        let few = |_: u64| match left.get().checked_sub(1) {
            Some(less) => {
                left.set(less);
                Ok(())
            }
            None => Err(Error::NotEmpty("enough".into())),
        };
        let mut set = KeySet::new(&env, "db/sort-1".into());
        match set.add(&keys, few) {
            Ok(()) => assert!(set.contains(&keys, few).is_err(), "{calls}"),
            Err(_) => assert!(calls < 80, "{calls}"),
        }
        drop(set);
        assert!(env.fs.list(Path::new("db")).unwrap().is_empty());
    }
}
