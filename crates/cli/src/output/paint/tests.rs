use super::*;

fn painted(json: &str) -> String {
    let text = String::from_utf8(paint(json.as_bytes())).expect("UTF-8");
    text.replace(NAME, "N(").replace(STRING, "S(").replace(NUMBER, "#(").replace(WORD, "W(").replace(PLAIN, ")")
}

#[test]
fn each_kind_has_its_colour() {
    assert_eq!(
        painted(r#"{"a" : ["b:", -1.5e3, true], "c":null}"#),
        r##"{N("a") : [S("b:"), #(-1.5e3), W(true)], N("c"):W(null)}"##
    );
}

#[test]
fn what_looks_like_an_end_within_a_string_is_none() {
    assert_eq!(painted(r#"["\"", "\\", 1]"#), r##"[S("\""), S("\\"), #(1)]"##);
}

#[test]
fn without_the_colours_it_is_the_same_text() {
    for json in ["", "\"", "\"\\", "{\"a\":", "tru", "[1,2", "{\"ключ\": \"значение\"}\n"] {
        let text = String::from_utf8(paint(json.as_bytes())).expect("UTF-8");
        let plain = [NAME, STRING, NUMBER, WORD, PLAIN].iter().fold(text, |text, colour| text.replace(colour, ""));
        assert_eq!(plain, json);
    }
}
