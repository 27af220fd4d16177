use super::*;
use crate::scenarios::documents;

#[test]
fn questions_find_what_was_loaded() {
    let db = Database::builder().env(alluvium_env::Env::in_memory(1)).partitions(2).open("db").unwrap();
    let comments = db.collection("comments");
    documents::load(&comments, 2000, 1).run().unwrap();
    let settings = Settings { rounds: 20, ..Settings::default() };
    let asked = run(&db, &comments, &settings).unwrap();
    assert_eq!(asked.len(), 10);
    assert!(asked.iter().all(|one| one.returned >= 1.0), "{}", table(&asked));
    let stale: f64 = asked[5..].iter().map(|one| one.stale_per_returned).sum();
    assert!(stale > 0.0, "rewriting leaves stale entries:\n{}", table(&asked));
    assert_eq!(asked[..5].iter().map(|one| one.stale_per_returned).sum::<f64>(), 0.0);
}
