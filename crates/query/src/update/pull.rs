//! Which elements `$pull` removes.
//!
//! MongoDB takes any query here. This takes a value, comparisons of the element itself, and comparisons of fields of
//! elements that are maps: `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`, `$in`, `$nin`. The rules of each are those of
//! MongoDB's queries.

use document::compare::{compare, equal, type_rank};
use document::path::{FieldPath, array_index};
use document::value::Double;
use document::{MAX_DEPTH, Map, Value};

use super::UpdateError;

/// Which elements go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pull {
    /// Those that equal the value.
    Equal(Value),
    /// Those that pass all tests.
    Element(Vec<Test>),
    /// Maps whose fields pass all tests.
    Fields(Vec<(FieldPath, Test)>),
}

/// A comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Test {
    pub comparison: Comparison,
    /// What is compared with; an array for [`Comparison::In`] and [`Comparison::NotIn`].
    pub operand: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal = 0,
    NotEqual = 1,
    Greater = 2,
    GreaterOrEqual = 3,
    Less = 4,
    LessOrEqual = 5,
    In = 6,
    NotIn = 7,
}

impl Comparison {
    const ALL: [(Self, &str); 8] = [
        (Self::Equal, "$eq"),
        (Self::NotEqual, "$ne"),
        (Self::Greater, "$gt"),
        (Self::GreaterOrEqual, "$gte"),
        (Self::Less, "$lt"),
        (Self::LessOrEqual, "$lte"),
        (Self::In, "$in"),
        (Self::NotIn, "$nin"),
    ];

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(comparison, _)| *comparison)
    }

    /// The comparison with this number in a delta.
    pub fn of_number(number: i64) -> Option<Self> {
        Self::ALL.iter().find(|(comparison, _)| *comparison as i64 == number).map(|(comparison, _)| *comparison)
    }

    fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

impl Pull {
    /// The condition that an operand of `$pull` stands for.
    pub fn parse(operand: &Value) -> Result<Self, UpdateError> {
        let Value::Map(map) = operand else { return Self::value(operand.clone()) };
        if is_operators(map) {
            return tests(map).map(Self::Element);
        }
        let mut fields = Vec::with_capacity(map.len());
        for (name, condition) in &map.entries {
            let name = name.as_str().ok_or_else(|| bad("a condition of $pull has a name that is no string"))?;
            if name.starts_with('$') {
                return Err(unsupported(name));
            }
            let path: FieldPath = name.parse().map_err(|e| bad(&format!("the condition '{name}' of $pull: {e}")))?;
            match condition {
                Value::Map(inner) if is_operators(inner) => {
                    fields.extend(tests(inner)?.into_iter().map(|test| (path.clone(), test)));
                }
                value => fields.push((path, Test::new(Comparison::Equal, value.clone())?)),
            }
        }
        Ok(Self::Fields(fields))
    }

    /// Those elements that equal the value.
    pub fn value(value: Value) -> Result<Self, UpdateError> {
        Test::new(Comparison::Equal, value).map(|test| Self::Equal(test.operand))
    }

    /// True if the element goes.
    pub fn matches(&self, element: &Value) -> bool {
        match self {
            Self::Equal(value) => equal(element, value),
            Self::Element(tests) => tests.iter().all(|test| test.passes(&[], element)),
            Self::Fields(fields) => {
                let passes = |(path, test): &(FieldPath, Test)| {
                    let names: Vec<&str> = path.names().collect();
                    test.passes(&names, element)
                };
                matches!(element, Value::Map(_)) && fields.iter().all(passes)
            }
        }
    }
}

/// True if a map holds operators: its first name begins with a dollar sign.
fn is_operators(map: &Map) -> bool {
    map.entries.first().is_some_and(|(name, _)| name.as_str().is_some_and(|name| name.starts_with('$')))
}

fn tests(map: &Map) -> Result<Vec<Test>, UpdateError> {
    let test = |(name, operand): &(Value, Value)| {
        let name = name.as_str().unwrap_or("a name that is no string");
        Test::new(Comparison::of_name(name).ok_or_else(|| unsupported(name))?, operand.clone())
    };
    map.entries.iter().map(test).collect()
}

