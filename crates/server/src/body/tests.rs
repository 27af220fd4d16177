use super::*;
use alluvium::doc;

#[test]
fn a_body_has_the_fields_of_its_map() {
    // "ab" and "cb" have different bits, "ab" and "Ab" the same.
    let map = doc! {"find": "pets", "ab": 1, "": true, "limit": 2, "limit": 3};
    let body = Body::new(map.clone());
    for name in ["find", "ab", "", "limit", "cb", "Ab", "lsid", "$db", "filter", "ä"] {
        assert_eq!(body.get(name), map.get(name), "{name}");
        assert_eq!(body.contains(name), map.contains(name), "{name}");
        assert_eq!(body.integer(name), map.integer(name), "{name}");
    }
    assert_eq!((bit("ab") == bit("cb"), bit("ab") == bit("Ab")), (false, true));
    assert_eq!(body.shared().as_ref(), &map);
}

#[test]
fn names_of_one_request_have_different_bits() {
    let names = ["find", "filter", "limit", "singleBatch", "$db", "lsid", "$clusterTime"];
    let bits = names.iter().fold(0, |bits, name| bits | bit(name));
    assert_eq!(bits.count_ones() as usize, names.len());
    let missing = ["readConcern", "writeConcern", "maxTimeMS", "txnNumber", "collectionUUID", "hint", "collation"];
    assert!(missing.iter().all(|name| bits & bit(name) == 0));
}
