//! Opens the input of a load: reads what precedes the first record, or skips to the offset of a
//! resumed load.

use super::columns::{BadField, Columns};
use super::framed::{
    BsonFraming, CsvFraming, Cutter, FramedSlicer, Framing, JsonFraming, Outer, Seeker, Start, place_after,
};
use super::progress::Mark;
use super::rows::{Dialect, RowField, Rows};
use super::slice::{SliceLimits, Slicer, fill};
use super::{BOM, Csv, Format, Source};
use alluvium_collections::error::{Error, Result};
use std::io;
use std::sync::Arc;

/// The limit of the first row, in bytes.
const MAX_HEADER: usize = 4 << 20;
/// The types of columns are decided from the rows in this many bytes, and from at most [`SAMPLE_ROWS`] rows. DuckDB
/// samples the same number of rows.
const SAMPLE_BYTES: usize = 1 << 20;
const SAMPLE_ROWS: usize = 20_480;
/// The reason for refusing a field with text after its closing quote.
pub(super) const MALFORMED: &str =
    "text follows the closing quote of a field: a quote within quotes is written twice, as in \"a \"\"b\"\"\"";

/// An opened input, ready to be cut into slices.
pub(crate) struct Opened {
    pub cutter: Cutter,
    /// How rows are read, if the input is CSV.
    pub rows: Option<Arc<CsvRows>>,
    /// Where the first slice begins.
    pub begin: Mark,
}

/// How rows of CSV become documents.
pub(crate) struct CsvRows {
    pub dialect: Dialect,
    pub columns: Columns,
}

/// Opens a source at the mark `before`.
pub(crate) fn open_input(
    name: &str,
    source: Box<dyn Source>,
    format: &Format,
    before: Mark,
    limits: SliceLimits,
) -> Result<Opened> {
    let cannot = |error: io::Error| Error::Load(format!("cannot read {name}: {error}"));
    let fresh = before.offset == 0;
    let framing: Box<dyn Framing> = match format {
        Format::JsonLines | Format::ExactLines => {
            let slicer = Slicer::new(source, before.offset, limits).map_err(cannot)?;
            return Ok(Opened { cutter: Cutter::Lines(slicer), rows: None, begin: before });
        }
        Format::Csv(csv) => return open_csv(name, source, csv, before, limits),
        Format::JsonArrayAt(path) => return open_array(name, source, path, before, limits),
        Format::JsonArray => Box::new(JsonFraming::new(Outer::Array, fresh)),
        Format::JsonFields => Box::new(JsonFraming::new(Outer::Object, fresh)),
        Format::JsonObjects => Box::new(JsonFraming::new(Outer::Nothing, fresh)),
        Format::Bson => Box::new(BsonFraming::default()),
    };
    let mut source = source;
    if before.offset > 0 {
        source.skip(before.offset).map_err(cannot)?;
    }
    let place = Start { offset: before.offset, column: before.column };
    let slicer = FramedSlicer::new(source, framing, Vec::new(), place, limits);
    Ok(Opened { cutter: Cutter::Framed(slicer), rows: None, begin: before })
}

/// The text before the array is read in pieces of this many bytes.
const SEEK_BYTES: usize = 256 << 10;

