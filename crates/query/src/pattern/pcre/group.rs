//! Groups: `(?i:a|b)`.

use super::{Flags, Refused, Translator};

impl Translator<'_> {
    /// Parses a group after its opening parenthesis. Captured text is used only by back references and callers that
    /// request groups; otherwise all groups become non-capturing.
    pub(super) fn group(&mut self) -> Result<(), Refused> {
        if self.rest.starts_with('*') {
            return Err("(*…) is not supported, except UTF and UCP at the beginning".to_owned());
        }
        if !self.take("?") {
            self.capture();
            return Ok(());
        }
        if self.rest.starts_with('|') && self.backtracks {
            return Err("(?|…) is not supported beside look-around and back references".to_owned());
        }
        if self.take(":") || self.take("|") {
            self.open("(?:");
            return Ok(());
        }
        for (begin, what) in [
            (">", "atomic groups (?>…) are"),
            ("=", "look-ahead (?=…) is"),
            ("!", "look-ahead (?!…) is"),
            ("<=", "look-behind (?<=…) is"),
            ("<!", "look-behind (?<!…) is"),
        ] {
            if self.take(begin) {
                self.backtrack(what)?;
                // PCRE allows look-around to be repeated, which has no effect.
                self.open_to(&format!("(?>(?{begin}"), "))");
                self.flags.behind = begin.starts_with('<') || (self.flags.behind && begin == ">");
                return Ok(());
            }
        }
        if self.take("P=") {
            let name = self.take_until(')', "a back reference")?;
            let reference = self.named_reference(name)?;
            self.out.push_str(&reference);
            return Ok(());
        }
        for (begin, what) in [
            ("(", "conditions (?(…)…) are"),
            ("P>", "recursion (?P>…) is"),
            ("&", "recursion (?&…) is"),
            ("R", "recursion (?R) is"),
        ] {
            if self.rest.starts_with(begin) {
                return Err(format!("{what} not supported"));
            }
        }
        if self.take("P<") || self.take("<") {
            return self.name('>');
        }
        if self.take("'") {
            return self.name('\'');
        }
        self.options()
    }

    fn capture(&mut self) {
        self.groups += 1;
        self.open(if self.backtracks || self.flags.captures { "(" } else { "(?:" });
    }

    fn open(&mut self, text: &str) {
        self.open_to(text, ")");
    }

    fn open_to(&mut self, text: &str, end: &'static str) {
        self.outside.push((self.flags, end));
        self.out.push_str(text);
    }

    fn name(&mut self, end: char) -> Result<(), Refused> {
        let name = self.take_until(end, "the name of a group")?;
        let mut chars = name.chars();
        let is_name = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
            && chars.all(|c| c.is_alphanumeric() || c == '_');
        if !is_name {
            return Err(format!("'{name}' is not the name of a group"));
        }
        self.capture();
        self.names.push((name, self.groups));
        Ok(())
    }

    /// Parses `(?i)`, which applies up to the end of the enclosing group, or `(?i:…)`.
    fn options(&mut self) -> Result<(), Refused> {
        let mut flags = self.flags;
        let (mut on, mut off) = (String::new(), String::new());
        let mut sets = true;
        loop {
            match self.next() {
                Some('-') if sets => sets = false,
                Some('x') => flags.extended = sets,
                // Ungreedy: if the pattern has no atomic groups or similar items, this option does not change whether a
                // text matches.
                Some('U') if !self.backtracks && !self.flags.captures => {}
                Some(c @ ('i' | 'm' | 's' | 'U')) if c != 'U' || !self.backtracks => {
                    if c == 'm' {
                        flags.multi_line = sets;
                    }
                    on.retain(|known| known != c);
                    let known = if sets { &mut on } else { &mut off };
                    known.retain(|known| known != c);
                    known.push(c);
                }
                Some(end @ (':' | ')')) => return self.set(flags, &on, &off, end == ':'),
                Some(c) => return Err(format!("(?{c} is not supported")),
                None => return Err("a group is not closed: ) is missing".to_owned()),
            }
        }
    }

    fn set(&mut self, flags: Flags, on: &str, off: &str, opens: bool) -> Result<(), Refused> {
        let off = if off.is_empty() { String::new() } else { format!("-{off}") };
        if opens {
            self.open(&format!("(?{on}{off}:"));
        } else if !(on.is_empty() && off.is_empty()) {
            self.out.push_str(&format!("(?{on}{off})"));
        }
        self.flags = flags;
        Ok(())
    }
}
