//! Rows under columns: tables for people, Markdown, CSV and TSV.
//!
//! The columns are given, or they are the fields of the first rows. A table also holds its first rows back to find the
//! widths; later rows are written at once. A table of figures holds all its rows back.

use super::cells::{self, Cell, Kind};
use super::fit::{self, GAP, Wanted};
use crate::text;
use alluvium::Map;
use alluvium::export::{Separated, write_row};
use alluvium_document::json::PrintError;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use unicode_width::UnicodeWidthStr;

/// The number of rows from which the columns and their widths are determined.
pub(super) const LOOK_AHEAD_ROWS: usize = 1000;
/// After this number of bytes, the rows so far determine the columns and their widths.
const LOOK_AHEAD_BYTES: usize = 8 << 20;
/// The maximum number of cells to which a column is padded, if the width is not limited.
const PADDED_MOST: usize = 60;
/// The number of late fields that a note lists: fields that first appeared after the columns were fixed.
const LATE_LISTED: usize = 12;

/// The cell for a column after the end of a row.
static MISSING: Cell = Cell::MISSING;

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// How the rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Columns of equal width, cut to the width of the terminal.
    Table,
    Markdown,
    /// Values that are separated by this byte.
    Separated(u8),
}

/// The name of a column that is known before the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heading {
    pub name: String,
    /// The column is aligned to the right. Columns of numbers always are.
    pub is_right: bool,
}

impl From<&str> for Heading {
    fn from(name: &str) -> Self {
        Self { name: name.to_owned(), is_right: false }
    }
}

impl Heading {
    /// A column that is aligned to the right, such as a column of amounts with units.
    pub(crate) fn right(name: &str) -> Self {
        Self { is_right: true, ..Self::from(name) }
    }
}

/// The reason why a row was not written.
#[derive(Debug)]
pub(super) enum Refused {
    /// A value cannot be represented as text.
    NoJson(PrintError),
    /// A field has no column, because none of the first rows has it.
    Late { field: String, rows: usize },
}

impl From<PrintError> for Refused {
    fn from(error: PrintError) -> Self {
        Self::NoJson(error)
    }
}

/// Writes rows.
pub(super) struct Grid {
    style: Style,
    /// The width that a table may take.
    width: Option<usize>,
    colours: bool,
    /// The columns that the user or the command chose.
    given: Option<Vec<Heading>>,
    columns: Columns,
    /// Rows that are held back until the columns and widths are known.
    held: Vec<Vec<Cell>>,
    held_bytes: usize,
    /// The number of rows from which the columns and their widths are determined.
    look_ahead: usize,
    /// The number of rows that determined the columns.
    looked_at: usize,
    /// The layout of the columns, once they are known.
    layout: Option<Vec<Column>>,
    /// Fields that first appeared after the columns were fixed.
    late: BTreeSet<String>,
}

/// The names of columns. A name occurs twice if one document has two fields with the same path.
#[derive(Default)]
struct Columns {
    names: Vec<String>,
    by_name: HashMap<String, Vec<usize>>,
}

impl Columns {
    /// The column for a field of a row; `row` is the cells of the row so far. Adds a column if none is free.
    fn place(&mut self, name: &str, row: &[Cell], may_add: bool) -> Option<usize> {
        let is_free = |at: &usize| row.get(*at).is_none_or(|cell| cell.kind == Kind::Missing);
        if let Some(at) = self.by_name.get(name).and_then(|places| places.iter().copied().find(is_free)) {
            return Some(at);
        }
        may_add.then(|| {
            let at = self.names.len();
            self.names.push(name.to_owned());
            self.by_name.entry(name.to_owned()).or_default().push(at);
            at
        })
    }
}

/// The width and the alignment of a column.
#[derive(Debug, Clone, Copy)]
struct Column {
    width: usize,
    is_right: bool,
}

impl Grid {
    /// A grid without rows. `width` limits the width of a table.
    pub(super) fn new(style: Style, given: Option<Vec<Heading>>, width: Option<usize>, colours: bool) -> Self {
        Self {
            style,
            width,
            colours,
            given,
            columns: Columns::default(),
            held: Vec::new(),
            held_bytes: 0,
            look_ahead: LOOK_AHEAD_ROWS,
            looked_at: 0,
            layout: None,
            late: BTreeSet::new(),
        }
    }

    /// Makes the widths fit all rows. Suitable for figures, which are in memory.
    pub(super) fn of_figures(self) -> Self {
        Self { look_ahead: usize::MAX, ..self }
    }

    /// True for CSV and TSV, which contain the texts of the documents unchanged.
    pub(super) fn is_separated(&self) -> bool {
        matches!(self.style, Style::Separated(_))
    }

