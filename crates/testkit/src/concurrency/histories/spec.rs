//! The operations of clients on a few documents, and the effect of each on all documents as one
//! step.

/// A document in a history: `v` and `n`. No two writes give a document the same pair.
pub type Doc = (i64, i64);
/// All documents, by index.
pub type Docs = Vec<Option<Doc>>;

/// A write that does not read the document.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// Puts a document with this `v`, and an `n` of 0.
    Put(i64),
    /// Deletes the document.
    Delete,
    /// Adds to `n`, on which no index depends; no effect on a missing document.
    AddN(i64),
    /// Adds to `v`, on which an index may depend; no effect on a missing document.
    AddV(i64),
}

impl Write {
    fn on(&self, doc: Option<Doc>) -> Option<Doc> {
        match (self, doc) {
            (Self::Put(v), _) => Some((*v, 0)),
            (Self::Delete, _) | (_, None) => None,
            (Self::AddN(by), Some((v, n))) => Some((v, n + by)),
            (Self::AddV(by), Some((v, n))) => Some((v + by, n)),
        }
    }
}

/// One call.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Writes several documents atomically, without reading them. The result is [`Answer::Done`].
    Write(Vec<(usize, Write)>),
    /// Adds to `n`, and returns whether the document existed.
    Update(usize, i64),
    /// Adds to `n`, and returns the previous document.
    FindAndAdd(usize, i64),
    /// Deletes the document, and returns it.
    Take(usize),
    /// Inserts a document if its `_id` does not exist, and returns whether it did.
    Insert(usize, i64),
    /// Replaces a document if it still has this content, and returns whether it did.
    Swap(usize, Doc, i64),
    /// Reads a document.
    Get(usize),
    /// Reads all documents at the same time.
    All,
    /// Reads the even or the odd documents with `v` in a range (inclusive).
    Find(usize, i64, i64),
    /// Reads the even or the odd documents in the order of their `_id`s.
    Scan(usize),
}

impl Act {
    /// True if the call may change something.
    pub fn writes(&self) -> bool {
        !matches!(self, Self::Get(_) | Self::All | Self::Find(..) | Self::Scan(_))
    }
}

impl Act {
    /// The documents that the call reads or changes, as one bit for each of up to 64 documents.
    pub fn documents(&self) -> u64 {
        match self {
            Self::Write(writes) => writes.iter().fold(0, |all, (at, _)| all | 1 << at),
            Self::Update(at, _) | Self::FindAndAdd(at, _) | Self::Take(at) | Self::Insert(at, _) => 1 << at,
            Self::Swap(at, ..) | Self::Get(at) => 1 << at,
            Self::All => u64::MAX,
            Self::Find(half, ..) | Self::Scan(half) => (u64::MAX / 3) << half,
        }
    }

    /// True if a call with this result has certainly written something. A delta of a field that an index reads may
    /// become a checked update, which writes nothing if the document does not exist. The same is then true for all
    /// other deltas of its batch on this document.
    pub fn wrote(&self, answer: &Answer) -> bool {
        match (self, answer) {
            (Self::Write(writes), _) => {
                let checked =
                    |at: &usize| writes.iter().any(|(other, write)| other == at && matches!(write, Write::AddV(_)));
                writes.iter().any(|(at, write)| match write {
                    Write::Put(_) | Write::Delete => true,
                    Write::AddN(_) => !checked(at),
                    Write::AddV(_) => false,
                })
            }
            (_, Answer::Whether(done)) => *done,
            (_, Answer::One(found)) => self.writes() && found.is_some(),
            _ => false,
        }
    }
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The call is done; it returns no value.
    Done,
    /// True if a document was changed.
    Whether(bool),
    /// A document.
    One(Option<Doc>),
    /// Documents, by index.
    Many(Docs),
}

/// The effect of a call on all documents, and its result.
pub fn apply(docs: &Docs, act: &Act) -> (Docs, Answer) {
    let with = |at: usize, doc: Option<Doc>| {
        let mut docs = docs.clone();
        docs[at] = doc;
        docs
    };
    match act {
        Act::Write(writes) => {
            let mut docs = docs.clone();
            for (at, write) in writes {
                docs[*at] = write.on(docs[*at]);
            }
            (docs, Answer::Done)
        }
        Act::Update(at, by) => (with(*at, Write::AddN(*by).on(docs[*at])), Answer::Whether(docs[*at].is_some())),
        Act::FindAndAdd(at, by) => (with(*at, Write::AddN(*by).on(docs[*at])), Answer::One(docs[*at])),
        Act::Take(at) => (with(*at, None), Answer::One(docs[*at])),
        Act::Insert(at, v) if docs[*at].is_none() => (with(*at, Some((*v, 0))), Answer::Whether(true)),
        Act::Swap(at, expected, v) if docs[*at] == Some(*expected) => (with(*at, Some((*v, 0))), Answer::Whether(true)),
        Act::Insert(..) | Act::Swap(..) => (docs.clone(), Answer::Whether(false)),
        Act::Get(at) => (docs.clone(), Answer::One(docs[*at])),
        Act::All => (docs.clone(), Answer::Many(docs.clone())),
        Act::Scan(half) => {
            let found = docs.iter().enumerate().map(|(at, doc)| doc.filter(|_| at % 2 == *half)).collect();
            (docs.clone(), Answer::Many(found))
        }
        Act::Find(half, from, to) => {
            let asked = |at: usize, doc: &Doc| at % 2 == *half && (*from..=*to).contains(&doc.0);
            let found = docs.iter().enumerate().map(|(at, doc)| doc.filter(|doc| asked(at, doc))).collect();
            (docs.clone(), Answer::Many(found))
        }
    }
}