fn unsupported(name: &str) -> UpdateError {
    let known: Vec<&str> = Comparison::ALL.iter().map(|(_, name)| *name).collect();
    bad(&format!("{name} is not supported in a condition of $pull, which takes {}", known.join(", ")))
}

fn bad(message: &str) -> UpdateError {
    UpdateError::BadValue(message.to_owned())
}

impl Test {
    /// A comparison whose operand is one that it takes.
    pub fn new(comparison: Comparison, operand: Value) -> Result<Self, UpdateError> {
        // In a delta it stands in an array.
        if operand.is_deeper_than(MAX_DEPTH - 1) {
            return Err(UpdateError::Overflow("a condition of $pull nests too deep".to_owned()));
        }
        match (comparison, &operand) {
            (Comparison::In | Comparison::NotIn, Value::Array(values)) => {
                values.iter().try_for_each(|value| match value {
                    Value::Map(map) if is_operators(map) => {
                        Err(bad(&format!("{} in a condition of $pull holds operators", comparison.name())))
                    }
                    value => comparable(value),
                })?
            }
            (Comparison::In | Comparison::NotIn, other) => {
                let (name, is) = (comparison.name(), other.type_name());
                return Err(bad(&format!("{name} in a condition of $pull needs an array, this is of type {is}")));
            }
            (_, value) => comparable(value)?,
        }
        Ok(Self { comparison, operand })
    }

    /// True if what lies at the path passes.
    fn passes(&self, names: &[&str], value: &Value) -> bool {
        let found = |wanted: &dyn Fn(&Value) -> bool| any(value, names, wanted);
        match self.comparison {
            Comparison::Equal => found(&|value| equal(value, &self.operand)),
            Comparison::NotEqual => !found(&|value| equal(value, &self.operand)),
            Comparison::In => found(&|value| self.contains(value)),
            Comparison::NotIn => !found(&|value| self.contains(value)),
            _ => found(&|value| self.in_range(value)),
        }
    }

    fn contains(&self, value: &Value) -> bool {
        self.operand.as_array().is_some_and(|values| values.iter().any(|wanted| equal(wanted, value)))
    }

    /// True if the value is on the right side of the operand. Only values of one type are, or the ends of the order.
    fn in_range(&self, value: &Value) -> bool {
        let any_type = matches!(self.operand, Value::MinKey | Value::MaxKey);
        if !any_type && type_rank(value) != type_rank(&self.operand) {
            return false;
        }
        let order = compare(value, &self.operand);
        // NaN is neither above nor below anything.
        if order.is_ne() && (is_nan(value) || is_nan(&self.operand)) {
            return false;
        }
        match self.comparison {
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
            Comparison::Less => order.is_lt(),
            _ => order.is_le(),
        }
    }
}

fn comparable(value: &Value) -> Result<(), UpdateError> {
    match value {
        Value::Regex(_) => Err(unsupported("a regular expression")),
        Value::Undefined => Err(bad("a condition of $pull cannot compare with undefined")),
        _ => Ok(()),
    }
}

fn is_nan(value: &Value) -> bool {
    match value {
        Value::Double(Double(x)) => x.is_nan(),
        Value::Decimal(decimal) => decimal.is_nan(),
        _ => false,
    }
}

/// True if one of the values at a path is wanted, as MongoDB's queries see them: an array in the way stands for its
/// elements that are maps, at the end for itself and its elements; what is not there counts as null.
fn any(value: &Value, names: &[&str], wanted: &dyn Fn(&Value) -> bool) -> bool {
    let Some((name, rest)) = names.split_first() else {
        return wanted(value) || value.as_array().is_some_and(|elements| elements.iter().any(wanted));
    };
    match value {
        Value::Map(map) => map.get(name).map_or_else(|| wanted(&Value::Null), |inner| any(inner, rest, wanted)),
        Value::Array(elements) => {
            let at = array_index(name).and_then(|at| elements.get(at));
            let maps = elements.iter().filter(|element| matches!(element, Value::Map(_)));
            at.is_some_and(|element| any(element, rest, wanted)) || maps.into_iter().any(|map| any(map, names, wanted))
        }
        _ => wanted(&Value::Null),
    }
}
