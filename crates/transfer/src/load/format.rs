//! Input formats of a load.

use std::str::FromStr;

/// The format of the input of a load.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Format {
    /// One JSON object per line. Empty lines are skipped.
    #[default]
    JsonLines,
    /// One JSON array, whose elements are the documents.
    JsonArray,
    /// The elements of the array at this path in one JSON object of any size: `features`, `data.items`. Text after the
    /// array is not read.
    JsonArrayAt(String),
    /// JSON objects one after the other, each on any number of lines.
    JsonObjects,
    /// One JSON object whose fields are the documents. The name of a field becomes the `_id`. If the value is an
    /// object, its fields become the fields of the document; any other value becomes the field `value`.
    JsonFields,
    /// Rows of fields, separated by commas, tabs or another byte.
    Csv(Csv),
    /// BSON documents one after the other, as `mongodump` writes them. A document that has an `_id`
    /// keeps the order of its fields, even if the `_id` is not the first.
    Bson,
    /// One document per line, in the form that represents every value
    /// ([`alluvium_document::json::print_exact`]). [`crate::Database::dump`] writes it for
    /// documents that BSON cannot hold. The order of fields is kept.
    ExactLines,
}

/// Rows of fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Csv {
    /// The byte between two fields: a comma, or a tab for TSV.
    pub separator: u8,
    /// The names of the fields; `None` if the first row has them. `a.b` is the field `b` of the map
    /// `a`.
    pub fields: Option<Vec<String>>,
    /// The types of some fields. The types of the other fields are decided from a sample at the beginning of the input:
    /// see [`ColumnReport`](super::ColumnReport).
    pub types: Vec<(String, FieldType)>,
    /// The text that means null if it is not quoted. An empty field is always absent, and two quotes are an empty text.
    pub null: Option<String>,
    /// The number of lines to skip before the row of names, or before the first row.
    pub skip_lines: u64,
    /// False if a quote is an ordinary character, as in tab-separated files of some programs.
    pub has_quotes: bool,
}

impl Default for Csv {
    fn default() -> Self {
        Self { separator: b',', fields: None, types: Vec::new(), null: None, skip_lines: 0, has_quotes: true }
    }
}

impl Csv {
    fn mark(&self) -> String {
        let mut text = format!("csv {}", self.separator);
        for name in self.fields.iter().flatten() {
            text += &format!("\0{name}");
        }
        for (name, kind) in &self.types {
            text += &format!("\x01{name}\0{}", kind.name());
        }
        // Marks of older versions do not have these options. With their defaults, nothing is added, and the mark is the
        // same.
        if let Some(null) = &self.null {
            text += &format!("\x02{null}");
        }
        if self.skip_lines > 0 {
            text += &format!("\x03{}", self.skip_lines);
        }
        if !self.has_quotes {
            text += "\x04";
        }
        text
    }
}

/// The type to which the text of a field is converted. An empty field of any type is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FieldType {
    /// Inferred from each text alone: a number, `true`, `false`, otherwise text.
    #[default]
    Auto,
    /// Text.
    String,
    /// An integer of 32 bits if it fits, otherwise of 64.
    Int,
    /// An integer of 64 bits.
    Long,
    /// A double.
    Double,
    /// A decimal.
    Decimal,
    /// `true` or `false`.
    Bool,
    /// An ISO 8601 date, or milliseconds since 1970.
    Date,
    /// An object id, 24 hexadecimal digits.
    ObjectId,
    /// Extended JSON.
    Json,
}

const TYPES: [(&str, FieldType); 10] = [
    ("auto", FieldType::Auto),
    ("string", FieldType::String),
    ("int", FieldType::Int),
    ("long", FieldType::Long),
    ("double", FieldType::Double),
    ("decimal", FieldType::Decimal),
    ("bool", FieldType::Bool),
    ("date", FieldType::Date),
    ("objectId", FieldType::ObjectId),
    ("json", FieldType::Json),
];

impl FieldType {
    /// The name of the type.
    ///
    /// ```
    /// use alluvium::load::FieldType;
    ///
    /// assert_eq!("date".parse(), Ok(FieldType::Date));
    /// assert_eq!(FieldType::Date.name(), "date");
    /// ```
    pub fn name(self) -> &'static str {
        TYPES.iter().find(|(_, known)| *known == self).map_or("auto", |(name, _)| name)
    }
}

