//! Prints documents, or rows of figures, in any format, one after the other.

use super::Output;
use super::format::{DocumentFormat, FormatName};
pub(crate) use super::grid::Heading;
use super::grid::{Grid, Refused, Style};
use super::terminal;
use crate::exit::{Failure, Outcome};
use crate::notes;
use crate::session;
use crate::settings::ids;
use crate::text;
use alluvium::{Document, Map, Value};
use alluvium_document::json::{self, Format};

/// Standard output for documents in one format. Without [`Rows::finish`] the last part may be lost.
pub(crate) struct Rows {
    out: Output,
    layout: Layout,
    /// True after the first title.
    is_titled: bool,
    /// A buffer that is reused for each row.
    line: Vec<u8>,
}

enum Layout {
    /// One object per line.
    Lines(Format),
    /// One array, with the number of elements so far.
    Array(Format, u64),
    Grid(Box<Grid>),
}

impl Rows {
    /// Output in a format. `columns` are the columns of a table, if they are known; JSON ignores them.
    pub(crate) fn new(format: DocumentFormat, columns: Option<Vec<Heading>>) -> Self {
        let grid = |style| {
            let (width, colours) = (terminal::width(), terminal::has_colours());
            Grid::new(style, columns, width, colours)
        };
        Self::with_grid(format, grid)
    }

    fn with_grid(format: DocumentFormat, grid: impl FnOnce(Style) -> Grid) -> Self {
        let grid = |style| Layout::Grid(Box::new(grid(style)));
        let json = format.json;
        let (layout, is_paged) = match format.name {
            // In a shell on a terminal, documents are printed in pages instead of by a pager.
            None if session::is_pretty() => (Layout::Lines(Format { pretty: true, ..json }), false),
            None | Some(FormatName::Jsonl) => (Layout::Lines(json), true),
            Some(FormatName::Json) => (Layout::Array(json, 0), true),
            Some(FormatName::Table) => (grid(Style::Table), true),
            Some(FormatName::Csv) => (grid(Style::Separated(b',')), true),
            Some(FormatName::Tsv) => (grid(Style::Separated(b'\t')), true),
            Some(FormatName::Markdown) => (grid(Style::Markdown), true),
        };
        let out = if is_paged { Output::paged() } else { Output::new() };
        Self { out, layout, is_titled: false, line: Vec::new() }
    }

    /// Output of figures under these columns, which are made as wide as the figures need.
    pub(crate) fn of_figures(format: DocumentFormat, columns: &[Heading]) -> Self {
        let (width, colours) = (terminal::width(), terminal::has_colours());
        Self::with_grid(format, |style| Grid::new(style, Some(columns.to_vec()), width, colours).of_figures())
    }

    /// Prints a document.
    pub(crate) fn document(&mut self, document: &Document) -> Outcome {
        let map = document.to_map().map_err(|error| {
            let id = ids::show(document.id());
            Failure::Damaged(format!("document {id} is damaged: {error}"))
        })?;
        self.map(&map)
    }

    /// Prints fields.
    pub(crate) fn map(&mut self, map: &Map) -> Outcome {
        match &mut self.layout {
            Layout::Lines(format) => {
                self.out.turn_page()?;
                self.out.json_map(map, *format, "", "\n")?;
            }
            Layout::Array(format, printed) => {
                let before = if *printed == 0 { "[\n" } else { ",\n" };
                *printed += u64::from(self.out.json_map(map, *format, before, "")?);
            }
            Layout::Grid(grid) => {
                self.line.clear();
                match grid.row(map, &mut self.line) {
                    Ok(()) => self.print()?,
                    Err(Refused::NoJson(error)) => self.out.leave_out(map.get("_id"), &error),
                    Err(Refused::Late { field, rows }) => return Err(late(map, &field, rows)),
                }
            }
        }
        Ok(())
    }

    /// Prints the title of a table; the rows so far become a separate table.
    pub(crate) fn title(&mut self, text: &str) -> Outcome {
        if std::mem::replace(&mut self.is_titled, true) {
            self.end_grid()?;
        }
        self.out.text(text)
    }

    /// Writes the buffer, but not the rows that are held back to find their columns.
    pub(crate) fn flush(&mut self) -> Outcome {
        self.out.flush()
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// A write failed, or documents could not be printed.
    pub(crate) fn finish(mut self) -> Outcome {
        match &self.layout {
            Layout::Lines(_) => {}
            Layout::Array(_, 0) => self.out.text("[]\n")?,
            Layout::Array(..) => self.out.text("\n]\n")?,
            Layout::Grid(_) => self.end_grid()?,
        }
        self.out.finish()?;
        if let Layout::Grid(grid) = &self.layout
            && let Some(note) = grid.note()
        {
            notes::say(&note);
        }
        Ok(())
    }

    /// Writes the rows that a grid holds back; the next row begins another grid.
    fn end_grid(&mut self) -> Outcome {
        let Layout::Grid(grid) = &mut self.layout else { return Ok(()) };
        self.line.clear();
        grid.end(&mut self.line);
        self.print()
    }

    /// Prints the line of a grid.
    fn print(&mut self) -> Outcome {
        match &self.layout {
            // The texts of a table are already escaped, and may have colours.
            Layout::Grid(grid) if !grid.is_separated() => self.out.bytes(&self.line),
            _ => self.out.content(&self.line),
        }
    }
}

/// The columns for documents that are printed with their `_id` and these paths.
pub(crate) fn headings_of(paths: &[&str]) -> Vec<Heading> {
    let others = paths.iter().copied().filter(|path| *path != "_id");
    std::iter::once("_id").chain(others).map(Heading::from).collect()
}

/// Prints rows of figures: as a JSON array on one line, or in a format under these columns.
pub(crate) fn print_figures(
    rows: impl IntoIterator<Item = Outcome<Map>>,
    columns: &[Heading],
    as_json: bool,
    format: FormatName,
) -> Outcome {
    if as_json {
        let mut out = Output::new();
        let mut before = "[";
        for row in rows {
            let text = json::to_string(&Value::Map(row?), Format::RELAXED);
            let text = text.map_err(|error| Failure::Other(error.to_string()))?;
            out.text(&format!("{before}{text}"))?;
            before = ",";
        }
        out.text(if before == "[" { "[]\n" } else { "]\n" })?;
        return out.finish();
    }
    let mut out = Rows::of_figures(format.into(), columns);
    rows.into_iter().try_for_each(|row| out.map(&row?))?;
    out.finish()
}

/// The failure for a field without a column.
fn late(map: &Map, field: &str, rows: usize) -> Failure {
    let id = map.get("_id").map_or_else(|| "without an _id".to_owned(), ids::show);
    Failure::Other(format!(
        "the document {id} has a field {} that none of the first {} has, so it has no column: choose the columns \
         (find, scan and get have --fields), or another format (`export --format csv`, also with --pipeline, reads all documents \
         first, to find the columns)",
        text::plain(field),
        text::counted(rows as u64, "document"),
    ))
}
