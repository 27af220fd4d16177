use super::*;

#[test]
fn names_split_at_the_first_dot() {
    let name = |s: &str| FullName::parse(s).unwrap().to_string();
    assert_eq!(name("comments"), "main.comments");
    assert_eq!(name("a.b"), "a.b");
    assert_eq!(name("a.b.c"), "a.b.c");
    assert_eq!(FullName::parse("a.b.c").unwrap().collection, "b.c");
}

#[test]
fn names_that_mongodb_refuses_are_refused() {
    for bad in ["", ".", "a.", ".a", "a b.c", "a$.c", "c$", "nul\0", "a..b", "x.system.y"] {
        assert!(FullName::parse(bad).is_err(), "{bad:?}");
    }
    // The full name is too long because `main.` is put in front.
    assert!(FullName::parse(&"x".repeat(251)).is_err());
    FullName::parse(&"x".repeat(250)).unwrap();
    FullName::parse("a.b.").unwrap();
    assert!(FullName::parse(&format!("{}.c", "x".repeat(64))).is_err());
    FullName::parse("Käse.日本").unwrap();
}

#[test]
fn only_the_collections_of_a_server_begin_with_system() {
    for good in ["admin.system.users", "admin.system.roles", "admin.system.version"] {
        assert_eq!(FullName::parse(good).unwrap().to_string(), good);
    }
    for bad in ["admin.system.users2", "admin.system.", "admin.system.views", "main.system.users", "a.system.roles"] {
        assert!(FullName::parse(bad).is_err(), "{bad}");
    }
}
