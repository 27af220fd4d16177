//! The endings of file names: formats that are read and written, and formats of other programs.

use crate::exit::{Failure, Outcome};
use alluvium::load::Format;
use std::path::Path;

/// Reading or writing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// The format that the ending of a file's name indicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// One definite format: JSON lines, CSV, TSV or BSON.
    Known(Format),
    /// JSON of some form; for a file that is read, its content decides.
    Json,
    /// The name has no ending, or an unknown one.
    Unknown,
}

/// The kind of a format of other programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A format of data, or of databases.
    Data,
    /// A compression, with the command that decompresses.
    Packed(&'static str),
    /// Several files in one, with the command that extracts them.
    Archive(&'static str),
    /// JSON in which an object contains the documents. It is read, but an export does not write it.
    Wrapped,
}

/// A format of other programs.
struct Foreign {
    name: &'static str,
    endings: &'static [&'static str],
    /// The first bytes of such a file; empty if they are not characteristic.
    head: &'static [u8],
    kind: Kind,
}

const fn data(name: &'static str, endings: &'static [&'static str], head: &'static [u8]) -> Foreign {
    Foreign { name, endings, head, kind: Kind::Data }
}

const fn packed(
    name: &'static str,
    endings: &'static [&'static str],
    head: &'static [u8],
    by: &'static str,
) -> Foreign {
    Foreign { name, endings, head, kind: Kind::Packed(by) }
}

const fn archive(
    name: &'static str,
    endings: &'static [&'static str],
    head: &'static [u8],
    by: &'static str,
) -> Foreign {
    Foreign { name, endings, head, kind: Kind::Archive(by) }
}

const fn wrapped(name: &'static str, endings: &'static [&'static str]) -> Foreign {
    Foreign { name, endings, head: b"", kind: Kind::Wrapped }
}

const FOREIGN: [Foreign; 34] = [
    data("Parquet", &["parquet", "parq"], b"PAR1"),
    data("Arrow", &["arrow", "arrows", "feather"], b"ARROW1"),
    data("ORC", &["orc"], b""),
    data("Avro", &["avro"], b"Obj\x01"),
    data("Excel", &["xlsx", "xlsm", "xlsb", "xls"], b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    data("OpenDocument", &["ods"], b""),
    data("XML", &["xml", "gml", "kml"], b"<?xml"),
    data("HTML", &["html", "htm"], b"<!DOCTYPE"),
    data("YAML", &["yaml", "yml"], b""),
    data("TOML", &["toml"], b""),
    data("SQLite", &["sqlite", "sqlite3", "db", "db3", "gpkg"], b"SQLite format 3\0"),
    data("DuckDB", &["duckdb", "ddb"], b""),
    data("SQL", &["sql"], b""),
    data("Access", &["mdb", "accdb"], b"\0\x01\0\0Standard "),
    data("R", &["rds", "rdata", "rda"], b""),
    data("Stata", &["dta"], b""),
    data("SPSS", &["sav"], b"$FL2"),
    data("SAS", &["sas7bdat", "xpt"], b""),
    data("Python's pickle", &["pkl", "pickle"], b""),
    data("NumPy", &["npy", "npz"], b"\x93NUMPY"),
    data("HDF5", &["h5", "hdf5"], b"\x89HDF\r\n\x1a\n"),
    data("MessagePack", &["msgpack", "mpk"], b""),
    data("CBOR", &["cbor"], b""),
    data("Protocol Buffers", &["pb"], b""),
    data("a shapefile", &["shp", "dbf"], b""),
    data("PDF", &["pdf"], b"%PDF-"),
    packed("bzip2", &["bz2"], b"BZh91AY&SY", "bzcat"),
    packed("xz", &["xz", "lzma"], b"\xfd7zXZ\0", "xzcat"),
    packed("LZ4", &["lz4"], b"\x04\x22\x4d\x18", "lz4cat"),
    packed("Brotli", &["br"], b"", "brotli -dc"),
    packed("Snappy", &["sz", "snappy"], b"\xff\x06\0\0sNaPpY", "snzip -dc"),
    archive("ZIP", &["zip"], b"PK\x03\x04", "unzip -p"),
    archive("tar", &["tar", "tgz", "tbz2", "txz"], b"", "tar -xOf"),
    wrapped("GeoJSON", &["geojson", "topojson"]),
];

/// The last ending of a file's name in lower case, and the one before it.
fn endings(name: &str) -> (Option<String>, Option<String>) {
    let name = Path::new(name).file_name().map_or_else(String::new, |name| name.to_string_lossy().to_ascii_lowercase());
    // The dot of a hidden file begins no ending.
    let mut parts = name.trim_start_matches('.').rsplit('.').map(str::to_owned);
    let (last, next, first) = (parts.next(), parts.next(), parts.next());
    // The text before the first dot is no ending.
    (last.filter(|_| next.is_some()), next.filter(|_| first.is_some()))
}

fn foreign(ending: Option<&str>) -> Option<&'static Foreign> {
    FOREIGN.iter().find(|foreign| ending.is_some_and(|ending| foreign.endings.contains(&ending)))
}

/// The format of other programs that the ending of a file's name indicates.
fn foreign_of_name(name: &str) -> Option<&'static Foreign> {
    let (last, next) = endings(name);
    let is_packed = matches!(last.as_deref(), Some("gz" | "zst" | "zstd"));
    foreign(if is_packed { next.as_deref() } else { last.as_deref() })
}

