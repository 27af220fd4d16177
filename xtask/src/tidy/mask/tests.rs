use super::*;

fn code(text: &str) -> String {
    mask(text).code
}

#[test]
fn comments_leave_the_code() {
    let masked = mask("a // b \"c\"\nd /* e /* f */ g */ h");
    assert_eq!(masked.code, format!("a{}\nd{}h", " ".repeat(9), " ".repeat(19)));
    assert_eq!(masked.comments, "  // b \"c\"\n  /* e /* f */ g */  ");
}

#[test]
fn literals_are_neither_code_nor_comment() {
    for literal in [r#""fn \" // x""#, r###"r#"fn " // x"#"###, r#"b"fn \\""#, r##"br"fn // x""##] {
        let text = format!("let a = {literal}; b");
        let masked = mask(&text);
        assert!(!masked.code.contains("fn"), "{literal}: {}", masked.code);
        assert!(masked.code.ends_with("; b"), "{literal}: {}", masked.code);
        assert_eq!(masked.comments.trim(), "", "{literal}");
        assert_eq!(masked.code.len(), text.len());
    }
}

#[test]
fn characters_and_lifetimes_are_distinguished() {
    assert_eq!(code("f('{', '\\'', 'é', b'}') {"), "f(' ', '  ', '  ', b' ') {");
    assert_eq!(code("fn f<'a>(x: &'a str) -> X<'_> {"), "fn f<'a>(x: &'a str) -> X<'_> {");
    assert_eq!(code("'\\u{7b}' x"), "'      ' x");
}

#[test]
fn raw_names_are_no_strings() {
    assert_eq!(code("r#type + \"x\""), "r#type + \" \"");
    assert_eq!(code("for r in b {}"), "for r in b {}");
}

#[test]
fn broken_text_ends() {
    for text in ["\"open", "/* open", "r#\"open", "'", "'\\", "b'", "\"\\", "é'é"] {
        assert_eq!(code(text).len(), text.len(), "{text}");
    }
}

#[test]
fn parts_of_words_are_not_found() {
    let places = |text: &'static str, word: &'static str| find_words(text, word).collect::<Vec<_>>();
    assert_eq!(places("mod model a_mod mod", "mod"), [0, 16]);
    assert_eq!(places("todo! my_todo!", "todo!"), [0]);
    assert_eq!(places("(/a/b /a/c", "/a/"), [1, 6]);
}
