use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// The result of a read at `at`: the newest entry at or below it.
fn read(entries: &[(Seq, Kind)], at: Seq) -> Option<(Seq, Kind)> {
    entries.iter().copied().find(|(seq, _)| *seq <= at)
}

/// Returns `None` for a tombstone, because a read treats it like a missing entry.
fn value(found: Option<(Seq, Kind)>) -> Option<Seq> {
    found.filter(|(_, kind)| *kind == Kind::Put).map(|(seq, _)| seq)
}

proptest! {
    /// For one key, with or without older versions below the input: every possible read has the
    /// same result before and after, and only readable entries are kept.
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
                Verdict::KeepShadowed(until) => {
                    shadowed += 1;
                    let newer = entries.iter().rev().map(|(seq, _)| *seq).find(|newer| newer > seq).unwrap();
                    let last = list.iter().copied().rev().find(|at| read(&entries, *at) == Some((*seq, *kind)));
                    prop_assert_eq!(Some(until), if newer > visible { Some(FOR_EVER) } else { last });
                    kept.push((*seq, *kind));
                }
                Verdict::DropIfBottom if below => kept.push((*seq, *kind)),
                Verdict::DropIfBottom | Verdict::Drop => {}
                of_deltas => prop_assert!(false, "{of_deltas:?} without a delta"),
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
            prop_assert!(used, "{} is kept without a reader", seq);
        }
        prop_assert!(shadowed <= kept.len().saturating_sub(1) + usize::from(below));
    }
}

#[test]
fn without_a_list_everything_is_kept() {
    let mut retention = Retention::new(Vec::new());
    assert_eq!(retention.judge(b"k", 5, Kind::Delete), Verdict::Keep);
    assert_eq!(retention.judge(b"k", 4, Kind::Put), Verdict::KeepShadowed(FOR_EVER));
}

#[test]
fn keys_do_not_influence_each_other() {
    let mut retention = Retention::new(vec![10]);
    assert_eq!(retention.judge(b"a", 9, Kind::Put), Verdict::Keep);
    assert_eq!(retention.judge(b"a", 8, Kind::Put), Verdict::Drop);
    assert_eq!(retention.judge(b"b", 7, Kind::Put), Verdict::Keep);
    assert_eq!(retention.judge(b"", 3, Kind::Put), Verdict::Keep);
}

#[test]
fn a_chain_ends_at_a_full_write_or_a_snapshot() {
    let mut retention = Retention::new(vec![10, 20]);
    let mut judge = |seq, kind| retention.judge(b"k", seq, kind);
    // No snapshot sees it yet: it is kept separately.
    assert_eq!(judge(25, Kind::Delta), Verdict::Keep);
    assert_eq!(judge(19, Kind::Delta), Verdict::ChainStart { shadowed: Some(FOR_EVER) });
    assert_eq!(judge(18, Kind::Delta), Verdict::Chain);
    // Beyond the snapshot at 10 another chain begins.
    assert_eq!(judge(10, Kind::Delta), Verdict::ChainStart { shadowed: Some(10) });
    assert_eq!(judge(9, Kind::Delta), Verdict::Chain);
    assert_eq!(judge(8, Kind::Put), Verdict::Base { oldest: true });
    assert_eq!(judge(7, Kind::Delta), Verdict::Drop);
    assert_eq!(judge(6, Kind::Put), Verdict::Drop);
    assert_eq!(retention.judge(b"l", 15, Kind::Delta), Verdict::ChainStart { shadowed: None });
    assert_eq!(retention.judge(b"l", 14, Kind::Folded), Verdict::Base { oldest: false });
    assert_eq!(retention.judge(b"m", 15, Kind::Folded), Verdict::Keep);
    assert_eq!(retention.judge(b"m", 14, Kind::Delta), Verdict::Drop);
}
