//! The names of the operators of filters.

/// Operators of MongoDB that are not supported. An operator that is in none of these lists is unknown in MongoDB, too.
pub(super) const UNSUPPORTED: [&str; 17] = [
    "$where",
    "$text",
    "$near",
    "$nearSphere",
    "$geoNear",
    "$geoWithin",
    "$geoIntersects",
    "$within",
    "$geometry",
    "$center",
    "$centerSphere",
    "$box",
    "$polygon",
    "$maxDistance",
    "$minDistance",
    "$alwaysTrue",
    "$alwaysFalse",
];

/// The operators on a field.
pub(super) const OF_FIELDS: [&str; 20] = [
    "$eq",
    "$ne",
    "$gt",
    "$gte",
    "$lt",
    "$lte",
    "$in",
    "$nin",
    "$exists",
    "$type",
    "$regex",
    "$size",
    "$all",
    "$elemMatch",
    "$mod",
    "$not",
    "$bitsAllSet",
    "$bitsAnySet",
    "$bitsAllClear",
    "$bitsAnyClear",
];

/// The supported operators at the level of fields.
pub(super) const AT_TOP: [&str; 7] = ["$and", "$or", "$nor", "$comment", "$expr", "$jsonSchema", "$sampleRate"];

/// Operators at the level of fields, supported or not. A map that begins with one of them is not a
/// list of operators on a value.
pub(super) const OF_DOCUMENTS: [&str; 8] =
    ["$and", "$or", "$nor", "$comment", "$where", "$expr", "$text", "$jsonSchema"];