/// The format that the ending of a file's name indicates; the ending of a compression is ignored.
pub(crate) fn of_name(name: &str) -> Ending {
    match Format::of_name(name) {
        Some(format) => Ending::Known(format),
        None if Format::is_json_name(name) => Ending::Json,
        None => match foreign_of_name(name) {
            Some(Foreign { kind: Kind::Wrapped, .. }) => Ending::Json,
            _ => Ending::Unknown,
        },
    }
}

/// Refuses a file if its name has the ending of a format of other programs. A format that the user chose is accepted
/// for any file that is neither compressed nor an archive.
pub(crate) fn check_name(name: &str, access: Access, has_format: bool) -> Outcome {
    let Some(foreign) = foreign_of_name(name) else { return Ok(()) };
    match (foreign.kind, access) {
        (Kind::Data, _) if has_format => Ok(()),
        (Kind::Wrapped, Access::Read) => Ok(()),
        (Kind::Wrapped, Access::Write) if has_format => Ok(()),
        (_, Access::Read) => Err(foreign.cannot_be_read(name)),
        (_, Access::Write) => Err(foreign.cannot_be_written(name)),
    }
}

/// Refuses a file if its first bytes are those of a format of other programs.
pub(crate) fn check_head(name: &str, head: &[u8]) -> Outcome {
    match FOREIGN.iter().find(|foreign| !foreign.head.is_empty() && head.starts_with(foreign.head)) {
        Some(foreign) => Err(foreign.cannot_be_read(name)),
        None => Ok(()),
    }
}

/// The number of bytes at the beginning of a file that [`check_head`] examines.
pub(crate) const HEAD_BYTES: usize = 16;

impl Foreign {
    fn cannot_be_read(&self, name: &str) -> Failure {
        let kind = self.name;
        Failure::Usage(match self.kind {
            Kind::Packed(by) => format!(
                "{name} is compressed with {kind}, which is not supported: pipe it in, as in `{by} {name} | alluvium load DB \
                 COLLECTION -`"
            ),
            Kind::Archive(by) => format!(
                "{name} is an archive ({kind}), which is not supported: take the files out first, or pipe one in, as in \
                 `{by} {name} FILE | alluvium load DB COLLECTION -`"
            ),
            Kind::Data | Kind::Wrapped => {
                format!("{name} is a file of {kind}, which is not supported: convert it to CSV or JSON lines first")
            }
        })
    }

    fn cannot_be_written(&self, name: &str) -> Failure {
        let kind = self.name;
        Failure::Usage(match self.kind {
            Kind::Packed(_) | Kind::Archive(_) => format!(
                "{name} has the ending of {kind}, which cannot be written: name it .jsonl, .csv or .bson, or these with .gz \
                 or .zst"
            ),
            Kind::Data | Kind::Wrapped => format!(
                "{name} has the ending of {kind}, which cannot be written: name it .jsonl, .csv or .bson, or add --format"
            ),
        })
    }
}

#[cfg(test)]
mod tests;
