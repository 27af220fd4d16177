//! The arguments about the format of the inputs.

mod delimiter;

use crate::exit::{Failure, Outcome};
use alluvium::load::{Csv, FieldType, Format};

/// The format of the inputs.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct FormatArgs {
    /// The format of the files; by default it follows from the ending of the name, and for .json from the content
    #[arg(long, value_enum)]
    format: Option<FormatName>,
    /// Load each field of one large JSON object as a document; the name of the field becomes the _id
    #[arg(long)]
    split_object: bool,
    /// The names of the fields of CSV and TSV, where the first row does not have them; a.b is the field b of the map a
    #[arg(long, value_name = "a,b.c", value_delimiter = ',')]
    fields: Option<Vec<String>>,
    /// The delimiter between the fields of CSV: one ASCII character, or tab; by default a comma, semicolon, tab or |, as the first rows show
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter)]
    delimiter: Option<u8>,
    /// The types of fields of CSV and TSV: auto (the default: a number, true, false, or else a string), string, int, long, double, decimal, bool, date, objectId, json
    #[arg(long, value_name = "a:string,b:int", value_delimiter = ',', value_parser = parse_type)]
    types: Vec<(String, FieldType)>,
}

/// The formats by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FormatName {
    /// One JSON object per line: .jsonl, .ndjson, and names with an unknown ending
    JsonLines,
    /// One JSON array of objects
    JsonArray,
    /// JSON objects, each on any number of lines; or one large object with --split-object
    JsonObject,
    /// Comma-separated rows: .csv
    Csv,
    /// Tab-separated rows: .tsv
    Tsv,
    /// BSON documents, as mongodump writes them: .bson
    Bson,
}

/// Parses `--delimiter`.
fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        _ => match text.as_bytes() {
            [byte] if !b"\"\r\n".contains(byte) => Ok(*byte),
            _ => Err("write one ASCII character, such as ';', or tab".to_owned()),
        },
    }
}

/// Parses `field:type`.
fn parse_type(text: &str) -> Result<(String, FieldType), String> {
    match text.rsplit_once(':') {
        Some((name, kind)) => Ok((name.to_owned(), kind.parse()?)),
        None => Err("write FIELD:TYPE, as in name:string".to_owned()),
    }
}

impl FormatArgs {
    /// JSON lines, whatever the file's name.
    pub(super) fn json_lines() -> Self {
        Self { format: Some(FormatName::JsonLines), ..Self::default() }
    }

    /// True if each field of one large object is loaded as a document.
    pub(crate) fn splits(&self) -> bool {
        self.split_object
    }

    /// True if the format was given.
    pub(crate) fn is_given(&self) -> bool {
        self.format.is_some()
            || self.split_object
            || self.fields.is_some()
            || !self.types.is_empty()
            || self.delimiter.is_some()
    }

    /// The format of the input `name`. `head` returns its first bytes, if they can be read.
    pub(super) fn resolve(&self, name: &str, head: impl FnOnce() -> Outcome<Vec<u8>>) -> Outcome<Format> {
        let named = match self.format {
            Some(FormatName::JsonLines) => Some(Format::JsonLines),
            Some(FormatName::JsonArray) => Some(Format::JsonArray),
            Some(FormatName::JsonObject) => Some(Format::JsonObjects),
            Some(FormatName::Csv) => Some(Format::Csv(Csv::default())),
            Some(FormatName::Tsv) => Some(Format::Csv(Csv { separator: b'\t', ..Csv::default() })),
            Some(FormatName::Bson) => Some(Format::Bson),
            None => Format::of_name(name),
        };
        if self.split_object {
            return match named {
                None | Some(Format::JsonObjects) => Ok(Format::JsonFields),
                Some(_) => Err(Failure::Usage("--split-object is for --format json-object".to_owned())),
            };
        }
        let format = match named {
            Some(Format::Csv(csv)) => {
                let separator = match self.delimiter {
                    Some(given) => given,
                    None if csv.separator == b',' => delimiter::noted(name, &head()?),
                    None => csv.separator,
                };
                Format::Csv(Csv { separator, ..csv })
            }
            Some(format) => format,
            None if Format::is_json_name(name) => Format::of_json(&head()?),
            None => Format::JsonLines,
        };
        match format {
            Format::Csv(csv) => Ok(Format::Csv(Csv { fields: self.fields.clone(), types: self.types.clone(), ..csv })),
            _ if self.delimiter.is_some() => {
                Err(Failure::Usage(format!("--delimiter is for CSV, which {name} is not: add --format csv if it is")))
            }
            _ if self.fields.is_some() || !self.types.is_empty() => {
                Err(Failure::Usage(format!("--fields and --types are for CSV and TSV, which {name} is not")))
            }
            format => Ok(format),
        }
    }
}

#[cfg(test)]
mod tests;
