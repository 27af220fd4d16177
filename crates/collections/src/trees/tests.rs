use super::*;

#[test]
fn a_description_reads_back_and_nothing_else_does() {
    let name = FullName::parse("shop.orders").unwrap();
    let bytes = describe_documents(&name, TreeId(300));
    assert_eq!(read_documents(&bytes), Some((name, TreeId(300))));
    for cut in 0..bytes.len() {
        assert_eq!(read_documents(&bytes[..cut]), None);
    }
    assert_eq!(read_documents(&[SYSTEM]), None);
}