/// Opens the array at a path. The text before it is read in pieces.
fn open_array(
    name: &str,
    mut source: Box<dyn Source>,
    path: &str,
    before: Mark,
    limits: SliceLimits,
) -> Result<Opened> {
    let cannot = |error: io::Error| Error::Load(format!("cannot read {name}: {error}"));
    let mut begin = before;
    let mut carry = Vec::new();
    if before.offset > 0 {
        source.skip(before.offset).map_err(cannot)?;
    } else {
        let (mut seeker, mut ended, mut is_first) = (Seeker::new(path), false, true);
        loop {
            carry.clear();
            fill(source.as_mut(), &mut ended, &mut carry, SEEK_BYTES).map_err(cannot)?;
            let mark = if is_first && carry.starts_with(BOM) { BOM.len() } else { 0 };
            is_first = false;
            let found = seeker.scan(carry.get(mark..).unwrap_or(&[])).map(|at| at.map(|at| at + mark));
            let taken = match &found {
                Ok(at) => at.unwrap_or(carry.len()),
                Err(broken) => broken.at + mark,
            };
            let (lines, column) = place_after(carry.get(..taken).unwrap_or(&carry), begin.column);
            (begin.offset, begin.line, begin.column) = (begin.offset + taken as u64, begin.line + lines, column);
            let at = |reason: String| {
                Error::Load(format!("{name} line {} column {}: {reason}", begin.line + 1, begin.column + 1))
            };
            match found {
                Ok(Some(start)) => {
                    carry.drain(..start);
                    break;
                }
                Ok(None) if ended => return Err(at(seeker.missing())),
                Ok(None) => {}
                Err(broken) => return Err(at(broken.reason)),
            }
        }
    }
    let framing = Box::new(JsonFraming::inner(before.offset == 0));
    let place = Start { offset: begin.offset, column: begin.column };
    let slicer = FramedSlicer::new(source, framing, carry, place, limits);
    Ok(Opened { cutter: Cutter::Framed(slicer), rows: None, begin })
}

/// The head of a CSV file.
struct Head {
    /// The bytes read from the file so far.
    bytes: Vec<u8>,
    /// The offset in `bytes` at which the rows begin.
    end: usize,
    columns: Columns,
    separator: u8,
}

fn open_csv(name: &str, mut source: Box<dyn Source>, csv: &Csv, before: Mark, limits: SliceLimits) -> Result<Opened> {
    let cannot = |error: io::Error| Error::Load(format!("cannot read {name}: {error}"));
    if matches!(csv.separator, b'"' | b'\n' | b'\r') {
        return Err(Error::Load("the separator of fields cannot be a quote or a line break".to_owned()));
    }
    let (head, failure) = read_head(name, source.as_mut(), csv)?;
    if let Some(error) = failure {
        // The rows before the failure are loaded first; then the source returns the error again.
        source = Box::new(Failed(error));
    }
    let begin = match before.offset {
        0 => Mark { offset: head.end as u64, line: place_after(&head.bytes[..head.end], 0).0, ..before },
        _ => before,
    };
    let read = head.bytes.len() as u64;
    let carry = match begin.offset.checked_sub(read) {
        Some(more) => {
            if more > 0 {
                source.skip(more).map_err(cannot)?;
            }
            Vec::new()
        }
        None => head.bytes[begin.offset as usize..].to_vec(),
    };
    let place = Start { offset: begin.offset, column: 0 };
    let dialect = Dialect { separator: head.separator, has_quotes: csv.has_quotes };
    let slicer = FramedSlicer::new(source, Box::new(CsvFraming::new(dialect)), carry, place, limits);
    let rows = Some(Arc::new(CsvRows { dialect, columns: head.columns }));
    Ok(Opened { cutter: Cutter::Framed(slicer), rows, begin })
}

/// Reads the file up to the end of its head and of the sample.
///
/// Also returns the read error that ended the sample early, if any.
fn read_head(name: &str, source: &mut dyn Source, csv: &Csv) -> Result<(Head, Option<io::Error>)> {
    let mut bytes = Vec::new();
    let mut ended = false;
    let mut wanted = SAMPLE_BYTES;
    loop {
        let failure = fill(source, &mut ended, &mut bytes, wanted).err();
        if let Some(layout) = Layout::of(&bytes, ended, csv) {
            let bad = |(field, reason): BadField| {
                let line = place_after(&bytes[..layout.names], 0).0 + 1;
                Error::Load(format!("{name} line {line} column {field}: {reason}"))
            };
            let columns = layout.columns(&bytes, ended, csv).map_err(bad)?;
            return Ok((Head { end: layout.rows, separator: layout.separator, columns, bytes }, failure));
        }
        if let Some(error) = failure {
            return Err(Error::Load(format!("cannot read {name}: {error}")));
        }
        if bytes.len() >= MAX_HEADER {
            let what = format!("the first row has over {MAX_HEADER} bytes: is this a CSV file?");
            return Err(Error::Load(format!("cannot read {name}: {what}")));
        }
        wanted = bytes.len() * 2;
    }
}

