//! Checks that the modules of a crate form no circle, and that no module imports through the root of its own crate.
//!
//! A module depends on another module if a path in its code leads to an item of the other's file, directly or through
//! the imports of a third module. A module and its own ancestors may depend on each other. For any other dependency,
//! consider the two siblings that contain its ends below their nearest common ancestor: it counts as a dependency
//! between these siblings. Siblings must form no circle.

use super::Finding;
use super::repo::{Repo, SourceFile};
use super::scopes::{Mention, Scopes};
use std::collections::{BTreeMap, BTreeSet};

/// The most imports through which a name is followed, so that a circle of imports ends.
const IMPORTS_MAX: usize = 16;

/// The faults of a crate's modules.
#[derive(Default)]
pub(super) struct Report {
    pub(super) circles: Vec<Finding>,
    pub(super) root_imports: Vec<Finding>,
}

/// Reads the crate in `dir`: its library, its program, and the programs in `src/bin`.
pub(super) fn report(repo: &Repo, dir: &str) -> Report {
    let mut report = Report::default();
    let programs = format!("{dir}/src/bin/");
    let is_root = |path: &str| {
        let named = path.strip_prefix(dir).is_some_and(|rest| matches!(rest, "/src/lib.rs" | "/src/main.rs"));
        named || path.strip_prefix(&programs).is_some_and(|name| !name.contains('/'))
    };
    for (file, _) in repo.rust().filter(|(file, _)| is_root(&file.path)) {
        check_root(repo, file, &mut report);
    }
    report
}

/// The dependencies between two scopes. Each has the names that cause it, and the first place as text.
type Arrows = BTreeMap<(usize, usize), (BTreeSet<String>, String)>;

fn check_root(repo: &Repo, root: &SourceFile, report: &mut Report) {
    let scopes = Scopes::read(repo, root);
    let mut arrows = Arrows::new();
    for (from, scope) in scopes.all.iter().enumerate() {
        for mention in &scope.mentions {
            let path = Resolved::of(&scopes, from, mention);
            if let Some(name) = path.through_root.filter(|_| scope.file != 0) {
                let what = format!("`{name}` is imported through the crate's root: name the module that defines it");
                report.root_imports.push(Finding::new(&scope.path, mention.line, what));
            }
            let place = format!("{}:{}", scope.path, mention.line);
            path.ends.into_iter().for_each(|(to, name)| add(&scopes, &mut arrows, from, to, name, &place));
        }
        for glob in &scope.globs {
            let mention = Mention { path: glob.clone(), line: 1 };
            for (to, name) in Resolved::of(&scopes, from, &mention).ends {
                add(&scopes, &mut arrows, from, to, name, &scope.path);
                // Names that an ancestor imports are used through the glob.
                for name in scopes.all[to].imports.keys().filter(|name| scope.words.contains(*name)) {
                    let mention = Mention { path: vec!["self".to_owned(), name.clone()], line: 1 };
                    let ends = Resolved::of(&scopes, to, &mention).ends;
                    ends.into_iter().for_each(|(to, name)| add(&scopes, &mut arrows, from, to, name, &scope.path));
                }
            }
        }
    }
    for circle in circles(&arrows) {
        report.circles.push(describe(&scopes, &arrows, &circle));
    }
}

/// Adds a dependency to the siblings that contain its ends.
fn add(scopes: &Scopes, arrows: &mut Arrows, from: usize, to: usize, name: String, place: &str) {
    let (above_from, above_to) = (scopes.ancestors(from), scopes.ancestors(to));
    let siblings = above_from.iter().zip(&above_to).find(|(a, b)| a != b);
    if let Some((a, b)) = siblings {
        let arrow = arrows.entry((*a, *b)).or_insert_with(|| (BTreeSet::new(), place.to_owned()));
        arrow.0.insert(name);
    }
}

/// The result of following a path.
#[derive(Default)]
struct Resolved {
    /// The modules that define or re-export the item, each with the item's name there.
    ends: Vec<(usize, String)>,
    /// The name, if the crate's root only imports it.
    through_root: Option<String>,
}

impl Resolved {
    fn of(scopes: &Scopes, from: usize, mention: &Mention) -> Self {
        let mut resolved = Self::default();
        resolved.follow(scopes, from, &mention.path, 0);
        resolved
    }

