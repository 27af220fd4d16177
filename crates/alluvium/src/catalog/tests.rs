use super::*;

#[test]
fn a_description_reads_back_and_nothing_else_does() {
    let name = FullName::parse("shop.orders").unwrap();
    let bytes = describe_documents(&name, TreeId(300));
    assert_eq!(read_description(&bytes), Some((name, TreeId(300))));
    for cut in 0..bytes.len() {
        assert_eq!(read_description(&bytes[..cut]), None);
    }
    assert_eq!(read_description(&[SYSTEM]), None);
}

#[test]
fn the_nearest_name_is_one_that_may_be_meant() {
    let nearest = |wanted: &str| {
        let there: Vec<_> = ["main.ünï", "main.comments", "archive.posts"].map(|n| FullName::parse(n).unwrap()).into();
        match no_such_collection(&FullName::parse(wanted).unwrap(), there.iter()) {
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
