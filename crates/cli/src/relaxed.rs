//! JSON in a relaxed notation for typing, as in MongoDB's shell: names without quotes, strings in single quotes, a comma
//! after the last element, patterns (`/^a/i`), and the constructors of values (`ISODate("2024-05-01")`, `ObjectId("…")`).
//!
//! The notation is accepted in arguments and in lines of the shell. Files are parsed strictly.

use alluvium::Value;
use alluvium_document::json;
use std::fmt;

/// The error in a text, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RelaxedError {
    /// The line, from 1.
    line: usize,
    /// The column in characters, from 1.
    column: usize,
    problem: String,
}

impl fmt::Display for RelaxedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.problem)
    }
}

/// The maximum number of levels of arrays, maps and constructors. It is larger than the limit for values, so that a
/// value with too many levels gets the error about values.
const LEVELS_MAX: usize = 1000;

/// Parses an argument: JSON, or text in the relaxed notation. An error refers to the text as it was typed.
pub(crate) fn parse(text: &str) -> Result<Value, RelaxedError> {
    if let Ok(value) = json::parse(text.as_bytes()) {
        return Ok(value);
    }
    let mut reader = Reader { text, at: 0, json: String::with_capacity(text.len() + 16), origins: Vec::new() };
    reader.value(LEVELS_MAX)?;
    reader.skip_space();
    if reader.at < text.len() {
        return Err(reader.fail(format!("there is more after the end of the value: {}", reader.found())));
    }
    json::parse(reader.json.as_bytes()).map_err(|error| {
        let before = reader.origins.partition_point(|(out, _)| *out <= error.offset);
        let typed = before.checked_sub(1).and_then(|at| reader.origins.get(at)).map_or(0, |(_, typed)| *typed);
        reader.fail_at(typed, error.reason.to_string())
    })
}

/// Reads the relaxed notation, and writes JSON.
struct Reader<'t> {
    text: &'t str,
    at: usize,
    json: String,
    /// Offsets in the JSON, ascending, each with the corresponding offset in the original text.
    origins: Vec<(usize, usize)>,
}

