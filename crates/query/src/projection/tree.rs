//! The fields of a projection as a tree.

/// The projection of the fields of a map.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Node {
    /// Sorted by name.
    children: Vec<(Box<str>, Child)>,
}

/// The projection of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Child {
    /// The whole field is included or excluded, depending on the kind of the projection.
    Whole,
    /// These elements of an array. A value that is not an array is included as a whole.
    Slice(Slice),
    /// One element of an array. A value that is not an array is included as a whole.
    Position,
    /// An expression computes the value; the value in the document is left out.
    Computed,
    /// A projection of the fields of a map.
    Fields(Node),
}

/// A part of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slice {
    /// The first element; a negative position counts from the end. `None` is the start, or the last
    /// elements if the limit is negative.
    pub skip: Option<i32>,
    /// The number of elements. It is negative only without a skip, and then counts the last elements.
    pub limit: i32,
}

/// The reason why a child cannot be added.
pub(super) enum Collision {
    /// The path, or a path below it, was already added.
    AtEnd,
    /// A prefix of the path was already added as a leaf. Contains the rest of the path.
    At(String),
}

impl Node {
    pub fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    pub fn children(&self) -> &[(Box<str>, Child)] {
        &self.children
    }

    pub fn get(&self, name: &str) -> Option<&Child> {
        let at = self.children.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        Some(&self.children[at].1)
    }

    pub fn remove(&mut self, name: &str) {
        self.children.retain(|(known, _)| &**known != name);
    }

    /// True if a field at any depth is computed.
    pub fn has_computed(&self) -> bool {
        self.children.iter().any(|(_, child)| match child {
            Child::Computed => true,
            Child::Fields(inner) => inner.has_computed(),
            _ => false,
        })
    }

    /// Adds a child at the path, and missing nodes above it.
    pub fn add(&mut self, path: &str, child: Child) -> Result<(), Collision> {
        let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
        let found = self.children.binary_search_by(|(known, _)| (**known).cmp(name));
        let Some(rest) = rest else {
            let Err(at) = found else { return Err(Collision::AtEnd) };
            self.children.insert(at, (name.into(), child));
            return Ok(());
        };
        let at = found.unwrap_or_else(|at| {
            self.children.insert(at, (name.into(), Child::Fields(Self::default())));
            at
        });
        match &mut self.children[at].1 {
            Child::Fields(inner) => inner.add(rest, child),
            _ => Err(Collision::At(rest.to_owned())),
        }
    }
}

impl Slice {
    /// The elements that the slice selects from an array of this length: the number to skip, and
    /// the number to take.
    pub fn range(self, len: usize) -> (usize, usize) {
        let magnitude = |n: i32| usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX);
        let from = |n: i32| if n < 0 { len.saturating_sub(magnitude(n)) } else { magnitude(n).min(len) };
        let (start, limit) = match self.skip {
            Some(skip) => (from(skip), magnitude(self.limit)),
            None if self.limit < 0 => (from(self.limit), len),
            None => (0, magnitude(self.limit)),
        };
        (start, limit.min(len - start))
    }
}
