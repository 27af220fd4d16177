//! Compilation of patterns.

use super::set::single;
use super::{Place, Program, Set, Step};
use fancy_regex::{Assertion, Expr, LookAround};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// The maximum number of instructions.
const STEPS_MAX: usize = 16 << 10;

/// If the characters with which a match may begin form more ranges than this, the search tries every position.
const FIRST_RANGES_MAX: usize = 1024;

/// The maximum of a count without an upper limit.
const NO_END: u32 = u32::MAX;

/// The reason why a pattern is refused.
#[derive(Debug)]
pub(in crate::pattern) enum Refusal {
    /// The program would be too large.
    TooLarge,
    /// The reason as a part of a sentence.
    Invalid(String),
}

type Result<T> = std::result::Result<T, Refusal>;

fn invalid<T>(reason: impl Into<String>) -> Result<T> {
    Err(Refusal::Invalid(reason.into()))
}

/// Compiles a pattern in the syntax of `fancy-regex`, with options among `ims`, to a program of at
/// most this number of bytes.
pub(in crate::pattern) fn compile(pattern: &str, options: &str, bytes_max: usize) -> Result<Program> {
    let options: String = options.chars().filter(|option| "ims".contains(*option)).collect();
    let text = if options.is_empty() { pattern.to_owned() } else { format!("(?{options}){pattern}") };
    let tree = Expr::parse_tree(&text).map_err(|error| Refusal::Invalid(error.to_string()))?;
    let groups = groups_in(&tree.expr);
    let mut compiler =
        Compiler { steps: Vec::new(), groups, next_group: 0, registers: 3 * groups, bytes: 0, bytes_max };
    compiler.expression(&tree.expr)?;
    compiler.push(Step::Accept)?;
    let mut ranges = Vec::new();
    let first = match first(&tree.expr, &mut ranges) {
        First::Needed => Some(Set::new(&ClassUnicode::new(ranges))),
        First::Optional | First::Unknown => None,
    };
    let (steps, registers) = (compiler.steps, compiler.registers);
    Ok(Program { steps, groups, registers, first, anchored: is_anchored(&tree.expr) })
}

struct Compiler {
    steps: Vec<Step>,
    groups: u32,
    /// The number of groups that have begun.
    next_group: u32,
    registers: u32,
    bytes: usize,
    bytes_max: usize,
}

impl Compiler {
    fn push(&mut self, step: Step) -> Result<usize> {
        self.bytes += size_of::<Step>()
            + match &step {
                Step::Text(text) => text.len(),
                Step::One(set) | Step::Run { set, .. } => set.memory(),
                _ => 0,
            };
        if self.steps.len() >= STEPS_MAX || self.bytes > self.bytes_max {
            return Err(Refusal::TooLarge);
        }
        self.steps.push(step);
        Ok(self.steps.len() - 1)
    }

    /// The index of the next instruction.
    fn next(&self) -> u32 {
        self.steps.len() as u32
    }

    fn replace(&mut self, at: usize, step: Step) {
        if let Some(known) = self.steps.get_mut(at) {
            *known = step;
        }
    }

    fn expression(&mut self, expression: &Expr) -> Result<()> {
        match expression {
            Expr::Empty => {}
            Expr::Literal { val, casei: false } => drop(self.push(Step::Text(val.as_str().into()))?),
            Expr::Concat(parts) => self.concat(parts)?,
            Expr::Alt(branches) => self.branches(branches)?,
            Expr::Group(inner) => {
                let group = self.next_group;
                self.next_group += 1;
                let begin = 2 * self.groups + group;
                self.push(Step::Mark(begin))?;
                self.expression(inner)?;
                self.push(Step::Capture { begin, group })?;
            }
            Expr::LookAround(inner, kind) => {
                let behind = match kind {
                    LookAround::LookAhead | LookAround::LookAheadNeg => None,
                    LookAround::LookBehind | LookAround::LookBehindNeg => Some(width(inner)?),
                };
                let negative = matches!(kind, LookAround::LookAheadNeg | LookAround::LookBehindNeg);
                let at = self.push(Step::Accept)?;
                self.expression(inner)?;
                self.push(Step::Accept)?;
                self.replace(at, Step::Look { behind, negative, next: self.next() });
            }
            Expr::AtomicGroup(inner) => {
                let at = self.push(Step::Accept)?;
                self.expression(inner)?;
                self.push(Step::Accept)?;
                self.replace(at, Step::Atomic { next: self.next() });
            }
            Expr::Repeat { child, lo, hi, greedy } => {
                let number = |count: usize| u32::try_from(count).unwrap_or(NO_END);
                self.repeat(child, number(*lo), number(*hi), *greedy)?;
            }
            Expr::Backref { group, casei } => match u32::try_from(*group) {
                Ok(number @ 1..) if number <= self.groups => {
                    self.push(Step::Again { group: number - 1, folds: *casei })?;
                }
                _ => return invalid(format!("the back reference \\{group} is to no group")),
            },
            Expr::Assertion(assertion) => {
                let place = match assertion {
                    Assertion::StartText => Place::Start,
                    Assertion::EndText => Place::End,
                    Assertion::StartLine { crlf: false } => Place::LineStart,
                    Assertion::EndLine { crlf: false } => Place::LineEnd,
                    Assertion::WordBoundary => Place::WordEdge,
                    Assertion::NotWordBoundary => Place::NoWordEdge,
                    other => return invalid(format!("{other:?} is not supported")),
                };
                self.push(Step::At(place))?;
            }
            other => match characters(other)? {
                Some(sets) => {
                    for set in sets {
                        self.push(Step::One(Set::new(&set)))?;
                    }
                }
                None => return invalid(format!("{other:?} is not supported")),
            },
        }
        Ok(())
    }

