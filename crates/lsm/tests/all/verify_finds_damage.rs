//! A flipped bit anywhere in a sorted file is found by `verify`, which names the file and
//! continues.

use crate::common::{DIR, Db, key, tiny_options};
use alluvium_env::{Error, OpenMode};
use std::path::Path;

#[test]
fn one_damaged_file_among_several() {
    let mut db = Db::new(tiny_options());
    let mut rng = fastrand::Rng::with_seed(3);
    for i in 0..600u32 {
        let value: Vec<u8> = (0..40).map(|_| rng.u8(..)).collect();
        db.put(&key(&format!("{i:06}")), &value);
    }
    db.flush();
    let files = db.partition.files();
    assert!(files.len() > 3);
    let path = Path::new(DIR).join(format!("{:08}.sst", files[1].meta.number));
    let file = db.env.fs.open(&path, OpenMode::ReadWrite).unwrap();
    let len = file.len().unwrap();
    for at in (0..len).step_by(61) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_at(&[byte[0] ^ 4], at).unwrap();
        // A new process: nothing is cached.
        let again = Db::open(db.env.clone(), db.options.clone(), 0).unwrap();
        let verified = again.partition.verify();
        let named = |e: &Error| matches!(e, Error::Corrupt { path: found, .. } | Error::NewerFormat { path: found, .. } if *found == path);
        assert!(verified.damage.len() == 1 && named(&verified.damage[0]), "byte {at}: {verified:?}");
        assert_eq!(verified.files, files.len() - 1, "the others were read");
        drop(again);
        file.write_at(&byte, at).unwrap();
    }
    let again = Db::open(db.env.clone(), db.options.clone(), 0).unwrap();
    assert!(again.partition.verify().damage.is_empty());
}

#[test]
fn files_that_change_places_are_found() {
    let mut db = Db::new(tiny_options());
    for round in 0..2 {
        db.put(&key(&format!("{round}")), b"same size");
        db.flush();
    }
    let paths: Vec<_> = db.sst_names().iter().map(|name| Path::new(DIR).join(name)).collect();
    let aside = Path::new(DIR).join("aside");
    db.env.fs.rename(&paths[0], &aside).unwrap();
    db.env.fs.rename(&paths[1], &paths[0]).unwrap();
    db.env.fs.rename(&aside, &paths[1]).unwrap();
    let again = Db::open(db.env.clone(), db.options.clone(), 0).unwrap();
    assert_eq!(again.partition.verify().damage.len(), 2);
    let mut value = Vec::new();
    assert!(again.partition.view().get(&key("0"), 9, &mut value).is_err(), "never served");
}
