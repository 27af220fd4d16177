use super::*;
use crate::testing::Database;
use alluvium_store::Options;

#[test]
fn a_missing_collection_suggests_a_similar_name() {
    let nearest = |wanted: &str| {
        let names: Vec<_> = ["main.ünï", "main.comments", "archive.posts"].map(|n| FullName::parse(n).unwrap()).into();
        match no_such_collection(&FullName::parse(wanted).unwrap(), names.iter()) {
            Error::NoSuchCollection { nearest, .. } => nearest,
            other => panic!("{other}"),
        }
    };
    assert_eq!(nearest("coments").as_deref(), Some("main.comments"));
    assert_eq!(nearest("archiv.posts").as_deref(), Some("archive.posts"));
    assert_eq!(nearest("archive.post").as_deref(), Some("archive.posts"));
    assert_eq!(nearest("ünï2").as_deref(), Some("main.ünï"));
    for strange in ["nope", "orders", "archive.comments2", "x"] {
        assert_eq!(nearest(strange), None, "{strange}");
    }
}

/// The collections that a client expects are compared when the names change, not when a collection is looked up.
#[test]
fn a_rename_expects_the_collections_that_have_the_names_now() {
    let db = Database::with(Options::default());
    let [from, to, other] = ["from", "to", "other"].map(|name| db.collection(name));
    let number = |name: &FullName| Some(u64::from(db.engine.catalog.require(name).unwrap().documents.0));
    for collection in [&from, &to] {
        collection.put(1, "{}");
    }
    let catalog = &db.engine.catalog;
    let expected = ExpectedCollections { from: number(&from.name), to: number(&to.name) };
    catalog.drop(&to.name).unwrap();
    // The target does not exist at first, and then is another collection.
    assert!(!catalog.rename_expected(&from.name, &to.name, &expected, true).unwrap());
    to.put(2, "{}");
    assert!(!catalog.rename_expected(&from.name, &to.name, &expected, true).unwrap());
    let now = ExpectedCollections { to: number(&to.name), ..expected };
    assert!(catalog.rename_expected(&from.name, &to.name, &now, true).unwrap());
    assert_eq!(number(&to.name), expected.from);
    // Another collection has the name of the source.
    from.put(3, "{}");
    for replaces in [false, true] {
        assert!(!catalog.rename_expected(&from.name, &other.name, &expected, replaces).unwrap(), "{replaces}");
        assert!(catalog.find(&other.name).unwrap().is_none());
    }
    let now = ExpectedCollections { from: number(&from.name), to: None };
    assert!(catalog.rename_expected(&from.name, &other.name, &now, false).unwrap());
    assert_eq!(number(&other.name), now.from);
}
