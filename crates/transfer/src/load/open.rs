//! Opens the input of a load: reads what precedes the first record, or skips to the offset of a
//! resumed load.

use super::columns::{BadField, Columns};
use super::framed::{BsonFraming, CsvFraming, Cutter, FramedSlicer, Framing, JsonFraming, Outer, Start, place_after};
use super::progress::Mark;
use super::slice::{SliceLimits, Slicer, fill};
use super::{BOM, Csv, Format, Source};
use ::csv::ByteRecord;
use alluvium_collections::error::{Error, Result};
use std::io;
use std::sync::Arc;

/// The limit of the first row, in bytes.
const MAX_HEADER: usize = 4 << 20;
/// The first row is read in pieces: this size first, then doubling.
const HEADER_PIECE: usize = 8 << 10;

/// An opened input, ready to be cut into slices.
pub(crate) struct Opened {
    pub cutter: Cutter,
    /// The columns, if the input is CSV.
    pub columns: Option<Arc<Columns>>,
    /// Where the first slice begins.
    pub begin: Mark,
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
            return Ok(Opened { cutter: Cutter::Lines(slicer), columns: None, begin: before });
        }
        Format::Csv(csv) => return open_csv(name, source, csv, before, limits),
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
    Ok(Opened { cutter: Cutter::Framed(slicer), columns: None, begin: before })
}

/// The head of a CSV file.
struct Head {
    /// The bytes read from the file so far.
    bytes: Vec<u8>,
    /// The offset in `bytes` at which the rows begin.
    end: usize,
    columns: Columns,
}

fn open_csv(name: &str, mut source: Box<dyn Source>, csv: &Csv, before: Mark, limits: SliceLimits) -> Result<Opened> {
    let cannot = |error: io::Error| Error::Load(format!("cannot read {name}: {error}"));
    if matches!(csv.separator, b'"' | b'\n' | b'\r') {
        return Err(Error::Load("the separator of fields cannot be a quote or a line break".to_owned()));
    }
    let head = read_head(name, source.as_mut(), csv)?;
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
    let slicer = FramedSlicer::new(source, Box::new(CsvFraming::new(csv.separator)), carry, place, limits);
    Ok(Opened { cutter: Cutter::Framed(slicer), columns: Some(Arc::new(head.columns)), begin })
}

/// Reads the file up to the end of its head.
fn read_head(name: &str, source: &mut dyn Source, csv: &Csv) -> Result<Head> {
    let mut bytes = Vec::new();
    let mut ended = false;
    let mut wanted = HEADER_PIECE;
    loop {
        fill(source, &mut ended, &mut bytes, wanted)
            .map_err(|error| Error::Load(format!("cannot read {name}: {error}")))?;
        let bad = |(field, reason): BadField| Error::Load(format!("{name} line 1 column {field}: {reason}"));
        let end = header_end(&bytes, csv).map_err(bad)?;
        if end < bytes.len() || ended {
            return Head::read(bytes, end, csv).map_err(bad);
        }
        if bytes.len() >= MAX_HEADER {
            let what = format!("the first row has over {MAX_HEADER} bytes: is this a CSV file?");
            return Err(Error::Load(format!("cannot read {name}: {what}")));
        }
        wanted = bytes.len() * 2;
    }
}

fn reader<'a>(bytes: &'a [u8], csv: &Csv) -> ::csv::Reader<&'a [u8]> {
    let mut builder = ::csv::ReaderBuilder::new();
    builder.has_headers(false).flexible(true).delimiter(csv.separator).from_reader(bytes)
}

/// The offset at which the rows begin; `bytes.len()` if the row of names may be incomplete.
fn header_end(bytes: &[u8], csv: &Csv) -> std::result::Result<usize, BadField> {
    let begin = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    if csv.fields.is_some() {
        return Ok(begin);
    }
    let mut reader = reader(&bytes[begin..], csv);
    reader.read_byte_record(&mut ByteRecord::new()).map_err(|error| (1, error.to_string()))?;
    Ok(begin + reader.position().byte() as usize)
}

impl Head {
    fn read(bytes: Vec<u8>, end: usize, csv: &Csv) -> std::result::Result<Self, BadField> {
        if let Some(names) = &csv.fields {
            let columns = Columns::new(names.iter().map(String::as_str), csv)?;
            return Ok(Self { bytes, end, columns });
        }
        let header = bytes[..end].strip_prefix(BOM).unwrap_or(&bytes[..end]);
        let mut framing = CsvFraming::new(csv.separator);
        framing.scan(header, 0).and_then(|()| framing.finish(header)).map_err(|broken| (1, broken.reason))?;
        let mut row = ByteRecord::new();
        if !reader(header, csv).read_byte_record(&mut row).map_err(|error| (1, error.to_string()))? {
            return Ok(Self { bytes, end, columns: Columns::none() });
        }
        let mut names = Vec::new();
        for (at, name) in row.iter().enumerate() {
            names.push(std::str::from_utf8(name).map_err(|_| (at + 1, "invalid UTF-8".to_owned()))?);
        }
        let columns = Columns::new(names, csv)?;
        Ok(Self { bytes, end, columns })
    }
}