type Read = Result<(), RelaxedError>;

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Skips white space, and consumes the character if it comes next.
    fn take(&mut self, wanted: char) -> bool {
        self.skip_space();
        let is_there = self.peek() == Some(wanted);
        if is_there {
            self.at += wanted.len_utf8();
        }
        is_there
    }

    fn put(&mut self, json: &str) {
        self.origins.push((self.json.len(), self.at));
        self.json.push_str(json);
    }

    fn put_string(&mut self, text: &str) {
        self.put(&Value::from(text).to_string());
    }

    fn fail(&self, problem: impl Into<String>) -> RelaxedError {
        self.fail_at(self.at, problem.into())
    }

    fn fail_at(&self, at: usize, problem: String) -> RelaxedError {
        let before = self.text.get(..at).unwrap_or(self.text);
        let (line, start) = (before.matches('\n').count() + 1, before.rfind('\n').map_or(0, |at| at + 1));
        let column = before.get(start..).unwrap_or_default().chars().count() + 1;
        RelaxedError { line, column, problem }
    }

    /// The text at the position, for errors.
    fn found(&self) -> String {
        let word = self.word();
        match self.peek() {
            None => "the end of the text".to_owned(),
            Some(c) if word.is_empty() => format!("'{c}'"),
            Some(_) => format!("'{word}'"),
        }
    }

    /// The word at the position: letters, digits, and the other characters that names may have.
    fn word(&self) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "$_.-".contains(c))).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    fn value(&mut self, levels: usize) -> Read {
        self.skip_space();
        let Some(levels) = levels.checked_sub(1) else { return Err(self.fail("it nests too deep")) };
        match self.peek() {
            None => Err(self.fail("the text ends where a value is expected")),
            Some('{') => self.map(levels),
            Some('[') => self.array(levels),
            Some('"' | '\'') => {
                let text = self.string()?;
                self.put_string(&text);
                Ok(())
            }
            Some('/') => self.pattern(),
            Some('-' | '+' | '0'..='9' | '.') => self.number(),
            Some(c) if c == '$' || c == '_' || c.is_alphabetic() => self.named(levels),
            Some(_) => Err(self.fail(format!("expected a value, not {}", self.found()))),
        }
    }

    /// Reads the end of an array or a map, or a comma before another element. Returns true at the end.
    fn ends(&mut self, close: char, opened: usize, what: &str) -> Result<bool, RelaxedError> {
        self.skip_space();
        match self.peek() {
            Some(c) if c == close => {
                self.put(&close.to_string());
                self.at += 1;
                Ok(true)
            }
            Some(',') => {
                self.at += 1;
                self.skip_space();
                if self.peek() == Some(close) {
                    return self.ends(close, opened, what);
                }
                self.put(",");
                Ok(false)
            }
            None => {
                let begin = self.fail_at(opened, String::new());
                let place = format!("line {}, column {}", begin.line, begin.column);
                Err(self.fail(format!("the {what} that begins at {place} has no end: '{close}' is missing")))
            }
            Some(_) => {
                Err(self.fail(format!("expected a comma or '{close}', the end of the {what}, not {}", self.found())))
            }
        }
    }

    fn array(&mut self, levels: usize) -> Read {
        let opened = self.at;
        self.put("[");
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(']') {
            return self.ends(']', opened, "array").map(drop);
        }
        loop {
            if self.peek().is_none() {
                return self.ends(']', opened, "array").map(drop);
            }
            self.value(levels)?;
            if self.ends(']', opened, "array")? {
                return Ok(());
            }
        }
    }

    fn map(&mut self, levels: usize) -> Read {
        let opened = self.at;
        self.put("{");
        self.at += 1;
        self.skip_space();
        if self.peek() == Some('}') {
            return self.ends('}', opened, "map").map(drop);
        }
        loop {
            self.skip_space();
            if self.peek().is_none() {
                return self.ends('}', opened, "map").map(drop);
            }
            let from = self.at;
            let name = self.name()?;
            let after = std::mem::replace(&mut self.at, from);
            self.put_string(&name);
            self.at = after;
            self.skip_space();
            if self.peek() != Some(':') {
                return Err(self.fail(format!("expected a colon after the field name {name:?}, not {}", self.found())));
            }
            self.put(":");
            self.at += 1;
            self.value(levels)?;
            if self.ends('}', opened, "map")? {
                return Ok(());
            }
        }
    }

    /// The name of a field.
    fn name(&mut self) -> Result<String, RelaxedError> {
        if let Some('"' | '\'') = self.peek() {
            return self.string();
        }
        let word = self.word();
        if word.is_empty() {
            return Err(self.fail(format!("expected the name of a field, not {}", self.found())));
        }
        self.at += word.len();
        Ok(word.to_owned())
    }

    /// Reads a string; the position is at its opening quote.
    fn string(&mut self) -> Result<String, RelaxedError> {
        let from = self.at;
        let mut chars = self.rest().char_indices();
        let Some((_, quote)) = chars.next() else { return Err(self.fail("expected a text")) };
        // The content as a JSON string.
        let mut inside = String::from("\"");
        while let Some((at, c)) = chars.next() {
            match c {
                c if c == quote => {
                    inside.push('"');
                    self.at = from + at + quote.len_utf8();
                    return match json::parse(inside.as_bytes()) {
                        Ok(Value::String(text)) => Ok(text.to_string()),
                        Ok(_) => Err(self.fail_at(from, "expected a text".to_owned())),
                        Err(error) => Err(self.fail_at(from, error.reason.to_string())),
                    };
                }
                '\\' => match chars.next() {
                    Some((_, '\'')) => inside.push('\''),
                    Some((_, next)) => inside.extend(['\\', next]),
                    None => {}
                },
                '"' => inside.push_str("\\\""),
                c => inside.push(c),
            }
        }
        Err(self.fail_at(from, format!("the text that begins here has no end: {quote} is missing")))
    }

    /// Reads a pattern between slashes, with its options.
    fn pattern(&mut self) -> Read {
        let (from, mut inside, mut escaped, mut in_class) = (self.at, String::new(), false, false);
        for (at, c) in self.rest().char_indices().skip(1) {
            match c {
                '/' if !escaped && !in_class => {
                    let after = from + at + 1;
                    self.at = after;
                    let options = self.word();
                    self.at = from;
                    self.put("{\"$regularExpression\":{\"pattern\":");
                    self.put_string(&inside);
                    self.put(",\"options\":");
                    self.put_string(options);
                    self.put("}}");
                    self.at = after + options.len();
                    return Ok(());
                }
                '[' if !escaped => in_class = true,
                ']' if !escaped => in_class = false,
                _ => {}
            }
            // In a pattern between slashes, `\/` means a slash.
            if escaped && c == '/' {
                inside.pop();
            }
            escaped = c == '\\' && !escaped;
            inside.push(c);
        }
        Err(self.fail_at(from, "the pattern that begins here has no end: / is missing".to_owned()))
    }

    fn number(&mut self) -> Read {
        let rest = self.rest();
        if let Some(after) = rest.strip_prefix("-Infinity") {
            self.put(r#"{"$numberDouble":"-Infinity"}"#);
            self.at = self.text.len() - after.len();
            return Ok(());
        }
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c))).unwrap_or(rest.len());
        let number = rest.get(..end).unwrap_or_default();
        self.put(number);
        if json::parse_number(number).is_ok_and(|(_, taken)| taken == number.len()) {
            self.at += number.len();
            return Ok(());
        }
        Err(self.fail(format!("'{number}' is not a number: a text needs quotes")))
    }

    /// Reads a value that begins with a name: a word such as `true`, or a constructor.
    fn named(&mut self, levels: usize) -> Read {
        let from = self.at;
        let mut word = self.word();
        if word == "new" {
            self.at += word.len();
            self.skip_space();
            word = self.word();
        }
        let is_call = self.text.get(self.at + word.len()..).is_some_and(|rest| rest.trim_start().starts_with('('));
        if !is_call {
            let json = match word {
                "true" | "false" | "null" => word,
                "undefined" => r#"{"$undefined":true}"#,
                "NaN" => r#"{"$numberDouble":"NaN"}"#,
                "Infinity" => r#"{"$numberDouble":"Infinity"}"#,
                "MinKey" => r#"{"$minKey":1}"#,
                "MaxKey" => r#"{"$maxKey":1}"#,
                _ => {
                    let problem = format!("{word} is not a value: a text needs quotes, as in '{word}'");
                    return Err(self.fail_at(from, problem));
                }
            };
            self.put(json);
            self.at += word.len();
            return Ok(());
        }
        self.at += word.len();
        let arguments = self.arguments(levels)?;
        let after = std::mem::replace(&mut self.at, from);
        match constructed(word, &arguments) {
            Ok(json) => {
                self.put(&json);
                self.at = after;
                Ok(())
            }
            Err(problem) => Err(self.fail(problem)),
        }
    }

    /// Reads the arguments of a constructor; the position is at its opening parenthesis.
    fn arguments(&mut self, levels: usize) -> Result<Vec<Value>, RelaxedError> {
        self.skip_space();
        let opened = self.at;
        self.at += 1;
        let mut arguments = Vec::new();
        loop {
            if self.take(')') {
                return Ok(arguments);
            }
            let mut inner = Reader { text: self.text, at: self.at, json: String::new(), origins: Vec::new() };
            inner.value(levels)?;
            let value = json::parse(inner.json.as_bytes());
            arguments.push(value.map_err(|error| self.fail(error.reason.to_string()))?);
            self.at = inner.at;
            if !self.take(',') && self.peek() != Some(')') {
                return Err(match self.peek() {
                    None => self.fail_at(opened, "the arguments that begin here have no end: ) is missing".to_owned()),
                    Some(_) => self.fail(format!("expected a comma or ')', not {}", self.found())),
                });
            }
        }
    }
}

