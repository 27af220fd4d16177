//! An independent JSON parser that keeps the order of names and every digit of numbers.

/// A JSON value. Strings are stored without their escapes.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Object(Vec<(String, Json)>),
    Array(Vec<Json>),
    String(String),
    /// An integer as written, or a number with a fraction or an exponent in the form of [`exact`].
    Number(String),
    /// `true`, `false`, `null`.
    Word(&'static str),
}

impl Json {
    /// Parses one value; panics if the text is not a JSON value.
    pub fn read(text: &str) -> Self {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value();
        reader.blanks();
        assert_eq!(reader.at, text.len(), "text behind the value");
        value
    }

    pub fn fields(self) -> Vec<(String, Json)> {
        match self {
            Self::Object(fields) => fields,
            other => panic!("no object: {other:?}"),
        }
    }

    pub fn elements(self) -> Vec<Json> {
        match self {
            Self::Array(elements) => elements,
            other => panic!("no array: {other:?}"),
        }
    }

    /// The value on one line; strings have as few escapes as possible.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        match self {
            Self::Object(fields) => {
                out.push('{');
                for (at, (name, value)) in fields.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    out.push_str(&quoted(name));
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
            Self::Array(elements) => {
                out.push('[');
                for (at, value) in elements.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    value.write(out);
                }
                out.push(']');
            }
            Self::String(text) => out.push_str(&quoted(text)),
            Self::Number(text) => out.push_str(text),
            Self::Word(word) => out.push_str(word),
        }
    }
}

/// The same spelling for all numbers with a fraction or an exponent that have the same value: `0.00037` and `3.7e-4`
/// become `0.37e-3`. A store of numbers keeps the value, but not the spelling. Integers remain distinct from other
/// numbers.
fn exact(number: &str) -> String {
    if !number.contains(['.', 'e', 'E']) {
        return number.to_owned();
    }
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return format!("{sign}0.0");
    }
    let exponent: i64 = exponent.parse().expect("an exponent");
    let point = whole.len() as i64 - (digits.len() - significant.len()) as i64 + exponent;
    format!("{sign}0.{}e{point}", significant.trim_end_matches('0'))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn blanks(&mut self) {
        self.at = self.text.len() - self.text[self.at..].trim_start_matches([' ', '\n', '\r', '\t']).len();
    }

    fn peek(&mut self) -> u8 {
        self.blanks();
        *self.text.as_bytes().get(self.at).unwrap_or_else(|| panic!("the text ends at {}", self.at))
    }

    fn take(&mut self, wanted: u8) {
        assert_eq!(char::from(self.peek()), char::from(wanted), "at byte {}", self.at);
        self.at += 1;
    }

    /// Calls `member` for each member until the closing bracket.
    fn members(&mut self, open: u8, close: u8, mut member: impl FnMut(&mut Self)) {
        self.take(open);
        while self.peek() != close {
            member(self);
            if self.peek() != close {
                self.take(b',');
                assert_ne!(self.peek(), close, "a comma before the end at byte {}", self.at);
            }
        }
        self.take(close);
    }

    fn value(&mut self) -> Json {
        match self.peek() {
            b'{' => {
                let mut fields = Vec::new();
                self.members(b'{', b'}', |reader| {
                    reader.peek();
                    let name = reader.string();
                    reader.take(b':');
                    fields.push((name, reader.value()));
                });
                Json::Object(fields)
            }
            b'[' => {
                let mut elements = Vec::new();
                self.members(b'[', b']', |reader| elements.push(reader.value()));
                Json::Array(elements)
            }
            b'"' => Json::String(self.string()),
            b'-' | b'0'..=b'9' => {
                let rest = &self.text[self.at..];
                let end = rest.find(|c: char| !"+-.eE0123456789".contains(c)).unwrap_or(rest.len());
                self.at += end;
                Json::Number(exact(&rest[..end]))
            }
            _ => {
                let rest = &self.text[self.at..];
                let word = ["true", "false", "null"].into_iter().find(|word| rest.starts_with(word));
                let word = word.unwrap_or_else(|| panic!("no JSON at byte {}", self.at));
                self.at += word.len();
                Json::Word(word)
            }
        }
    }

    fn string(&mut self) -> String {
        let rest = &self.text[self.at..];
        let mut escaped = false;
        let end = rest.bytes().skip(1).position(|byte| {
            let is_end = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            is_end
        });
        let end = end.expect("a quote at the end") + 2;
        self.at += end;
        serde_json::from_str(&rest[..end]).expect("a string")
    }
}
