use super::*;
use proptest::prelude::*;
use std::convert::Infallible;

/// A source over a sorted list.
struct List {
    entries: Vec<(Vec<u8>, Seq)>,
    at: Option<usize>,
}

impl List {
    fn set(&mut self, at: Option<usize>) -> Result<(), Infallible> {
        self.at = at.filter(|at| *at < self.entries.len());
        Ok(())
    }
}

impl EntryIter for List {
    type Error = Infallible;
    fn seek_first(&mut self) -> Result<(), Infallible> {
        self.set(Some(0))
    }
    fn seek_last(&mut self) -> Result<(), Infallible> {
        self.set(self.entries.len().checked_sub(1))
    }
    fn seek(&mut self, key: &[u8], seq: Seq) -> Result<(), Infallible> {
        let at = self.entries.partition_point(|e| entry::compare(&e.0, e.1, key, seq) == Ordering::Less);
        self.set(Some(at))
    }
    fn seek_before(&mut self, key: &[u8]) -> Result<(), Infallible> {
        self.set(self.entries.partition_point(|e| e.0.as_slice() < key).checked_sub(1))
    }
    fn next(&mut self) -> Result<(), Infallible> {
        self.set(self.at.map(|at| at + 1))
    }
    fn prev(&mut self) -> Result<(), Infallible> {
        self.set(self.at.and_then(|at| at.checked_sub(1)))
    }
    fn valid(&self) -> bool {
        self.at.is_some()
    }
    fn key(&self) -> &[u8] {
        self.at.map_or(&[], |at| &self.entries[at].0)
    }
    fn seq(&self) -> Seq {
        self.at.map_or(0, |at| self.entries[at].1)
    }
    fn kind(&self) -> Kind {
        Kind::Put
    }
    fn value(&self) -> &[u8] {
        &[]
    }
}

#[derive(Debug, Clone)]
enum Move {
    First,
    Last,
    Seek(u8, Seq),
    Before(u8),
    Next,
    Prev,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        1 => Just(Move::First),
        1 => Just(Move::Last),
        2 => (0u8..12, 0u64..60).prop_map(|(key, seq)| Move::Seek(key, seq)),
        2 => (0u8..12).prop_map(Move::Before),
        6 => Just(Move::Next),
        6 => Just(Move::Prev),
    ];
    prop::collection::vec(one, 1..60)
}

proptest! {
    /// The merge moves like a single list, however the entries are distributed over sources.
    #[test]
    fn a_merge_moves_like_one_list(
        entries in prop::collection::btree_map((0u8..10, 1u64..50), 0usize..5, 0..60),
        moves in moves(),
    ) {
        let mut all: Vec<(Vec<u8>, Seq)> = entries.keys().map(|(key, seq)| (vec![*key], *seq)).collect();
        all.sort_by(|a, b| entry::compare(&a.0, a.1, &b.0, b.1));
        let source = |which: usize| {
            let mine = |e: &&(Vec<u8>, Seq)| entries[&(e.0[0], e.1)] == which;
            List { entries: all.iter().filter(mine).cloned().collect(), at: None }
        };
        let mut merge = Merge::new((0..5).map(source).collect());
        let mut one = List { entries: all.clone(), at: None };
        for step in moves {
            let run = |iter: &mut dyn EntryIter<Error = Infallible>| match step {
                Move::First => iter.seek_first(),
                Move::Last => iter.seek_last(),
                Move::Seek(key, seq) => iter.seek(&[key], seq),
                Move::Before(key) => iter.seek_before(&[key]),
                Move::Next => iter.next(),
                Move::Prev => iter.prev(),
            };
            run(&mut merge).unwrap();
            run(&mut one).unwrap();
            prop_assert_eq!(merge.valid(), one.valid());
            prop_assert_eq!((merge.key(), merge.seq()), (one.key(), one.seq()));
        }
    }
}
