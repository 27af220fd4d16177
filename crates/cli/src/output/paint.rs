//! JSON in colours.

const NAME: &str = "\x1b[34m";
const STRING: &str = "\x1b[32m";
const NUMBER: &str = "\x1b[36m";
const WORD: &str = "\x1b[35m";
const PLAIN: &str = "\x1b[0m";

/// Colours names, strings, numbers, and `true`, `false`, `null` in JSON text. The text itself does
/// not change.
pub(super) fn paint(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 2);
    let mut at = 0;
    while let Some(&first) = json.get(at) {
        let rest = &json[at..];
        let (len, colour) = match first {
            b'"' => {
                let len = string(rest);
                let is_name = rest[len..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
                (len, if is_name { NAME } else { STRING })
            }
            b'-' | b'0'..=b'9' => (run(rest, |byte| b"+-.eE0123456789".contains(&byte)), NUMBER),
            b'a'..=b'z' => (run(rest, |byte| byte.is_ascii_lowercase()), WORD),
            _ => (1, ""),
        };
        out.extend_from_slice(colour.as_bytes());
        out.extend_from_slice(&rest[..len]);
        out.extend_from_slice(if colour.is_empty() { b"" } else { PLAIN.as_bytes() });
        at += len;
    }
    out
}

/// The length of a string with its quotes.
fn string(text: &[u8]) -> usize {
    let mut escaped = false;
    let end = text.iter().skip(1).position(|byte| {
        let is_end = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        is_end
    });
    end.map_or(text.len(), |end| end + 2)
}

fn run(text: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|byte| !belongs(*byte)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests;
