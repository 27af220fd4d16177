use crate::database::Database;
use alluvium_collections::names::FullName;

#[test]
fn a_collection_that_goes_meanwhile_keeps_no_other_from_being_dropped() {
    let db = Database::builder().env(alluvium_env::Env::in_memory(1)).open("db").unwrap();
    for name in ["shop.a", "shop.b", "shop.c", "other.d"] {
        db.create_collection(name).run().unwrap();
    }
    let shop = db.logical_database("shop");
    let listed = shop.collection_names().into_iter().map(|name| FullName::new("shop", &name).unwrap());
    let listed: Vec<_> = listed.collect();
    // Another thread may make these changes between the listing and the drops.
    shop.collection("a").drop().unwrap();
    db.rename_collection("shop.b", "other.b").unwrap();
    shop.drop_listed(listed).unwrap();
    assert!(shop.collection_names().is_empty());
    assert_eq!(db.logical_database("other").collection_names(), ["b", "d"]);
    db.create_view("shop.view", "a", "[]").run().unwrap();
    db.create_view("other.view", "d", "[]").run().unwrap();
    shop.drop().unwrap();
    let views: Vec<String> = db.views().into_iter().map(|(name, _)| name).collect();
    assert_eq!(views, ["other.view"]);
}