/// The constructors, each with a description of its argument.
const CONSTRUCTORS: [(&str, &str); 19] = [
    ("ISODate", "a date in ISO 8601, such as \"2024-05-01T12:30:00Z\""),
    ("Date", "a date in ISO 8601, such as \"2024-05-01T12:30:00Z\", or milliseconds"),
    ("ObjectId", "24 hexadecimal digits in quotes"),
    ("ObjectID", "24 hexadecimal digits in quotes"),
    ("NumberInt", "a 32-bit integer"),
    ("Int32", "a 32-bit integer"),
    ("NumberLong", "a 64-bit integer"),
    ("Long", "a 64-bit integer"),
    ("NumberDecimal", "a number, in quotes if it has many digits"),
    ("Decimal128", "a number, in quotes if it has many digits"),
    ("Double", "a number"),
    ("UUID", "a UUID in quotes, such as \"73ffd264-44b3-4c69-90e8-e7d1dfc035d4\""),
    ("BinData", "a subtype and base64 text: BinData(0, \"AQI=\")"),
    ("Timestamp", "seconds and an ordinal: Timestamp(1700000000, 1)"),
    ("RegExp", "a pattern and options: RegExp(\"^a\", \"i\")"),
    ("MinKey", "nothing"),
    ("MaxKey", "nothing"),
    ("Symbol", "a text"),
    ("DBRef", "a collection and an _id: DBRef(\"users\", 1)"),
];

