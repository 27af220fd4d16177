//! Names of fields that begin with a dollar sign.

/// True if the name begins with a dollar sign and is not a field of MongoDB's references to
/// documents. Only the names of those fields (`$ref`, `$id`, `$db`) may begin with a dollar sign.
pub(crate) fn is_dollar_name(name: &str) -> bool {
    name.starts_with('$') && !is_reference_name(name)
}

/// True for the fields of MongoDB's references to documents of other collections.
pub(crate) fn is_reference_name(name: &str) -> bool {
    ["$id", "$ref", "$db"].contains(&name)
}