/// A source that returns an error that occurred before.
struct Failed(io::Error);

impl io::Read for Failed {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::new(self.0.kind(), self.0.to_string()))
    }
}

impl Source for Failed {}

/// The parts of the beginning of a CSV file.
#[derive(Debug, Clone, Copy)]
struct Layout {
    separator: u8,
    /// The offset of the row of names, or of the first row if the names are given.
    names: usize,
    /// The offset of the rows.
    rows: usize,
}

impl Layout {
    /// The layout; `None` if the row of names may be incomplete.
    fn of(bytes: &[u8], ended: bool, csv: &Csv) -> Option<Self> {
        let mut at = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        let line_end = |at: usize| {
            let rest = bytes.get(at..)?;
            let end = memchr::memchr2(b'\n', b'\r', rest).map(|len| match rest.get(len..) {
                Some([b'\r', b'\n', ..]) => at + len + 2,
                _ => at + len + 1,
            });
            end.or_else(|| ended.then_some(bytes.len()))
        };
        for _ in 0..csv.skip_lines {
            at = line_end(at)?;
        }
        let mut separator = csv.separator;
        // Excel may begin a file with a line `sep=;` that sets the separator.
        let line = bytes.get(at..line_end(at)?)?.trim_ascii_end();
        if let [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', given] = line
            && !matches!(given, b'"' | b'\r')
        {
            separator = *given;
            at = line_end(at)?;
        }
        let mut layout = Self { separator, names: at, rows: at };
        if csv.fields.is_none() {
            let mut rows = Rows::new(bytes.get(at..)?, layout.dialect(csv));
            if let Some(row) = rows.next(&mut Vec::new()) {
                layout.rows = at + row.end;
            } else {
                layout.rows = bytes.len();
            }
            if layout.rows == bytes.len() && !ended {
                return None;
            }
        }
        Some(layout)
    }

    fn dialect(&self, csv: &Csv) -> Dialect {
        Dialect { separator: self.separator, has_quotes: csv.has_quotes }
    }

    fn columns(&self, bytes: &[u8], ended: bool, csv: &Csv) -> std::result::Result<Columns, BadField> {
        let mut fields = Vec::new();
        let mut names: Vec<String> = Vec::new();
        match &csv.fields {
            Some(given) => names.clone_from(given),
            None => {
                let mut rows = Rows::new(bytes.get(self.names..).unwrap_or(&[]), self.dialect(csv));
                let Some(row) = rows.next(&mut fields) else { return Ok(Columns::none()) };
                if row.is_open {
                    return Err((fields.len(), "a quote is opened here and not closed".to_owned()));
                }
                if let Some(field) = row.malformed {
                    return Err((field, MALFORMED.to_owned()));
                }
                for (at, field) in fields.iter().enumerate() {
                    let name = std::str::from_utf8(&field.text).map_err(|_| (at + 1, "invalid UTF-8".to_owned()))?;
                    names.push(name.to_owned());
                }
            }
        }
        let mut sample = Vec::new();
        let mut rows = Rows::new(bytes.get(self.rows..).unwrap_or(&[]), self.dialect(csv));
        while let Some(row) = rows.next(&mut fields) {
            let is_cut = row.is_open || self.rows + row.end == bytes.len() && !ended;
            if is_cut || sample.len() == SAMPLE_ROWS {
                break;
            }
            if row.malformed.is_none() {
                sample.push(std::mem::take(&mut fields));
            }
        }
        // R's write.table writes the row names as a first column, but gives that column no name in the header.
        let has_row_names = |row: &Vec<RowField<'_>>| row.len() == names.len() + 1;
        let is_filled = |row: &Vec<RowField<'_>>| row.last().is_some_and(|field| !field.text.is_empty());
        if csv.fields.is_none() && sample.iter().all(has_row_names) && sample.iter().any(is_filled) {
            names.insert(0, String::new());
        }
        let mut columns = Columns::new(&names, csv.fields.is_none(), csv)?;
        sample.iter().for_each(|row| columns.sample(row));
        columns.decide();
        Ok(columns)
    }
}
