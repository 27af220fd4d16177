#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// What a read at `at` finds: the newest entry at or below it.
fn read(entries: &[(Seq, Kind)], at: Seq) -> Option<(Seq, Kind)> {
    entries.iter().copied().find(|(seq, _)| *seq <= at)
}

/// A tombstone and nothing read the same.
fn value(found: Option<(Seq, Kind)>) -> Option<Seq> {
    found.filter(|(_, kind)| *kind == Kind::Put).map(|(seq, _)| seq)
}

proptest! {
    /// One key, with older versions below the input or not: every number that anybody may read at
    /// reads the same before and after, and nothing is kept that nobody can read.
    #[test]
    fn every_allowed_read_finds_the_same(
        input in prop::collection::btree_map(10u64..40, any::<bool>(), 1..12),
        below in any::<bool>(),
        snapshots in prop::collection::btree_set(1u64..45, 1..5),
    ) {
        let kind = |put: bool| if put { Kind::Put } else { Kind::Delete };
        let entries: Vec<(Seq, Kind)> = input.iter().rev().map(|(seq, put)| (*seq, kind(*put))).collect();
        let list: Vec<Seq> = snapshots.iter().copied().collect();
        let visible = *list.last().unwrap();
        let mut retention = Retention::new(list.clone());
        let mut kept = Vec::new();
        let mut shadowed = 0;
        for (seq, kind) in &entries {
            match retention.judge(b"k", *seq, *kind) {
                Verdict::Keep => kept.push((*seq, *kind)),
                Verdict::KeepShadowed => { shadowed += 1; kept.push((*seq, *kind)) }
                Verdict::DropIfBottom if below => kept.push((*seq, *kind)),
                Verdict::DropIfBottom | Verdict::Drop => {}
            }
        }
        let rest = if below { vec![(5, Kind::Put)] } else { vec![] };
        let all = |part: &[(Seq, Kind)]| part.iter().chain(&rest).copied().collect::<Vec<_>>();
        let (before, after) = (all(&entries), all(&kept));
        let allowed: BTreeSet<Seq> = list.iter().copied().chain(visible..50).collect();
        for at in allowed.iter().copied() {
            prop_assert_eq!(value(read(&before, at)), value(read(&after, at)), "read at {}", at);
        }
        for (seq, _) in &kept {
            let used = allowed.iter().any(|at| read(&kept, *at).is_some_and(|found| found.0 == *seq));
            prop_assert!(used, "{} is kept for nobody", seq);
        }
        prop_assert!(shadowed <= kept.len().saturating_sub(1) + usize::from(below));
    }
}

#[test]
fn without_a_list_everything_is_kept() {
    let mut retention = Retention::new(Vec::new());
    assert_eq!(retention.judge(b"k", 5, Kind::Delete), Verdict::Keep);
    assert_eq!(retention.judge(b"k", 4, Kind::Put), Verdict::KeepShadowed);
}

#[test]
fn keys_do_not_influence_each_other() {
    let mut retention = Retention::new(vec![10]);
    assert_eq!(retention.judge(b"a", 9, Kind::Put), Verdict::Keep);
    assert_eq!(retention.judge(b"a", 8, Kind::Put), Verdict::Drop);
    assert_eq!(retention.judge(b"b", 7, Kind::Put), Verdict::Keep);
    assert_eq!(retention.judge(b"", 3, Kind::Put), Verdict::Keep);
}
