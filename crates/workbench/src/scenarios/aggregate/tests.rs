use super::*;

#[test]
fn pipelines_read_comments() {
    let db = alluvium::Database::in_memory().unwrap();
    let comments = db.collection("comments");
    crate::scenarios::documents::load(&comments, 500, 1).run().unwrap();
    let all = run(&comments, &Settings { rounds: 1, only: Vec::new() }).unwrap();
    assert_eq!(all.len(), PIPELINES.len());
    let of = |name: &str| all.iter().find(|one| one.name == name).unwrap();
    assert_eq!((of("top").returned, of("lookup").returned, of("lookup").documents), (10, 1, 500));
    assert_eq!((of("sort-fields").returned, of("distinct").returned), (500, 1));
    assert!(of("group-few").returned > 1 && of("group-few").returned <= of("group-many").returned);
}
