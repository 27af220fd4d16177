//! The decision of a load of CSV about a column.

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnKind {
    /// All values of the sample are numbers.
    Number,
    /// All values of the sample are `true` or `false`.
    Boolean,
    /// Some values of the sample are neither: all values are texts.
    Text,
    /// The sample has no values: each value has the type that it has alone.
    Each,
    /// The user declares the type.
    Declared,
}

/// A column, the sample of its values at the beginning of the input, and the values that followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnReport {
    /// The path of the field.
    pub name: String,
    /// The name in the header, if it cannot be the name of a field.
    pub header: Option<String>,
    /// The type.
    pub kind: ColumnKind,
    /// The number of values in the sample.
    pub sampled: u64,
    /// How many of them are numbers.
    pub numbers: u64,
    /// How many of them are `true` or `false`.
    pub booleans: u64,
    /// The first of the others.
    pub text: Option<String>,
    /// All of the others are the same text.
    pub is_only_text: bool,
    /// The values of this run that are not of the type, and were stored as texts.
    pub others: u64,
}
