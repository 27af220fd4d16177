//! The table of counts: its text, and the comparison of two tables.

use std::fmt;

/// The percentage by which a path may differ from the table.
pub(crate) const TOLERANCE_PERCENT: f64 = 3.0;

const HEAD: &str = "\
# Instructions for each operation of the hot paths, as callgrind counts them.
# `make counts` compares, `make counts-update` writes this file (docs/TESTING.md).
";

/// Counts, and everything that they depend on, except the sources.
#[derive(Debug, PartialEq)]
pub(crate) struct Table {
    /// The versions of the compiler, the C library and valgrind, and the kind of processor.
    pub(crate) made_with: Vec<String>,
    /// The paths, in the order in which they run.
    pub(crate) counts: Vec<Count>,
}

/// The instructions of one path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Count {
    pub(crate) path: String,
    /// The number of instructions for each operation.
    pub(crate) instructions: u64,
}

impl Table {
    /// Reads the output of [`fmt::Display`].
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut table = Self { made_with: Vec::new(), counts: Vec::new() };
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(with) = line.strip_prefix("with ") {
                table.made_with.push(with.to_owned());
                continue;
            }
            let mut words = line.split_whitespace();
            match (words.next(), words.next().map(str::parse), words.next()) {
                (Some(path), Some(Ok(instructions)), None) => {
                    table.counts.push(Count { path: path.to_owned(), instructions });
                }
                _ => return Err(format!("this line is not a path and a number: {line}")),
            }
        }
        Ok(table)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEAD)?;
        self.made_with.iter().try_for_each(|with| writeln!(f, "with {with}"))?;
        self.counts.iter().try_for_each(|count| writeln!(f, "{:16} {:>9}", count.path, count.instructions))
    }
}

/// One path in two tables; `None` for a table that does not have the path.
#[derive(Debug, PartialEq)]
pub(crate) struct Difference {
    path: String,
    before: Option<u64>,
    now: Option<u64>,
}

impl Difference {
    /// True if the path must be examined.
    pub(crate) fn is_beyond_tolerance(&self) -> bool {
        self.percent().is_none_or(|percent| percent.abs() > TOLERANCE_PERCENT)
    }

    fn percent(&self) -> Option<f64> {
        let (before, now) = (self.before? as f64, self.now? as f64);
        Some((now - before) / before.max(1.0) * 100.0)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |count: Option<u64>| count.map_or_else(|| "none".to_owned(), |count| count.to_string());
        write!(f, "{:16} before {:>9} now {:>9}", self.path, number(self.before), number(self.now))?;
        self.percent().map_or(Ok(()), |percent| write!(f, " {percent:+.2}%"))?;
        f.write_str(if self.is_beyond_tolerance() { " DIFFERS" } else { "" })
    }
}

/// The differences for all paths that are in either table.
pub(crate) fn differences(before: &Table, now: &Table) -> Vec<Difference> {
    let find = |table: &Table, path: &str| {
        table.counts.iter().find(|count| count.path == path).map(|count| count.instructions)
    };
    let gone = before.counts.iter().filter(|count| find(now, &count.path).is_none());
    let paths = now.counts.iter().chain(gone).map(|count| &count.path);
    paths.map(|path| Difference { path: path.clone(), before: find(before, path), now: find(now, path) }).collect()
}

/// The total number of instructions in a file that callgrind wrote.
pub(crate) fn total(text: &str) -> Option<u64> {
    let line = text.lines().rev().find_map(|line| line.strip_prefix("totals: "));
    line?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests;
