//! A line of the shell as words: as a Unix shell splits it, only that JSON needs no quotes.

/// A line, split.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Split {
    /// All of it. The last word begins at this byte.
    Whole(Vec<String>, usize),
    /// More has to come: a bracket or a quote is open. What there is of the last word begins at this byte, and goes so.
    Open(Vec<String>, usize),
}

/// Splits a text, which may have several lines.
///
/// Blanks separate words; `'…'` and `"…"` keep them together, `\` takes the next character as it is, and a newline away;
/// `#` begins a remark. A word that begins with `{` or `[` is JSON: it ends where its brackets do.
pub(super) fn split(text: &str) -> Split {
    let (mut words, mut last) = (Vec::new(), text.len());
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let at = text.len() - rest.len();
        let taken = match rest.chars().next() {
            None => return Split::Whole(words, last),
            Some('\\') if rest.starts_with("\\\n") => {
                rest = &rest[2..];
                continue;
            }
            Some('#') => {
                rest = rest.find('\n').map_or("", |end| &rest[end..]);
                continue;
            }
            Some('{' | '[') => json(rest).map(|len| (rest[..len].to_owned(), len)),
            Some(_) => quoted(rest),
        };
        let Some((word, len)) = taken else { return Split::Open(words, at) };
        words.push(word);
        last = at;
        rest = &rest[len..];
    }
}

/// True if a newline behind the text ends a command: no quote or bracket is open, and it is not escaped by `\`.
pub(super) fn is_whole(text: &str) -> bool {
    matches!(split(text.strip_suffix('\n').unwrap_or(text)), Split::Whole(..))
}

/// A text as its commands, one after the other; blank lines are left out.
pub(super) fn commands(text: &str) -> Vec<&str> {
    let (mut commands, mut begins, mut end) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        end += line.len();
        // An incomplete command at the end is reported when it runs.
        if end == text.len() || is_whole(&text[begins..end]) {
            commands.push(text[begins..end].trim_end_matches('\n'));
            begins = end;
        }
    }
    commands.retain(|command| !command.trim().is_empty());
    commands
}

/// The length of JSON, if its brackets are closed. Other mistakes are left to the parser.
fn json(text: &str) -> Option<usize> {
    let (mut depth, mut string, mut escaped) = (0_usize, None, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if string.is_some() => escaped = true,
            _ if string.is_some() => string = string.filter(|&quote| quote != byte),
            b'"' | b'\'' => string = Some(byte),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// A word with its quotes taken away, and the length that it had with them.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut word = String::new();
    let mut chars = text.char_indices();
    let mut quote = None;
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => return Some((word, at)),
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '\\') => match chars.next()? {
                // In double quotes it is for what means something there.
                (_, next) if quote.is_some() && !"\"\\".contains(next) => word.extend(['\\', next]),
                (_, '\n') => {}
                (_, next) => word.push(next),
            },
            (_, c) => word.push(c),
        }
    }
    quote.is_none().then_some((word, text.len()))
}

#[cfg(test)]
mod tests;
