use super::*;

#[test]
fn controls_within_json_are_escaped_for_a_terminal() {
    let escaped = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        escape_in_json(&mut bytes);
        String::from_utf8(bytes).expect("UTF-8")
    };
    assert_eq!(escaped("{\"a\":\"\u{9b}31mred\u{7f}\"}"), r#"{"a":"\u009b31mred\u007f"}"#);
    let plain = "{\"a\":\"\u{a0}é\\u001b\"}";
    assert_eq!(escaped(plain), plain);
    let value: serde_json::Value = serde_json::from_str(&escaped("\"\u{80}\u{9f}\"")).expect("JSON");
    assert_eq!(value, "\u{80}\u{9f}");
}