    /// Adjacent characters are combined into one text.
    fn concat(&mut self, parts: &[Expr]) -> Result<()> {
        let mut text = String::new();
        for part in parts {
            if let Expr::Literal { val, casei: false } = part {
                text.push_str(val);
                continue;
            }
            if !text.is_empty() {
                self.push(Step::Text(std::mem::take(&mut text).into()))?;
            }
            self.expression(part)?;
        }
        if !text.is_empty() {
            self.push(Step::Text(text.into()))?;
        }
        Ok(())
    }

    fn branches(&mut self, branches: &[Expr]) -> Result<()> {
        let mut ends = Vec::with_capacity(branches.len());
        for (at, branch) in branches.iter().enumerate() {
            if at + 1 == branches.len() {
                self.expression(branch)?;
                break;
            }
            let choice = self.push(Step::Accept)?;
            self.expression(branch)?;
            ends.push(self.push(Step::Accept)?);
            self.replace(choice, Step::Either { first: choice as u32 + 1, second: self.next() });
        }
        for end in ends {
            self.replace(end, Step::Jump(self.next()));
        }
        Ok(())
    }

    fn repeat(&mut self, child: &Expr, least: u32, most: u32, greedy: bool) -> Result<()> {
        if most == 0 {
            self.next_group += groups_in(child);
            return Ok(());
        }
        let set = characters(child)?.filter(|sets| sets.len() == 1).and_then(|sets| sets.into_iter().next());
        match (set, least, most) {
            (_, 1, 1) => self.expression(child),
            (Some(set), ..) if greedy || least == most => {
                self.push(Step::Run { set: Set::new(&set), least, most }).map(drop)
            }
            (Some(set), _, NO_END) => {
                let set = Set::new(&set);
                if least > 0 {
                    self.push(Step::Run { set: set.clone(), least, most: least })?;
                }
                let begin = self.next();
                self.push(Step::Either { first: begin + 3, second: begin + 1 })?;
                self.push(Step::One(set))?;
                self.push(Step::Jump(begin)).map(drop)
            }
            (_, 0, 1) => {
                let choice = self.push(Step::Accept)?;
                self.expression(child)?;
                let (inside, behind) = (choice as u32 + 1, self.next());
                let (first, second) = if greedy { (inside, behind) } else { (behind, inside) };
                self.replace(choice, Step::Either { first, second });
                Ok(())
            }
            _ => {
                let count = self.registers;
                self.registers += 2;
                self.push(Step::Enter { count })?;
                let iterate = self.push(Step::Accept)?;
                self.push(Step::Begin { count })?;
                self.expression(child)?;
                self.push(Step::Next { count, least, iterate: iterate as u32 })?;
                self.replace(iterate, Step::Iterate { count, least, most, greedy, exit: self.next() });
                Ok(())
            }
        }
    }
}

/// The number of groups in an expression.
fn groups_in(expression: &Expr) -> u32 {
    let own = u32::from(matches!(expression, Expr::Group(_)));
    own + expression.children_iter().map(groups_in).sum::<u32>()
}

/// The sets of characters of which an expression consists; `None` for other kinds of expressions.
fn characters(expression: &Expr) -> Result<Option<Vec<ClassUnicode>>> {
    match expression {
        Expr::Literal { val, casei } => Ok(Some(val.chars().map(|c| single(c, *casei)).collect())),
        Expr::Any { newline, crlf: false } => {
            let mut class = all();
            if !newline {
                class.difference(&single('\n', false));
            }
            Ok(Some(vec![class]))
        }
        Expr::Delegate { inner, casei } => {
            let mut builder = regex_syntax::ParserBuilder::new();
            let parsed = builder.case_insensitive(*casei).build().parse(inner);
            let parsed = parsed.map_err(|error| {
                let text = error.to_string();
                Refusal::Invalid(text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned())
            })?;
            match parsed.kind() {
                HirKind::Class(Class::Unicode(class)) => Ok(Some(vec![class.clone()])),
                HirKind::Class(Class::Bytes(class)) => Ok(class.to_unicode_class().map(|class| vec![class])),
                HirKind::Literal(literal) => Ok(std::str::from_utf8(&literal.0)
                    .ok()
                    .map(|text| text.chars().map(|c| single(c, false)).collect())),
                _ => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

fn all() -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)])
}

