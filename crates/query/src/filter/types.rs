//! `$type`: sets of types, given by name or by BSON's number.

use alluvium_document::Value;

use super::FilterError;

/// Names and numbers of the types in BSON and MongoDB. The position of a type in this list is the
/// number of its bit in a [`TypeSet`].
const TYPES: [(&str, i32); 21] = [
    ("double", 1),
    ("string", 2),
    ("object", 3),
    ("array", 4),
    ("binData", 5),
    ("undefined", 6),
    ("objectId", 7),
    ("bool", 8),
    ("date", 9),
    ("null", 10),
    ("regex", 11),
    ("dbPointer", 12),
    ("javascript", 13),
    ("symbol", 14),
    ("javascriptWithScope", 15),
    ("int", 16),
    ("timestamp", 17),
    ("long", 18),
    ("decimal", 19),
    ("minKey", -1),
    ("maxKey", 127),
];

/// The types of the alias `number`.
const NUMBERS: [&str; 4] = ["double", "int", "long", "decimal"];

/// BSON's number for the type of a value.
pub(super) fn type_code(value: &Value) -> i32 {
    match value {
        Value::Double(_) => 1,
        Value::String(_) => 2,
        Value::Map(_) => 3,
        Value::Array(_) => 4,
        Value::Binary(_) => 5,
        Value::Undefined => 6,
        Value::ObjectId(_) => 7,
        Value::Bool(_) => 8,
        Value::DateTime(_) => 9,
        Value::Null => 10,
        Value::Regex(_) => 11,
        Value::DbPointer(_) => 12,
        Value::Code(code) if code.scope.is_none() => 13,
        Value::Symbol(_) => 14,
        Value::Code(_) => 15,
        Value::Int32(_) => 16,
        Value::Timestamp(_) => 17,
        Value::Int64(_) => 18,
        Value::Decimal(_) => 19,
        Value::MinKey => -1,
        Value::MaxKey => 127,
    }
}

/// A set of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TypeSet(u32);

impl TypeSet {
    /// Parses the operand of `$type`: a name, a number, or an array of names and numbers.
    pub fn parse(operand: &Value) -> Result<Self, FilterError> {
        let Value::Array(list) = operand else { return Self::one(operand) };
        if list.is_empty() {
            return Err(FilterError::FailedToParse("$type has an empty array: name at least one type".to_owned()));
        }
        list.iter().try_fold(Self::default(), |set, operand| Ok(Self(set.0 | Self::one(operand)?.0)))
    }

    fn one(operand: &Value) -> Result<Self, FilterError> {
        if let Value::String(name) = operand {
            let wanted: &[&str] = if name == "number" { &NUMBERS } else { &[name] };
            let set = TYPES.iter().enumerate().filter(|(_, (known, _))| wanted.contains(known));
            let set = set.fold(0, |set, (bit, _)| set | 1 << bit);
            return match set {
                0 => Err(FilterError::bad(format!("$type has '{name}', which is not the name of a type"))),
                set => Ok(Self(set)),
            };
        }
        let found = operand.as_i64().and_then(|code| TYPES.iter().position(|(_, known)| i64::from(*known) == code));
        match found {
            Some(bit) => Ok(Self(1 << bit)),
            None if operand.is_number() => Err(FilterError::bad("$type has a number that is not the number of a type")),
            None => {
                let found = operand.type_name();
                Err(FilterError::TypeMismatch(format!(
                    "$type takes names or numbers of types, this is of type {found}"
                )))
            }
        }
    }

    /// True if the set has the type with BSON's number `code`.
    pub fn contains(self, code: i32) -> bool {
        TYPES.iter().position(|(_, known)| *known == code).is_some_and(|bit| self.0 & 1 << bit != 0)
    }

    /// True if the set has the type with this name.
    pub fn has(self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// The names of the types, in the order of [`TYPES`].
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        TYPES.iter().enumerate().filter(move |(bit, _)| self.0 & 1 << bit != 0).map(|(_, (name, _))| *name)
    }

    /// The operand of `$type` for this set.
    pub fn to_value(self) -> Value {
        let names: Vec<Value> = self.names().map(Value::from).collect();
        match <[Value; 1]>::try_from(names) {
            Ok([name]) => name,
            Err(names) => Value::Array(names),
        }
    }
}