    /// Adds a row, and appends to `out` the text that can be written by now.
    ///
    /// # Errors
    /// [`Refused`] if the row is not written; later rows may still be.
    pub(super) fn row(&mut self, map: &Map, out: &mut Vec<u8>) -> Result<(), Refused> {
        let row = self.cells(map)?;
        if self.layout.is_none() {
            self.held_bytes += row.iter().map(|cell| cell.text.len() + size_of::<Cell>()).sum::<usize>();
            self.held.push(row);
            let is_enough = self.held.len() >= self.look_ahead || self.held_bytes > LOOK_AHEAD_BYTES;
            // CSV needs no widths.
            if is_enough || (self.given.is_some() && self.is_separated()) {
                self.begin(out);
            }
            return Ok(());
        }
        self.write(&row, out);
        Ok(())
    }

    fn cells(&mut self, map: &Map) -> Result<Vec<Cell>, Refused> {
        let style = self.style;
        if let Some(given) = &self.given {
            let cell = |heading: &Heading| -> Result<Cell, Refused> {
                Ok(map
                    .get(&heading.name)
                    .map(Cell::of)
                    .transpose()?
                    .map_or(Cell::MISSING, |cell| prepared(cell, style)))
            };
            return given.iter().map(cell).collect();
        }
        let fields = cells::fields(map)?.into_iter();
        let cells: Vec<(String, Cell)> =
            fields.map(|(path, value)| Ok((path, Cell::of(value)?))).collect::<Result<_, PrintError>>()?;
        let mut row = vec![Cell::MISSING; self.columns.names.len()];
        let may_add = self.layout.is_none();
        for (path, cell) in cells {
            match self.columns.place(&path, &row, may_add) {
                Some(at) => {
                    row.resize(row.len().max(at + 1), Cell::MISSING);
                    row[at] = prepared(cell, style);
                }
                None if self.is_separated() => return Err(Refused::Late { field: path, rows: self.looked_at }),
                None if self.late.len() > LATE_LISTED => {}
                None => {
                    self.late.insert(path);
                }
            }
        }
        Ok(row)
    }

