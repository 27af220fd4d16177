use super::*;
use alluvium::{Database, Map, Value};

const SEED: u64 = 3;
const DOCS: u64 = 200;

fn with_comments(test: impl FnOnce(&Collection, &[String])) {
    let dir = tempfile::tempdir().expect("a directory");
    let database = Database::open(dir.path().join("db")).expect("a new database");
    let collection = database.collection("c");
    crate::scenarios::documents::load(&collection, DOCS, SEED).readers(1).run().expect("loaded");
    let id = |document: alluvium::Result<Document>| Some(document.ok()?.id().as_str()?.to_owned());
    let ids: Vec<String> = collection.scan().run().expect("a scan").filter_map(id).collect();
    test(&collection, &ids);
}

#[test]
fn what_is_as_generated_is_counted() {
    with_comments(|collection, _| {
        assert!(matches!(check(collection, SEED, DOCS, &Changes::default()), Ok(DOCS)));
        assert!(check(collection, SEED, DOCS + 1, &Changes::default()).is_err(), "one is missing at the end");
        assert!(check(collection, SEED + 1, 1, &Changes::default()).is_err(), "other comments");
    });
}

#[test]
fn changes_are_expected_or_found() {
    with_comments(|collection, ids| {
        for id in [&ids[5], &ids[7]] {
            let update = |draft: &mut Draft| {
                raise_score_of(draft)?;
                Ok(true)
            };
            assert!(collection.modify(id.as_str(), update).expect("written"));
        }
        for id in [&ids[0], &ids[8], &ids[9], &ids[DOCS as usize - 1]] {
            assert!(
                collection
                    .find_one_and_delete(Map::from([("_id", Value::from(id.as_str()))]))
                    .run()
                    .expect("written")
                    .is_some()
            );
        }
        let set = |places: &[usize]| places.iter().map(|at| ids[*at].clone()).collect::<HashSet<_>>();
        let last = DOCS as usize - 1;
        let changes = |updated: &[usize], deleted: &[usize]| Changes { updated: set(updated), deleted: set(deleted) };
        let all = changes(&[5, 7], &[0, 8, 9, last]);
        assert!(matches!(check(collection, SEED, DOCS, &all), Ok(n) if n == DOCS - 4));
        for forgotten in [
            changes(&[5], &[0, 8, 9, last]),
            changes(&[5, 7, 6], &[0, 8, 9, last]),
            changes(&[5, 7], &[8, 9, last]),
            changes(&[5, 7], &[0, 9, last]),
            changes(&[5, 7], &[0, 8, 9]),
            changes(&[5, 7], &[0, 8, 9, 10, last]),
        ] {
            assert!(check(collection, SEED, DOCS, &forgotten).is_err());
        }
    });
}
