//! The decision of a load of CSV about a column.

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnKind {
    /// All values of the sample are numbers.
    Number,
    /// All values of the sample are `true` or `false`.
    Boolean,
    /// Some values of the sample are neither numbers nor booleans: all values of the column are
    /// stored as texts.
    Text,
    /// The sample has no values: the type of each value is inferred from its text alone.
    Each,
    /// The user declares the type.
    Declared,
}

/// The decision about a column: the sample of its values at the beginning of the input, and the
/// later values that do not fit.
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
    /// The number of sampled values that are numbers.
    pub numbers: u64,
    /// The number of sampled values that are `true` or `false`.
    pub booleans: u64,
    /// The first sampled value that is neither a number nor a boolean.
    pub text: Option<String>,
    /// All sampled values that are neither numbers nor booleans are the same text.
    pub is_only_text: bool,
    /// The number of values in this run that do not have the type, and were stored as texts.
    pub others: u64,
}