/// The minimum and the maximum number of characters of a look-behind.
fn width(expression: &Expr) -> Result<(u32, u32)> {
    let no_fixed = || Refusal::Invalid("a look-behind must have a fixed length".to_owned());
    match expression {
        Expr::Empty | Expr::LookAround(..) | Expr::Assertion(_) => Ok((0, 0)),
        Expr::Literal { val, .. } => {
            let length = u32::try_from(val.chars().count()).map_err(|_| no_fixed())?;
            Ok((length, length))
        }
        Expr::Any { .. } | Expr::Delegate { .. } => Ok((1, 1)),
        Expr::Concat(parts) => parts.iter().try_fold((0u32, 0u32), |(least, most), part| {
            let (a, b) = width(part)?;
            Ok((least.saturating_add(a), most.saturating_add(b)))
        }),
        Expr::Alt(branches) => {
            let widths = branches.iter().map(width).collect::<Result<Vec<_>>>()?;
            let least = widths.iter().map(|(least, _)| *least).min().unwrap_or(0);
            Ok((least, widths.iter().map(|(_, most)| *most).max().unwrap_or(0)))
        }
        Expr::Group(inner) => width(inner),
        Expr::AtomicGroup(inner) => width(inner),
        Expr::Repeat { child, lo, hi, .. } => {
            let (least, most) = width(child)?;
            let times = |width: u32, count: usize| u32::try_from(count).ok().and_then(|count| width.checked_mul(count));
            Ok((times(least, *lo).ok_or_else(no_fixed)?, times(most, *hi).ok_or_else(no_fixed)?))
        }
        Expr::Backref { .. } => invalid("back references in a look-behind are not supported"),
        _ => Err(no_fixed()),
    }
}

/// The known facts about the first character of a match.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    /// The first character is one of the collected characters.
    Needed,
    /// The first character may be a different one, because the expression may match the empty text.
    Optional,
    Unknown,
}

/// Collects the characters with which an expression may begin.
fn first(expression: &Expr, ranges: &mut Vec<ClassUnicodeRange>) -> First {
    if ranges.len() > FIRST_RANGES_MAX {
        return First::Unknown;
    }
    match expression {
        Expr::Empty | Expr::LookAround(..) | Expr::Assertion(_) => First::Optional,
        Expr::Concat(parts) => {
            let mut all = parts.iter().map(|part| first(part, ranges));
            all.find(|first| *first != First::Optional).unwrap_or(First::Optional)
        }
        Expr::Alt(branches) => {
            let mut known = First::Needed;
            for branch in branches {
                match first(branch, ranges) {
                    First::Unknown => return First::Unknown,
                    First::Optional => known = First::Optional,
                    First::Needed => {}
                }
            }
            known
        }
        Expr::Group(inner) => first(inner, ranges),
        Expr::AtomicGroup(inner) => first(inner, ranges),
        Expr::Repeat { hi: 0, .. } => First::Optional,
        Expr::Repeat { child, lo, .. } => match (first(child, ranges), lo) {
            (First::Needed, 0) => First::Optional,
            (known, _) => known,
        },
        other => match characters(other) {
            Ok(Some(sets)) => match sets.first() {
                Some(set) => {
                    ranges.extend(set.iter());
                    First::Needed
                }
                None => First::Optional,
            },
            _ => First::Unknown,
        },
    }
}

/// True if a match can only begin at the start of the text.
fn is_anchored(expression: &Expr) -> bool {
    match expression {
        Expr::Assertion(Assertion::StartText) => true,
        Expr::Concat(parts) => {
            let takes_nothing = |part: &&Expr| matches!(part, Expr::Empty | Expr::Assertion(_) | Expr::LookAround(..));
            let leading = parts.iter().take_while(takes_nothing).any(is_anchored);
            leading || parts.iter().find(|part| !takes_nothing(part)).is_some_and(is_anchored)
        }
        Expr::Alt(branches) => branches.iter().all(is_anchored),
        Expr::Group(inner) => is_anchored(inner),
        Expr::AtomicGroup(inner) | Expr::LookAround(inner, LookAround::LookAhead) => is_anchored(inner),
        Expr::Repeat { child, lo: 1.., .. } => is_anchored(child),
        _ => false,
    }
}
