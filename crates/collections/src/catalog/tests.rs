use super::*;

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