/// The Extended JSON of a constructed value.
fn constructed(name: &str, arguments: &[Value]) -> Result<String, String> {
    let Some((_, takes)) = CONSTRUCTORS.iter().find(|(known, _)| *known == name) else {
        let known: Vec<&str> = CONSTRUCTORS.iter().map(|(name, _)| *name).collect();
        return Err(format!("there is no constructor {name}; there are {}", known.join(", ")));
    };
    let quoted = |value: &Value| match value {
        Value::String(text) => Some(Value::String(text.clone()).to_string()),
        _ => None,
    };
    let number = |value: &Value| match value {
        Value::String(text) => Some(text.to_string()),
        Value::Decimal(decimal) => Some(decimal.to_string()),
        value => value.is_number().then(|| value.to_string()),
    };
    let typed = |kind: &str, value: &Value| Some(format!("{{\"{kind}\":{}}}", Value::from(number(value)?)));
    let made = match (name, arguments) {
        ("ISODate" | "Date", [text @ Value::String(_)]) => {
            // A date without a time, or a time without a zone, is in UTC.
            let millis = json::parse_date(text.as_str().unwrap_or_default());
            millis.map(|millis| format!("{{\"$date\":{{\"$numberLong\":\"{millis}\"}}}}"))
        }
        ("Date", [millis]) => millis.as_i64().map(|millis| format!("{{\"$date\":{{\"$numberLong\":\"{millis}\"}}}}")),
        ("ObjectId" | "ObjectID", [text]) => quoted(text).map(|text| format!("{{\"$oid\":{text}}}")),
        ("NumberInt" | "Int32", [value]) => typed("$numberInt", value),
        ("NumberLong" | "Long", [value]) => typed("$numberLong", value),
        ("NumberDecimal" | "Decimal128", [value]) => typed("$numberDecimal", value),
        ("Double", [value]) => typed("$numberDouble", value),
        ("UUID", [text]) => quoted(text).map(|text| format!("{{\"$uuid\":{text}}}")),
        ("BinData", [subtype, text]) => binary(subtype, text.as_str()),
        ("Timestamp", [parts @ Value::Map(_)]) => Some(format!("{{\"$timestamp\":{parts}}}")),
        ("Timestamp", [time, ordinal]) => match (time.as_i64(), ordinal.as_i64()) {
            (Some(time), Some(ordinal)) => Some(format!("{{\"$timestamp\":{{\"t\":{time},\"i\":{ordinal}}}}}")),
            _ => None,
        },
        ("RegExp", [pattern]) => quoted(pattern)
            .map(|pattern| format!("{{\"$regularExpression\":{{\"pattern\":{pattern},\"options\":\"\"}}}}")),
        ("RegExp", [pattern, options]) => quoted(pattern).zip(quoted(options)).map(|(pattern, options)| {
            format!("{{\"$regularExpression\":{{\"pattern\":{pattern},\"options\":{options}}}}}")
        }),
        ("MinKey", []) => Some("{\"$minKey\":1}".to_owned()),
        ("MaxKey", []) => Some("{\"$maxKey\":1}".to_owned()),
        ("Symbol", [text]) => quoted(text).map(|text| format!("{{\"$symbol\":{text}}}")),
        ("DBRef", [collection, id]) => {
            quoted(collection).map(|collection| format!("{{\"$ref\":{collection},\"$id\":{id}}}"))
        }
        _ => None,
    };
    let made = made.filter(|made| json::parse(made.as_bytes()).is_ok());
    made.ok_or_else(|| format!("{name} takes {takes}"))
}

/// Binary data of a subtype.
fn binary(subtype: &Value, base64: Option<&str>) -> Option<String> {
    let subtype = u8::try_from(subtype.as_i64()?).ok()?;
    let text = Value::from(base64?);
    Some(format!("{{\"$binary\":{{\"base64\":{text},\"subType\":\"{subtype:02x}\"}}}}"))
}

#[cfg(test)]
mod tests;
