//! The names of MongoDB's operators that are supported, for completion and for advice.

/// Operators of filters.
pub(crate) const FILTER: &[&str] = &[
    "$all",
    "$and",
    "$bitsAllClear",
    "$bitsAllSet",
    "$bitsAnyClear",
    "$bitsAnySet",
    "$elemMatch",
    "$eq",
    "$exists",
    "$gt",
    "$gte",
    "$in",
    "$lt",
    "$lte",
    "$mod",
    "$ne",
    "$nin",
    "$nor",
    "$not",
    "$or",
    "$regex",
    "$size",
    "$type",
];

/// Operators of updates.
pub(crate) const UPDATE: &[&str] = &[
    "$addToSet",
    "$bit",
    "$currentDate",
    "$inc",
    "$max",
    "$min",
    "$mul",
    "$pop",
    "$pull",
    "$pullAll",
    "$push",
    "$rename",
    "$set",
    "$setOnInsert",
    "$unset",
];

/// Modifiers of `$push` and `$addToSet`.
pub(crate) const MODIFIERS: &[&str] = &["$each", "$position", "$slice", "$sort"];

/// The operator whose name is `name` with a dollar sign.
pub(crate) fn without_dollar(operators: &[&'static str], name: &str) -> Option<&'static str> {
    operators.iter().copied().find(|operator| operator.strip_prefix('$') == Some(name))
}
