//! Divides a Rust file into code, comments and literals.

/// Two texts with the same length and line breaks as the file. In each text, all other parts of the file are blank.
pub(super) struct Masked {
    /// The code, and the quotes of literals without their content.
    pub(super) code: String,
    /// The comments, with their slashes.
    pub(super) comments: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Class {
    Code,
    Comment,
    Literal,
}

/// Divides `text`. A text that is not Rust gives an arbitrary result, without a panic.
pub(super) fn mask(text: &str) -> Masked {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0, classes: vec![Class::Code; text.len()] };
    while scanner.at < scanner.bytes.len() {
        scanner.step();
    }
    let pick = |wanted: Class| -> String {
        let keep = |(at, c): (usize, char)| match c {
            '\n' => '\n'.to_string(),
            c if scanner.classes[at] == wanted => c.to_string(),
            c => " ".repeat(c.len_utf8()),
        };
        text.char_indices().map(keep).collect()
    };
    Masked { code: pick(Class::Code), comments: pick(Class::Comment) }
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    classes: Vec<Class>,
}

impl Scanner<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Gives `len` bytes a class and steps over them.
    fn take(&mut self, len: usize, class: Class) {
        let end = (self.at + len).min(self.bytes.len());
        self.classes[self.at..end].fill(class);
        self.at = end;
    }

    fn step(&mut self) {
        match (self.peek(0), self.peek(1)) {
            (b'/', b'/') => {
                let rest = &self.bytes[self.at..];
                let len = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                self.take(len, Class::Comment);
            }
            (b'/', b'*') => self.block_comment(),
            (b'"', _) => self.string(),
            (b'\'', _) => self.quote(),
            (byte, _) if is_word(byte) => self.word(),
            _ => self.take(1, Class::Code),
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => depth += 1,
                (b'*', b'/') => depth -= 1,
                _ => {
                    self.take(1, Class::Comment);
                    continue;
                }
            }
            self.take(2, Class::Comment);
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.take(1, Class::Code);
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b'"' => return self.take(1, Class::Code),
                b'\\' => self.take(2, Class::Literal),
                _ => self.take(1, Class::Literal),
            }
        }
    }

    /// Takes a character literal, or the start of a lifetime.
    fn quote(&mut self) {
        self.take(1, Class::Code);
        if self.peek(0) == b'\\' {
            self.take(2, Class::Literal);
            while self.at < self.bytes.len() && self.peek(0) != b'\'' {
                self.take(1, Class::Literal);
            }
            return self.take(1, Class::Code);
        }
        let len = match self.peek(0) {
            0..0x80 => 1,
            0x80..0xe0 => 2,
            0xe0..0xf0 => 3,
            _ => 4,
        };
        if self.peek(len) == b'\'' {
            self.take(len, Class::Literal);
            self.take(1, Class::Code);
        }
    }

    /// Takes an identifier or a number, or the prefix of a literal.
    fn word(&mut self) {
        let rest = &self.bytes[self.at..];
        let len = rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
        let raw = matches!(&rest[..len], b"r" | b"br" | b"cr");
        self.take(len, Class::Code);
        let hashes = self.bytes[self.at..].iter().take_while(|byte| **byte == b'#').count();
        if raw && self.peek(hashes) == b'"' {
            self.take(hashes + 1, Class::Code);
            let end = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
            let rest = &self.bytes[self.at..];
            let len = rest.windows(end.len()).position(|window| window == end).unwrap_or(rest.len());
            self.take(len, Class::Literal);
            self.take(end.len(), Class::Code);
        }
    }
}

/// True for bytes that identifiers and numbers consist of.
pub(super) fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// The offsets of `word` in `text` where it is a whole word. `word` may begin or end with another character.
pub(super) fn find_words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = text.as_bytes();
    text.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let end = at + word.len();
        let opens = *at == 0 || !is_word(bytes[at - 1]) || !is_word(bytes[*at]);
        opens && (end == bytes.len() || !is_word(bytes[end]) || !is_word(bytes[end - 1]))
    })
}

#[cfg(test)]
mod tests;
