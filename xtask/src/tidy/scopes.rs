//! The modules of a crate: its files and inline modules, and the paths that each module names.
//!
//! Test code is left out: items after `#[cfg(test)]` or `#[cfg(all(test, …))]`, and files named `tests.rs`.

use super::mask::is_word;
use super::repo::{Repo, SourceFile, line_of};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A module: a file, or an inline module in one.
#[derive(Default)]
pub(super) struct Scope {
    /// The module's path from the root of the crate, with `::`; empty for the root.
    pub(super) name: String,
    /// The path of the file, from the root of the repository.
    pub(super) path: String,
    pub(super) parent: Option<usize>,
    /// The scope of the file, which is the module itself unless it is an inline module.
    pub(super) file: usize,
    pub(super) children: HashMap<String, usize>,
    /// The names that `use` declarations import, with their paths.
    pub(super) imports: BTreeMap<String, Vec<String>>,
    /// The paths of `use path::*`.
    pub(super) globs: Vec<Vec<String>>,
    /// The names of items, at any depth.
    pub(super) defined: HashSet<String>,
    /// All words of the code; filled only if there are globs.
    pub(super) words: HashSet<String>,
    pub(super) mentions: Vec<Mention>,
}

/// A path of at least two names in the code, or the path of a `use`.
pub(super) struct Mention {
    pub(super) path: Vec<String>,
    /// The line, counted from 1.
    pub(super) line: usize,
}

/// The modules of a crate; the first one is the root.
pub(super) struct Scopes {
    pub(super) all: Vec<Scope>,
}

impl Scopes {
    /// Reads the modules, beginning with the file `root`, for example `lib.rs`.
    pub(super) fn read(repo: &Repo, root: &SourceFile) -> Self {
        let mut scopes = Self { all: vec![Scope { path: root.path.clone(), ..Scope::default() }] };
        scopes.read_file(repo, root, 0, true);
        scopes
    }

    fn read_file(&mut self, repo: &Repo, file: &SourceFile, scope: usize, is_root: bool) {
        let Some(masked) = &file.rust else { return };
        let code = masked.code.as_str();
        let tokens = without_tests(tokens(code));
        let first = self.all.len();
        let found = Reader { scopes: self, tokens: &tokens, code, open: vec![(scope, 0)], depth: 0 }.run();
        let words = || tokens.iter().map(|token| token.text).filter(|text| is_name(text)).map(str::to_owned);
        let own = [scope].into_iter().chain(first..self.all.len());
        own.for_each(|scope| {
            if !self.all[scope].globs.is_empty() {
                self.all[scope].words = words().collect();
            }
        });
        let (dir, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let children = match is_root || name == "mod.rs" {
            true => dir.to_owned(),
            false => format!("{dir}/{}", name.trim_end_matches(".rs")),
        };
        for (around, name) in found {
            let inner = self.all[around].name.strip_prefix(self.all[scope].name.as_str()).unwrap_or("");
            let inner: String =
                inner.split("::").filter(|part| !part.is_empty()).map(|part| format!("{part}/")).collect();
            let paths = [format!("{children}/{inner}{name}.rs"), format!("{children}/{inner}{name}/mod.rs")];
            if let Some(file) = paths.iter().find_map(|path| repo.get(path)).filter(|_| name != "tests") {
                let child = self.add(around, &name, Some(&file.path));
                self.read_file(repo, file, child, false);
            }
        }
    }

    /// Adds a module. Without a path, the module is an inline module of the parent's file.
    fn add(&mut self, parent: usize, name: &str, path: Option<&str>) -> usize {
        let index = self.all.len();
        let above = &self.all[parent];
        let scope = Scope {
            name: if above.name.is_empty() { name.to_owned() } else { format!("{}::{name}", above.name) },
            path: path.unwrap_or(&above.path).to_owned(),
            parent: Some(parent),
            file: if path.is_some() { index } else { above.file },
            ..Scope::default()
        };
        self.all.push(scope);
        self.all[parent].children.insert(name.to_owned(), index);
        index
    }

    /// The scopes of the files from the root down to the file of `scope`.
    pub(super) fn ancestors(&self, scope: usize) -> Vec<usize> {
        let mut found = vec![self.all[scope].file];
        while let Some(parent) = self.all[found[found.len() - 1]].parent {
            found.push(self.all[parent].file);
        }
        found.reverse();
        found
    }
}

/// A word, `::`, or one other character.
#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    at: usize,
}

fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = code[at..].chars().next() {
        let len = match c {
            ':' if code[at..].starts_with("::") => 2,
            c if c.is_ascii() && !is_word(c as u8) => 1,
            _ => code[at..].bytes().take_while(|byte| is_word(*byte)).count(),
        };
        if !c.is_whitespace() {
            found.push(Token { text: &code[at..at + len], at });
        }
        at += len;
    }
    found
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Drops the items for tests, and drops attributes.
fn without_tests(tokens: Vec<Token<'_>>) -> Vec<Token<'_>> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if let Some(end) = attribute_end(&tokens, at) {
            let mut text = tokens[at..end].iter().map(|token| token.text).skip_while(|text| *text != "cfg").skip(2);
            let only = match text.next() {
                Some("all") => text.nth(1),
                first => first,
            };
            at = if only == Some("test") { item_end(&tokens, end) } else { end };
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    kept
}

/// The index after an attribute that begins at `at`.
fn attribute_end(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let text = |index: usize| tokens.get(index).map_or("", |token| token.text);
    let open = match (text(at), text(at + 1), text(at + 2)) {
        ("#", "[", _) => at + 1,
        ("#", "!", "[") => at + 2,
        _ => return None,
    };
    Some(group_end(tokens, open))
}

/// The index after the bracket that closes the bracket at `open`.
fn group_end(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// The index after the item, field or statement that begins at `at`, after one of its attributes.
fn item_end(tokens: &[Token<'_>], mut at: usize) -> usize {
    const ITEMS: [&str; 13] =
        ["fn", "struct", "enum", "impl", "mod", "use", "const", "static", "trait", "type", "unsafe", "extern", "async"];
    while let Some(end) = attribute_end(tokens, at) {
        at = end;
    }
    let mut first = at;
    if tokens.get(first).is_some_and(|token| token.text == "pub") {
        let restricted = tokens.get(first + 1).is_some_and(|token| token.text == "(");
        first = if restricted { group_end(tokens, first + 1) } else { first + 1 };
    }
    let kind = tokens.get(first).map_or("", |token| token.text);
    while let Some(token) = tokens.get(at) {
        match token.text {
            ";" => return at + 1,
            "," if !ITEMS.contains(&kind) => return at + 1,
            "{" if kind != "use" => return group_end(tokens, at),
            "(" | "[" | "{" => at = group_end(tokens, at),
            ")" | "]" | "}" => return at,
            _ => at += 1,
        }
    }
    at
}

/// Reads the code of one file into scopes.
struct Reader<'a> {
    scopes: &'a mut Scopes,
    tokens: &'a [Token<'a>],
    code: &'a str,
    /// The modules that contain the current token, each with the depth of its braces.
    open: Vec<(usize, usize)>,
    depth: usize,
}

impl<'a> Reader<'a> {
    /// Returns the modules that are in other files: the scope that declares each module, and the module's name.
    fn run(mut self) -> Vec<(usize, String)> {
        let mut files = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            let (token, next, after) = (self.text(at), self.text(at + 1), self.text(at + 2));
            match token {
                "mod" if after == ";" => files.push((self.scope(), next.to_owned())),
                "mod" if after == "{" => {
                    let child = self.scopes.add(self.scope(), next, None);
                    self.depth += 1;
                    self.open.push((child, self.depth));
                    at += 2;
                }
                "{" => self.depth += 1,
                "}" => {
                    if self.open.len() > 1 {
                        self.open.retain(|(_, depth)| *depth < self.depth);
                    }
                    self.depth = self.depth.saturating_sub(1);
                }
                "use" if next != "<" => at = self.import(at + 1, &[]),
                "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" => self.define(next),
                "macro_rules" => self.define(after),
                name if is_name(name) && next == "::" => at = self.mention(at),
                _ => {}
            }
            at += 1;
        }
        files
    }

    fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    fn scope(&self) -> usize {
        self.open.last().map_or(0, |(scope, _)| *scope)
    }

    fn current(&mut self) -> &mut Scope {
        let scope = self.scope();
        &mut self.scopes.all[scope]
    }

    fn define(&mut self, name: &str) {
        self.current().defined.insert(name.to_owned());
    }

    /// Reads a path that begins at `at`, and returns the index of its last token.
    fn mention(&mut self, at: usize) -> usize {
        let mut end = at;
        while self.text(end + 1) == "::" && is_name(self.text(end + 2)) {
            end += 2;
        }
        let before = at.checked_sub(1).map_or("", |before| self.text(before));
        // `$crate::` is used in other crates, and a path after `::` has begun before.
        if end > at && !matches!(before, "$" | "::") {
            let path = (at..=end).step_by(2).map(|at| self.text(at).to_owned()).collect();
            let line = line_of(self.code, self.tokens[at].at);
            self.current().mentions.push(Mention { path, line });
        }
        end
    }

    /// Reads a tree of imports that begins at `at` after the path `before`. Returns the index of the token after the
    /// tree: `;`, `,` or `}`.
    fn import(&mut self, mut at: usize, before: &[String]) -> usize {
        let line = self.tokens.get(at).map_or(1, |token| line_of(self.code, token.at));
        let mut path = before.to_vec();
        loop {
            match self.text(at) {
                "" => return at,
                "::" => at += 1,
                "*" => {
                    self.current().globs.push(path);
                    return at + 1;
                }
                "{" => loop {
                    at = match self.text(at + 1) {
                        "}" => at + 1,
                        _ => self.import(at + 1, &path),
                    };
                    if self.text(at) != "," {
                        return at + 1;
                    }
                },
                "self" if !path.is_empty() => at += 1,
                name if is_name(name) && name != "as" => {
                    path.push(name.to_owned());
                    at += 1;
                }
                _ => break,
            }
        }
        let mut name = path.last().cloned().unwrap_or_default();
        if self.text(at) == "as" {
            name = self.text(at + 1).to_owned();
            at += 2;
        }
        let scope = self.current();
        scope.imports.entry(name).or_insert_with(|| path.clone());
        scope.mentions.push(Mention { path, line });
        at
    }
}
