use super::*;

#[test]
fn a_description_reads_back_and_nothing_else_does() {
    let name = FullName::parse("shop.orders").unwrap();
    let plain = describe_documents(&name, TreeId(300), &CollectionOptions::default());
    assert_eq!(read_documents(&plain), Some((name.clone(), TreeId(300))));
    assert_eq!(read_options(&plain), Some(CollectionOptions::default()));
    for cut in 0..plain.len() {
        assert_eq!(read_documents(&plain[..cut]), None);
    }
    let rules = alluvium_document::Map::from([("a", 1)]);
    let options = CollectionOptions::from_map(&alluvium_document::Map::from([("validator", rules)])).unwrap();
    let bytes = describe_documents(&name, TreeId(300), &options);
    assert_eq!(read_documents(&bytes), Some((name, TreeId(300))));
    assert_eq!(read_options(&bytes), Some(options));
    for cut in 0..bytes.len() {
        assert_eq!(read_options(&bytes[..cut]), None);
    }
    assert_eq!(read_options(&[bytes, vec![0]].concat()), None);
    assert_eq!(read_documents(&[SYSTEM]), None);
}