    /// Writes the rows that are held back. The grid is then empty, and its columns are unknown again.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        if self.layout.is_none() && (self.given.is_some() || !self.held.is_empty()) {
            self.begin(out);
        }
        let shown = self.layout.take().map_or(usize::MAX, |shown| shown.len());
        let hidden: Vec<String> = self.names().skip(shown).map(text::plain).collect();
        if !hidden.is_empty() {
            let what = format!("… and {}: {}", text::counted(hidden.len() as u64, "more column"), hidden.join(", "));
            let cut = fit::cut(&what, self.width.unwrap_or(usize::MAX));
            self.styled(&cut, DIM, out);
            out.push(b'\n');
        }
        (self.columns, self.held_bytes, self.looked_at) = (Columns::default(), 0, 0);
    }

    /// A note about fields that have no column.
    pub(super) fn note(&self) -> Option<String> {
        let mut names: Vec<&str> = self.late.iter().take(LATE_LISTED).map(String::as_str).collect();
        if self.late.is_empty() {
            return None;
        }
        if self.late.len() > LATE_LISTED {
            names.push("…");
        }
        Some(format!("fields that appear only in later documents are left out: {}", names.join(", ")))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let given = self.given.iter().flatten().map(|heading| heading.name.as_str());
        given.chain(self.columns.names.iter().map(String::as_str))
    }

    /// Fixes the columns, and writes their names and the rows that are held back.
    fn begin(&mut self, out: &mut Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        self.looked_at = held.len();
        self.layout = Some(self.layout_of(&held));
        self.write_names(out);
        held.iter().for_each(|row| self.write(row, out));
    }

    fn layout_of(&self, rows: &[Vec<Cell>]) -> Vec<Column> {
        let is_right =
            |at: usize| self.given.as_ref().and_then(|given| given.get(at)).is_some_and(|name| name.is_right);
        let wanted = self.names().enumerate().map(|(at, name)| {
            let cells = || rows.iter().filter_map(|row| row.get(at));
            let of_name = shown_text(name, self.style).width();
            let width = cells().map(|cell| cell.text.width()).max().unwrap_or(0).max(of_name).max(1);
            let has_numbers = cells().any(|cell| cell.kind == Kind::Number);
            let is_number = has_numbers && cells().all(|cell| cell.kind != Kind::Text);
            Wanted { width, is_number: is_number || is_right(at) }
        });
        let wanted: Vec<Wanted> = match self.style {
            // The widths are not used.
            Style::Separated(_) => return vec![Column { width: 0, is_right: false }; self.names().count()],
            Style::Table => wanted.collect(),
            // Markdown requires at least three dashes under a heading.
            Style::Markdown => wanted.map(|column| Wanted { width: column.width.max(3), ..column }).collect(),
        };
        let widths = match (self.style, self.width) {
            (Style::Table, Some(room)) => fit::fit(&wanted, room),
            _ => wanted.iter().map(|column| column.width.min(PADDED_MOST)).collect(),
        };
        widths.into_iter().zip(wanted).map(|(width, wanted)| Column { width, is_right: wanted.is_number }).collect()
    }

    fn write_names(&self, out: &mut Vec<u8>) {
        let columns = self.layout.as_deref().unwrap_or_default();
        let is_cut = self.style == Style::Table && self.width.is_some();
        let name_of = |(name, column): (&str, &Column)| {
            let shown = shown_text(name, self.style);
            Cell::text(if is_cut { fit::cut_path(&shown, column.width).into_owned() } else { shown.into_owned() })
        };
        let cells: Vec<Cell> = self.names().zip(columns).map(name_of).collect();
        match self.style {
            Style::Separated(separator) => write_separated(&cells, separator, out),
            Style::Table => {
                self.write_table(&cells, BOLD, out);
                let rules: Vec<Cell> = columns.iter().map(|column| Cell::text("-".repeat(column.width))).collect();
                self.write_table(&rules, DIM, out);
            }
            Style::Markdown => {
                self.write_markdown(&cells, out);
                let rule = |column: &Column| {
                    let dashes = "-".repeat(column.width - usize::from(column.is_right));
                    Cell::text(dashes + if column.is_right { ":" } else { "" })
                };
                let rules: Vec<Cell> = columns.iter().map(rule).collect();
                self.write_markdown(&rules, out);
            }
        }
    }

    fn write(&self, row: &[Cell], out: &mut Vec<u8>) {
        match self.style {
            Style::Separated(separator) => {
                let missing = self.names().count().saturating_sub(row.len());
                let row: Vec<&Cell> = row.iter().chain(std::iter::repeat_n(&MISSING, missing)).collect();
                write_separated(&row, separator, out);
            }
            Style::Table => self.write_table(row, "", out),
            Style::Markdown => self.write_markdown(row, out),
        }
    }

    /// A line of a table, without blanks at its end.
    fn write_table(&self, row: &[Cell], style: &str, out: &mut Vec<u8>) {
        let mut blanks = 0;
        for (at, column) in self.layout.iter().flatten().enumerate() {
            blanks += if at == 0 { 0 } else { GAP };
            let cell = row.get(at).unwrap_or(&MISSING);
            let shown =
                if self.width.is_some() { fit::cut(&cell.text, column.width) } else { Cow::Borrowed(&*cell.text) };
            let pad = column.width.saturating_sub(shown.width());
            if shown.is_empty() {
                blanks += pad;
                continue;
            }
            blanks += if column.is_right { pad } else { 0 };
            out.extend(std::iter::repeat_n(b' ', blanks));
            self.styled(&shown, if cell.kind == Kind::Null { DIM } else { style }, out);
            blanks = if column.is_right { 0 } else { pad };
        }
        out.push(b'\n');
    }

    fn write_markdown(&self, row: &[Cell], out: &mut Vec<u8>) {
        out.push(b'|');
        for (at, column) in self.layout.iter().flatten().enumerate() {
            let text = row.get(at).map_or("", |cell| cell.text.as_str());
            let pad = " ".repeat(column.width.saturating_sub(text.width()));
            let cell = if column.is_right { format!(" {pad}{text} |") } else { format!(" {text}{pad} |") };
            out.extend_from_slice(cell.as_bytes());
        }
        out.push(b'\n');
    }

    fn styled(&self, text: &str, style: &str, out: &mut Vec<u8>) {
        let (begin, end) = if self.colours && !style.is_empty() { (style, PLAIN) } else { ("", "") };
        [begin, text, end].iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
    }
}

/// The text of a cell: escaped, and with a word for null in the formats for people.
fn prepared(cell: Cell, style: Style) -> Cell {
    match (style, cell.kind) {
        (Style::Separated(_), _) => cell,
        (_, Kind::Null) => Cell { text: "null".to_owned(), ..cell },
        _ => match shown_text(&cell.text, style) {
            Cow::Borrowed(_) => cell,
            Cow::Owned(text) => Cell { text, ..cell },
        },
    }
}

/// A text on one line of a table. Characters that would affect the terminal or break the table are escaped.
fn shown_text(text: &str, style: Style) -> Cow<'_, str> {
    let is_special = |c: char| c.is_control() || is_of_direction(c) || (c == '|' && style == Style::Markdown);
    if matches!(style, Style::Separated(_)) || !text.contains(is_special) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '|' if style == Style::Markdown => shown.push_str("\\|"),
            c if is_special(c) => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Characters that change the direction of the text after them, and thereby the order of columns.
fn is_of_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn write_separated<C: AsRef<Cell>>(row: &[C], separator: u8, out: &mut Vec<u8>) {
    let fields = row.iter().map(AsRef::as_ref).map(|cell| match cell.kind {
        Kind::Missing => Separated::Missing,
        Kind::Null => Separated::Null,
        Kind::Number | Kind::Text => Separated::Text(&cell.text),
    });
    write_row(separator, "", fields, out);
}

#[cfg(test)]
mod tests;
