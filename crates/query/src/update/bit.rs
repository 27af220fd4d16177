//! `$bit`: bitwise operations on integers.

use alluvium_document::{Map, Value};

use super::UpdateError;
use crate::number::integer;

/// A bitwise operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bitwise {
    And = 0,
    Or = 1,
    Xor = 2,
}

/// The operations of one `$bit`, in order. Each operand is an integer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bit {
    operations: Vec<(Bitwise, Value)>,
}

impl Bitwise {
    const ALL: [(Self, &str); 3] = [(Self::And, "and"), (Self::Or, "or"), (Self::Xor, "xor")];

    /// The operation that has this number in a delta.
    pub fn of_number(number: i64) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known as i64 == number).map(|(known, _)| *known)
    }
}

impl Bit {
    /// Parses the operand of `$bit` at a path: `{and: 5}`.
    pub fn parse(operand: &Value) -> Result<Self, UpdateError> {
        let Value::Map(map) = operand else {
            let found = operand.type_name();
            return Err(bad(format!("$bit takes a map as {{and: 5}}, this is of type {found}")));
        };
        let operation = |(name, operand): &(Value, Value)| {
            let name = name.as_str().unwrap_or("a name that is not a string");
            match Bitwise::ALL.iter().find(|(_, known)| *known == name) {
                Some((known, _)) => Ok((*known, operand.clone())),
                None => Err(bad(format!("$bit knows 'and', 'or' and 'xor', not '{name}'"))),
            }
        };
        Self::new(map.entries.iter().map(operation).collect::<Result<_, _>>()?)
    }

    /// A `$bit` with these operations. At least one is required.
    pub fn new(operations: Vec<(Bitwise, Value)>) -> Result<Self, UpdateError> {
        if operations.is_empty() {
            return Err(bad("$bit has no operation: write {and: 5}, {or: 5} or {xor: 5}".to_owned()));
        }
        match operations.iter().find(|(_, operand)| integer(operand).is_err()) {
            Some((_, operand)) => {
                let found = operand.type_name();
                Err(bad(format!("$bit takes integers of 32 or 64 bits, this is of type {found}")))
            }
            None => Ok(Self { operations }),
        }
    }

    pub fn operations(&self) -> &[(Bitwise, Value)] {
        &self.operations
    }

    /// The result for a value; `None` if the value is not an integer. The result has 32 bits if the
    /// value and all operands have 32 bits.
    pub fn compute(&self, value: &Value) -> Option<Value> {
        let mut result = integer(value).ok()?;
        let mut wide = matches!(value, Value::Int64(_));
        for (operation, operand) in &self.operations {
            let operand = (integer(operand).ok()?, wide |= matches!(operand, Value::Int64(_))).0;
            result = match operation {
                Bitwise::And => result & operand,
                Bitwise::Or => result | operand,
                Bitwise::Xor => result ^ operand,
            };
        }
        // The combination of two 32-bit integers always fits a 32-bit integer.
        Some(if wide { Value::Int64(result) } else { i32::try_from(result).map_or(Value::Int64(result), Value::Int32) })
    }
}

impl From<&Bit> for Map {
    fn from(bit: &Bit) -> Self {
        let name = |operation: &Bitwise| Bitwise::ALL[*operation as usize].1;
        bit.operations.iter().map(|(operation, operand)| (name(operation), operand.clone())).collect()
    }
}

fn bad(message: String) -> UpdateError {
    UpdateError::BadValue(message)
}
