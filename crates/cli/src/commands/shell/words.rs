//! Splits a line of the shell into words, like a Unix shell, except that JSON needs no quotes.

/// The result of splitting a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Split {
    /// The words of a complete line, and the byte at which the last one begins.
    Whole(Vec<String>, usize),
    /// The words of an incomplete line: a bracket or a quote is open. The last word is partial; it
    /// begins at this byte.
    Open(Vec<String>, usize),
}

/// Splits a text, which may have several lines.
///
/// Blanks separate words. `'…'` and `"…"` quote. `\` escapes the next character, and joins lines
/// before a newline. `#` begins a comment. A word that begins with `{` or `[` is JSON, and ends
/// with its closing bracket.
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

/// True if a newline after the text ends a command: no quote or bracket is open, and the newline is
/// not escaped.
pub(super) fn is_whole(text: &str) -> bool {
    matches!(split(text.strip_suffix('\n').unwrap_or(text)), Split::Whole(..))
}

/// Splits a text into commands; blank lines are left out.
pub(super) fn commands(text: &str) -> Vec<&str> {
    let (mut commands, mut begins, mut end) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        end += line.len();
        // An incomplete command at the end reports its error when it runs.
        if end == text.len() || is_whole(&text[begins..end]) {
            commands.push(text[begins..end].trim_end_matches('\n'));
            begins = end;
        }
    }
    commands.retain(|command| !command.trim().is_empty());
    commands
}

/// The length of the JSON at the start of a text, if its brackets are closed. The parser detects other errors.
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

/// The content of a quoted word, and the length of the word with its quotes.
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
                // In double quotes, `\` escapes only quotes and `\` itself.
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
