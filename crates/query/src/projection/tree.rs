//! The names that a projection speaks of.

/// What a projection says of the fields of a map.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Node {
    /// By name, in the order of their bytes.
    children: Vec<(Box<str>, Child)>,
}

/// What it says of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Child {
    /// It is included whole, or excluded, as the projection's kind is.
    Whole,
    /// Of an array only these elements, of anything else all of it.
    Slice(Slice),
    /// Of an array one element, of anything else all of it.
    Position,
    /// Something of its fields.
    Fields(Node),
}

/// A part of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slice {
    /// From where: from the end if negative. From the start if there is none and the limit is not negative.
    pub skip: Option<i32>,
    /// How many elements; from the end if negative, which it is only without a skip.
    pub limit: i32,
}

/// Why a child cannot be added.
pub(super) enum Collision {
    /// The path, or something below it, is there.
    AtEnd,
    /// What leads to it is there, and has no fields; the rest of the path.
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

    /// Adds a child where the names lead, and nodes on the way there.
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
    /// The elements of an array of this length that it has: how many are passed over, and how many come.
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
