//! The arguments about the format of the inputs.

mod delimiter;

use crate::endings::{self, Ending};
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
    /// Load the elements of the array at this path in one JSON object of any size, such as features or data.items
    #[arg(long, value_name = "PATH", conflicts_with = "split_object")]
    array: Option<String>,
    /// The names of the fields of CSV and TSV, where the first row does not have them; a.b is the field b of the map a
    #[arg(long, visible_alias = "names", value_name = "a,b.c", value_delimiter = ',')]
    fields: Option<Vec<String>>,
    /// The lines of CSV and TSV before the row of names, or before the first row with --fields
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip_lines: u64,
    /// The text that stands for null in CSV and TSV where it is not in quotes, such as NA; an empty field is absent, and "" is an empty text
    #[arg(long, value_name = "TEXT")]
    null: Option<String>,
    /// Take quotes in CSV and TSV as characters like others
    #[arg(long)]
    no_quotes: bool,
    /// The delimiter between the fields of CSV: one ASCII character, or tab; by default a comma, semicolon, tab or |, as the first rows show
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter)]
    delimiter: Option<u8>,
    /// The types of fields of CSV and TSV; by default a field is a number or a boolean if all values of it among the first 20,480 rows (or 1 MiB) are, or else a string: auto (a number, true, false, or else a string, each value alone), string, int, long, double, decimal, bool, date, objectId, json
    #[arg(long, value_name = "a:string,b:int", value_delimiter = ',', value_parser = parse_type)]
    types: Vec<(String, FieldType)>,
}

/// The formats by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FormatName {
    /// One JSON object per line: .jsonl, .ndjson, and names with an unknown ending
    #[value(name = "jsonl", alias = "json-lines", alias = "ndjson")]
    JsonLines,
    /// One JSON array of objects
    #[value(name = "json", alias = "json-array")]
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
    /// JSON lines, regardless of the file's name.
    pub(super) fn json_lines() -> Self {
        Self { format: Some(FormatName::JsonLines), ..Self::default() }
    }

    /// True if each field of one large object is loaded as a document.
    pub(crate) fn splits(&self) -> bool {
        self.split_object
    }

    /// True if `--format` was given.
    pub(super) fn has_name(&self) -> bool {
        self.format.is_some()
    }

    /// True if the format, or an option for one, was given.
    pub(crate) fn is_given(&self) -> bool {
        self.format.is_some()
            || self.split_object
            || self.array.is_some()
            || self.skip_lines > 0
            || self.null.is_some()
            || self.no_quotes
            || self.fields.is_some()
            || !self.types.is_empty()
            || self.delimiter.is_some()
    }

    /// True if the format of an input without a name is determined by its content.
    pub(super) fn is_by_content(&self) -> bool {
        !self.is_given()
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
            None => match endings::of_name(name) {
                Ending::Known(format) => Some(format),
                Ending::Json | Ending::Unknown => None,
            },
        };
        if self.split_object {
            return match named {
                None | Some(Format::JsonObjects) => Ok(Format::JsonFields),
                Some(_) => Err(Failure::Usage("--split-object is for --format json-object".to_owned())),
            };
        }
        if let Some(path) = &self.array {
            return match named {
                None | Some(Format::JsonObjects) if !path.is_empty() => Ok(Format::JsonArrayAt(path.clone())),
                _ => Err(Failure::Usage(
                    "--array is for JSON, and takes the names of fields, as in data.items".to_owned(),
                )),
            };
        }
        let format = match named {
            Some(Format::Csv(csv)) => {
                let separator = match self.delimiter {
                    Some(given) => given,
                    None if csv.separator == b',' => delimiter::noted(name, &head()?, self.skip_lines),
                    None => csv.separator,
                };
                Format::Csv(Csv { separator, ..csv })
            }
            Some(format) => format,
            None if endings::of_name(name) == Ending::Json => Format::of_json(&head()?),
            None => Format::JsonLines,
        };
        match format {
            Format::Csv(csv) => Ok(Format::Csv(Csv {
                fields: self.fields.clone(),
                types: self.types.clone(),
                null: self.null.clone(),
                skip_lines: self.skip_lines,
                has_quotes: !self.no_quotes,
                ..csv
            })),
            _ if self.delimiter.is_some() => {
                Err(Failure::Usage(format!("--delimiter is for CSV, which {name} is not: add --format csv if it is")))
            }
            _ if self.fields.is_some() || !self.types.is_empty() => {
                Err(Failure::Usage(format!("--fields and --types are for CSV and TSV, which {name} is not")))
            }
            _ if self.skip_lines > 0 || self.null.is_some() || self.no_quotes => {
                let what = format!("--skip-lines, --null and --no-quotes are for CSV and TSV, which {name} is not");
                Err(Failure::Usage(what))
            }
            format => Ok(format),
        }
    }
}

#[cfg(test)]
mod tests;
