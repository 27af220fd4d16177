//! Paths whose components keep apart field names and positions.

use super::position;
use crate::value::{Text, Value};

/// A component of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Component {
    /// The name of a field of a document. It may be empty, and may contain dots.
    Field(Text),
    /// The position of an element of an array, from 0.
    Position(u32),
}

/// The path to a change: field names and positions from the document inward.
///
/// ```
/// use alluvium_document::diff::{Component, Path};
/// use alluvium_document::json;
///
/// let path = Path::from(vec![Component::Field("a".into()), Component::Position(2), Component::Field("b.c".into())]);
/// assert_eq!(path.dotted(), "a.2.b.c");
/// assert!(path.is_ambiguous());
/// assert_eq!(path.to_values(), [json!("a"), json!(2), json!("b.c")]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Path {
    components: Vec<Component>,
}

impl Path {
    /// The components in order.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// The components, separated by dots.
    pub fn dotted(&self) -> String {
        let mut dotted = String::new();
        for (depth, component) in self.components.iter().enumerate() {
            if depth > 0 {
                dotted.push('.');
            }
            match component {
                Component::Field(name) => dotted.push_str(name),
                Component::Position(at) => dotted.push_str(itoa::Buffer::new().format(*at)),
            }
        }
        dotted
    }

    /// True if [`Path::dotted`] could be read as another path: a field name contains a dot, or is a number and not the
    /// first component. As in MongoDB, a number has no sign and no leading zeros. Positions make no path ambiguous.
    ///
    /// ```
    /// use alluvium_document::diff::{Component, Path};
    ///
    /// let (a, zero) = (Component::Field("a".into()), Component::Field("0".into()));
    /// assert!(Path::from(vec![a.clone(), zero.clone()]).is_ambiguous());
    /// assert!(!Path::from(vec![zero, a.clone()]).is_ambiguous());
    /// assert!(!Path::from(vec![a, Component::Position(0)]).is_ambiguous());
    /// ```
    pub fn is_ambiguous(&self) -> bool {
        self.components.iter().enumerate().any(|(depth, component)| match component {
            Component::Field(name) => name.contains('.') || (depth > 0 && is_number(name)),
            Component::Position(_) => false,
        })
    }

    /// The components as values: field names as strings, positions as integers of 32 bits.
    pub fn to_values(&self) -> Vec<Value> {
        let value = |component: &Component| match component {
            Component::Field(name) => Value::String(name.clone()),
            Component::Position(at) => position(*at),
        };
        self.components.iter().map(value).collect()
    }

    /// Calls `body` with the path extended by a component. If `body` returns an error, the path keeps the component.
    pub(super) fn within<E>(
        &mut self,
        component: Component,
        body: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.components.push(component);
        body(self)?;
        self.components.pop();
        Ok(())
    }
}

impl From<Vec<Component>> for Path {
    fn from(components: Vec<Component>) -> Self {
        Self { components }
    }
}

/// True if the name is a number of any length without a sign or leading zeros.
fn is_number(name: &str) -> bool {
    let leading_zero = name.len() > 1 && name.starts_with('0');
    !name.is_empty() && !leading_zero && name.bytes().all(|byte| byte.is_ascii_digit())
}
