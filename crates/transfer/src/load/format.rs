//! How the documents stand in the input of a load.

use std::str::FromStr;

/// How the documents stand in the input of a load.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Format {
    /// One JSON object a line. Empty lines are passed over.
    #[default]
    JsonLines,
    /// One JSON array, whose elements are the documents.
    JsonArray,
    /// JSON objects one after the other, each over as many lines as it likes.
    JsonObjects,
    /// One JSON object, whose fields are the documents: a field's name is the `_id`, and its value,
    /// if it is an object, has the other fields, else it stands in the field `value`.
    JsonFields,
    /// Rows of fields, with commas, tabs or anything else between them.
    Csv(Csv),
    /// BSON documents one after the other, as `mongodump` writes them. A document that has an `_id`
    /// keeps the order of its fields, wherever the `_id` stands.
    Bson,
    /// A document a line in the form that holds every value ([`alluvium_document::json::print_exact`]), as
    /// [`crate::Database::dump`] writes those that BSON cannot hold. The order of fields is kept.
    ExactLines,
}

/// Rows of fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Csv {
    /// The byte between two fields: a comma, or a tab for TSV.
    pub separator: u8,
    /// The names of the fields, if the first row does not have them. `a.b` is the field `b` of the
    /// map `a`.
    pub fields: Option<Vec<String>>,
    /// The types of some fields; the others are [`FieldType::Auto`].
    pub types: Vec<(String, FieldType)>,
}

impl Default for Csv {
    fn default() -> Self {
        Self { separator: b',', fields: None, types: Vec::new() }
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
        text
    }
}

/// What the text of a field stands for. An empty field is absent, whatever its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FieldType {
    /// What it looks like: a number as JSON has it, `true`, `false`, else text.
    #[default]
    Auto,
    /// Text.
    String,
    /// An integer, of 32 bits if that holds it, else of 64.
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

/// The names of the types.
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
    /// Its name.
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

    /// By its name: `auto`, `string`, `int`, `long`, `double`, `decimal`, `bool`, `date`, `objectId`, `json`.
    fn from_str(text: &str) -> Result<Self, String> {
        match TYPES.iter().find(|(name, _)| *name == text) {
            Some((_, found)) => Ok(*found),
            None => {
                let names: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
                Err(format!("there is no type {text:?}; there are {}", names.join(", ")))
            }
        }
    }
}

impl Format {
    /// The format that goes with the ending of a file's name, if there is one; `.gz` and `.zst` do not
    /// count. What ends in `.json` may be of several formats: [`Format::of_json`] looks inside.
    ///
    /// ```
    /// use alluvium::load::Format;
    ///
    /// assert_eq!(Format::of_name("pets.jsonl.gz"), Some(Format::JsonLines));
    /// assert_eq!(Format::of_name("pets.json"), None, "it takes a look inside");
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

    /// True if the name ends in `.json`, also before `.gz` or `.zst`.
    ///
    /// ```
    /// assert!(alluvium::load::Format::is_json_name("pets.json.gz"));
    /// ```
    pub fn is_json_name(name: &str) -> bool {
        inner_ending(name).is_some_and(|ending| ending == "json")
    }

    /// The format of JSON that begins with `head`: lines, an array, or objects over several lines.
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
                // A line that is an object, or so long that its end is not there to be seen: then
                // objects are found by their braces, which is right for lines too.
                if super::framed::is_whole_json(line) { Self::JsonLines } else { Self::JsonObjects }
            }
            _ => Self::JsonLines,
        }
    }

    /// What tells loads of one file in different formats apart; nothing for lines of JSON.
    pub(crate) fn mark(&self) -> Vec<u8> {
        let text = match self {
            Self::JsonLines => return Vec::new(),
            Self::JsonArray => "json-array".to_owned(),
            Self::JsonObjects => "json-objects".to_owned(),
            Self::JsonFields => "json-fields".to_owned(),
            Self::Bson => "bson".to_owned(),
            Self::ExactLines => "exact-lines".to_owned(),
            Self::Csv(csv) => csv.mark(),
        };
        [&[0], &alluvium_codec::hash64(text.as_bytes()).to_be_bytes()[..]].concat()
    }

    /// What errors count: lines, or documents where there are no lines.
    pub(crate) fn counts_lines(&self) -> bool {
        !matches!(self, Self::Bson)
    }

    /// What errors count, as a word.
    pub(crate) fn counted(&self) -> &'static str {
        if self.counts_lines() { "line" } else { "document" }
    }
}

/// The ending of a name in small letters, without that of its compression.
fn inner_ending(name: &str) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let plain = [".gz", ".zst", ".zstd"].iter().find_map(|packed| name.strip_suffix(packed)).unwrap_or(&name);
    plain.rsplit_once('.').map(|(_, ending)| ending.to_owned())
}

#[cfg(test)]
mod tests;
