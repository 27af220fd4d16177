//! The scopes whose changes are recorded.

use crate::appends::Appends;
use crate::names::FullName;
use crate::trees::INDEX;
use alluvium_document::{Text, Value, encoding};
use alluvium_store::{Seq, TreeId};
use std::sync::Arc;

/// The collections whose changes are recorded together, by their names.
///
/// A collection that is created in a scope, or renamed into it, is recorded, too.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// All collections, except those of the logical databases `admin`, `config` and `local`.
    Everything,
    /// The collections of a logical database.
    Logical(Text),
    /// The collection with this name.
    Collection(FullName),
}

impl Scope {
    /// True if a collection with this name is in the scope.
    pub fn covers(&self, name: &FullName) -> bool {
        !name.is_temporary()
            && match self {
                Self::Everything => !name.is_of_server(),
                Self::Logical(logical) => *logical == name.logical,
                Self::Collection(collection) => collection == name,
            }
    }

    /// True if every collection of `other` is in the scope.
    pub fn includes(&self, other: &Self) -> bool {
        match other {
            Self::Everything => *self == Self::Everything,
            Self::Logical(logical) => match self {
                Self::Everything => self.covers(&FullName { logical: logical.clone(), collection: Text::from("any") }),
                Self::Logical(own) => own == logical,
                Self::Collection(_) => false,
            },
            Self::Collection(name) => self.covers(name),
        }
    }
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Everything => f.write_str("all collections"),
            Self::Logical(logical) => write!(f, "the logical database {logical}"),
            Self::Collection(name) => write!(f, "the collection {name}"),
        }
    }
}

/// A scope that is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedScope {
    /// The collections.
    pub scope: Scope,
    /// All changes with higher numbers are recorded.
    pub since: Seq,
    /// The time at which a change stream last read the scope, in milliseconds since 1970, if the recording was begun by
    /// a stream: it ends when no stream has read it for the retention. `None` if it lasts until it is stopped.
    pub used_ms: Option<i64>,
}

/// The recording of the changes of a collection.
#[derive(Debug)]
pub(crate) struct Recording {
    /// The tree of recorded changes.
    pub tree: TreeId,
    /// Counts the recorded writes.
    pub writes: Arc<Appends>,
}

/// The tree of recorded changes, and the scopes.
#[derive(Debug, Clone)]
pub(crate) struct History {
    pub tree: TreeId,
    /// Never empty. `since` is 0 until the number is known.
    pub scopes: Vec<RecordedScope>,
    /// False if the description allows no rows in the entries, which builds before them could not read.
    pub has_rows: bool,
}

/// The first element of the description of a history whose entries may have rows. In older descriptions, each element is
/// a scope.
const VERSION: Value = Value::Int32(2);

/// The bytes after the kind in the description of the history, where an index has the tree of its documents, and three
/// numbers. A build that knows no history expects a map behind it, finds an array, and refuses the database.
const HEAD: [u8; 4] = [0; 4];

impl History {
    /// True if the changes of the collection are recorded.
    pub fn covers(&self, name: &FullName) -> bool {
        self.scopes.iter().any(|recorded| recorded.scope.covers(name))
    }

    /// The description of the tree.
    pub fn describe(scopes: &[RecordedScope]) -> Vec<u8> {
        let scope = |RecordedScope { scope, since, used_ms }: &RecordedScope| {
            let names: Vec<Text> = match scope {
                Scope::Everything => Vec::new(),
                Scope::Logical(logical) => vec![logical.clone()],
                Scope::Collection(name) => vec![name.logical.clone(), name.collection.clone()],
            };
            let head = [Value::Int64(since.cast_signed()), used_ms.map_or(Value::Null, Value::Int64)];
            Value::Array(head.into_iter().chain(names.into_iter().map(Value::String)).collect())
        };
        let mut out = vec![INDEX];
        out.extend_from_slice(&HEAD);
        let elements = std::iter::once(VERSION).chain(scopes.iter().map(scope));
        encoding::encode(&Value::Array(elements.collect()), &mut out);
        out
    }

    /// The history whose tree has this description; `None` for another tree.
    pub fn read(tree: TreeId, description: &[u8]) -> Option<Self> {
        let mut input = description.strip_prefix(&[INDEX])?.strip_prefix(&HEAD)?;
        let Value::Array(elements) = encoding::decode(&mut input).ok()? else { return None };
        let (has_rows, scopes) = match elements.split_first() {
            Some((version, scopes)) if *version == VERSION => (true, scopes),
            _ => (false, &elements[..]),
        };
        let scope = |value: &Value| {
            let [Value::Int64(since), used, names @ ..] = value.as_array()? else { return None };
            let used_ms = match used {
                Value::Null => None,
                Value::Int64(used) => Some(*used),
                _ => return None,
            };
            let text = |value: &Value| value.as_str().map(Text::from);
            let scope = match names {
                [] => Scope::Everything,
                [logical] => Scope::Logical(text(logical)?),
                [logical, name] => Scope::Collection(FullName { logical: text(logical)?, collection: text(name)? }),
                _ => return None,
            };
            Some(RecordedScope { scope, since: since.cast_unsigned(), used_ms })
        };
        let scopes = scopes.iter().map(scope).collect::<Option<Vec<_>>>()?;
        (input.is_empty() && !scopes.is_empty()).then_some(Self { tree, scopes, has_rows })
    }
}