impl FromStr for FieldType {
    type Err = String;

    /// Parses the name of a type: `auto`, `string`, `int`, `long`, `double`, `decimal`, `bool`,
    /// `date`, `objectId`, `json`.
    fn from_str(text: &str) -> Result<Self, String> {
        match TYPES.iter().find(|(name, _)| *name == text) {
            Some((_, found)) => Ok(*found),
            None => {
                let names: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
                Err(format!("unknown type {text:?}; the types are {}", names.join(", ")))
            }
        }
    }
}

impl Format {
    /// The format that the suffix of a file name implies, ignoring `.gz` and `.zst`; `None` for
    /// other suffixes. A file named `.json` may have one of several formats: [`Format::of_json`]
    /// examines its content.
    ///
    /// ```
    /// use alluvium::load::Format;
    ///
    /// assert_eq!(Format::of_name("pets.jsonl.gz"), Some(Format::JsonLines));
    /// assert_eq!(Format::of_name("pets.json"), None, "it depends on the content");
    /// ```
    pub fn of_name(name: &str) -> Option<Self> {
        match inner_ending(name)?.as_str() {
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            "csv" => Some(Self::Csv(Csv::default())),
            "tsv" => Some(Self::Csv(Csv { separator: b'\t', ..Csv::default() })),
            "bson" => Some(Self::Bson),
            _ => None,
        }
    }

    /// True if the name ends in `.json`, ignoring `.gz` and `.zst`.
    ///
    /// ```
    /// assert!(alluvium::load::Format::is_json_name("pets.json.gz"));
    /// ```
    pub fn is_json_name(name: &str) -> bool {
        inner_ending(name).is_some_and(|ending| ending == "json")
    }

    /// The format of a JSON input that begins with `head`: lines, an array, or objects on several
    /// lines.
    ///
    /// ```
    /// use alluvium::load::Format;
    ///
    /// assert_eq!(Format::of_json(b"[{\"_id\": 1}]"), Format::JsonArray);
    /// assert_eq!(Format::of_json(b"{\n  \"_id\": 1\n}"), Format::JsonObjects);
    /// ```
    pub fn of_json(head: &[u8]) -> Self {
        let head = head.strip_prefix(super::BOM).unwrap_or(head).trim_ascii_start();
        match head.first() {
            Some(b'[') => Self::JsonArray,
            Some(b'{') => {
                let line = head.split(|byte| *byte == b'\n').next().unwrap_or(head);
                // If the line is longer than `head`, its end is unknown. Then objects are found by
                // their braces, which is correct for lines, too.
                if super::framed::is_whole_json(line) { Self::JsonLines } else { Self::JsonObjects }
            }
            _ => Self::JsonLines,
        }
    }

    /// Bytes that distinguish the marks of loads of one file in different formats; empty for JSON lines.
    pub(crate) fn mark(&self) -> Vec<u8> {
        let text = match self {
            Self::JsonLines => return Vec::new(),
            Self::JsonArray => "json-array".to_owned(),
            Self::JsonArrayAt(path) => format!("json-array-at {path}"),
            Self::JsonObjects => "json-objects".to_owned(),
            Self::JsonFields => "json-fields".to_owned(),
            Self::Bson => "bson".to_owned(),
            Self::ExactLines => "exact-lines".to_owned(),
            Self::Csv(csv) => csv.mark(),
        };
        [&[0], &alluvium_codec::hash64(text.as_bytes()).to_be_bytes()[..]].concat()
    }

    /// True if errors give line numbers; false if they give document numbers.
    pub(crate) fn counts_lines(&self) -> bool {
        !matches!(self, Self::Bson)
    }

    /// The unit that errors count, as a word.
    pub(crate) fn counted(&self) -> &'static str {
        if self.counts_lines() { "line" } else { "document" }
    }
}

/// The suffix of a file name, in lower case, after the suffix of a compression is removed.
fn inner_ending(name: &str) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let plain = [".gz", ".zst", ".zstd"].iter().find_map(|packed| name.strip_suffix(packed)).unwrap_or(&name);
    plain.rsplit_once('.').map(|(_, ending)| ending.to_owned())
}

#[cfg(test)]
mod tests;
