//! The format in which documents are printed, as a setting and as a choice in the shell.

/// How commands print documents without `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Mode {
    /// Lists of documents as tables on a terminal, except in a shell, and as one JSON object per line elsewhere
    #[default]
    Auto,
    /// JSON objects with one field per line
    Pretty,
    /// One JSON array
    Json,
    /// One JSON object per line
    Jsonl,
    /// A table that fits the terminal
    Table,
    /// Comma-separated rows
    Csv,
    /// Tab-separated rows
    Tsv,
    /// A table in Markdown
    #[value(alias = "md")]
    Markdown,
}