    /// Returns the module that the path leads to, if it is a module of this crate.
    fn follow(&mut self, scopes: &Scopes, from: usize, path: &[String], depth: usize) -> Option<usize> {
        let (first, mut rest) = path.split_first()?;
        let mut scope = match first.as_str() {
            "crate" => 0,
            "self" => from,
            "super" => scopes.all[from].parent?,
            name => match scopes.all[from].children.get(name) {
                Some(child) => *child,
                // The import itself is a dependency already; a path through an imported module may lead farther.
                None => {
                    let import = scopes.all[from].imports.get(name).filter(|_| depth < IMPORTS_MAX)?;
                    let own = import.first() == Some(first);
                    Self::default().follow(scopes, from, import, depth + 1).filter(|_| !own && !rest.is_empty())?
                }
            },
        };
        while let Some((name, others)) = rest.split_first() {
            let here = &scopes.all[scope];
            if name == "super" {
                scope = here.parent?;
            } else if let Some(child) = here.children.get(name) {
                scope = *child;
            } else {
                let import = here.imports.get(name);
                if scope == 0 && import.is_some() && depth == 0 {
                    self.through_root = Some(name.clone());
                }
                self.ends.push((scope, name.clone()));
                return match import.filter(|_| depth < IMPORTS_MAX) {
                    Some(import) => {
                        let found = self.follow(scopes, scope, import, depth + 1)?;
                        self.follow_from(scopes, found, others, depth + 1)
                    }
                    None => self.follow_globs(scopes, scope, rest, depth),
                };
            }
            rest = others;
        }
        self.ends.push((scope, path.last()?.clone()));
        Some(scope)
    }

    fn follow_from(&mut self, scopes: &Scopes, from: usize, rest: &[String], depth: usize) -> Option<usize> {
        if rest.is_empty() {
            return Some(from);
        }
        let path: Vec<String> = ["self".to_owned()].into_iter().chain(rest.iter().cloned()).collect();
        self.follow(scopes, from, &path, depth)
    }

    /// Follows a name that the module imports by a glob.
    fn follow_globs(&mut self, scopes: &Scopes, scope: usize, rest: &[String], depth: usize) -> Option<usize> {
        let here = &scopes.all[scope];
        if here.defined.contains(rest.first()?) || depth >= IMPORTS_MAX {
            return None;
        }
        for glob in &here.globs {
            let target = Self::default().follow(scopes, scope, glob, depth + 1);
            let target = target.filter(|target| {
                let there = &scopes.all[*target];
                rest.first().is_some_and(|name| there.defined.contains(name) || there.imports.contains_key(name))
            });
            if let Some(target) = target {
                return self.follow_from(scopes, target, rest, depth + 1);
            }
        }
        None
    }
}

/// The groups of modules that depend on each other in a circle.
fn circles(arrows: &Arrows) -> Vec<BTreeSet<usize>> {
    let reached: BTreeMap<usize, BTreeSet<usize>> =
        arrows.keys().map(|(from, _)| (*from, reached(arrows, *from))).collect();
    let mut found: Vec<BTreeSet<usize>> = Vec::new();
    for (from, to) in &reached {
        if to.contains(from) && !found.iter().any(|circle| circle.contains(from)) {
            let returns = |other: &&usize| reached.get(other).is_some_and(|back| back.contains(from));
            found.push(to.iter().filter(returns).copied().collect());
        }
    }
    found
}

fn reached(arrows: &Arrows, from: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut next = vec![from];
    while let Some(at) = next.pop() {
        for (_, to) in arrows.keys().filter(|(from, _)| *from == at) {
            if found.insert(*to) {
                next.push(*to);
            }
        }
    }
    found
}

fn describe(scopes: &Scopes, arrows: &Arrows, circle: &BTreeSet<usize>) -> Finding {
    let names: Vec<&str> = circle.iter().map(|scope| scopes.all[*scope].name.as_str()).collect();
    let mut what = format!(
        "{} modules form a circle ({}): move what they share into a module below them",
        names.len(),
        names.join(", ")
    );
    for ((from, to), (names, place)) in arrows {
        if circle.contains(from) && circle.contains(to) {
            let names = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            let [from, to] = [from, to].map(|scope| scopes.all[*scope].name.as_str());
            what.push_str(&format!("\n    {from} -> {to}: {names} ({place})"));
        }
    }
    let first = circle.first().map_or("", |scope| scopes.all[*scope].path.as_str());
    Finding::new(first, 1, what)
}
