use super::*;

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
