use super::*;
use proptest::prelude::*;

const KEYS: u8 = 24;

/// The model of a set: tombstones in any order.
type Plain = Vec<(u8, u8, Seq)>;

fn tombstones() -> impl Strategy<Value = Plain> {
    prop::collection::vec((0..KEYS, 0..KEYS, 1..60u64), 0..12)
}

fn set(plain: &Plain) -> RangeSet {
    RangeSet::union(plain.iter().map(|(a, b, seq)| RangeSet::one(&[*a], &[*b], *seq)).collect(), &[])
}

fn cover(plain: &Plain, key: u8, at: Seq) -> Seq {
    let covers = plain.iter().filter(|(a, b, seq)| (*a..*b).contains(&key) && *seq <= at);
    covers.map(|(_, _, seq)| *seq).max().unwrap_or(0)
}

/// Checks that fragments are ordered and disjoint, and that the sums are right.
fn check(set: &RangeSet) {
    for f in set.fragments() {
        assert!(f.start() < f.end() && !f.seqs().is_empty() && f.seqs().windows(2).all(|s| s[0] > s[1]), "{f:?}");
    }
    for pair in set.fragments().windows(2) {
        assert!(pair[0].end() <= pair[1].start());
        assert!(pair[0].end() < pair[1].start() || pair[0].seqs() != pair[1].seqs(), "{pair:?} are one");
    }
    assert_eq!(set.bytes(), set.fragments().iter().map(Fragment::bytes).sum::<usize>());
    assert_eq!(set.newest(), set.fragments().iter().map(|f| f.newest(Seq::MAX)).max().unwrap_or(0));
}

proptest! {
    #[test]
    fn every_key_is_covered_as_by_a_plain_list(plain in tombstones()) {
        let set = set(&plain);
        check(&set);
        for key in 0..KEYS {
            for at in [0, 1, 7, 20, 33, 59, Seq::MAX] {
                prop_assert_eq!(set.cover(&[key], at), cover(&plain, key, at));
                prop_assert_eq!(newest(set.coverage(&[key]).seqs, at), cover(&plain, key, at));
            }
            let place = set.coverage(&[key]);
            prop_assert!(place.low.is_none_or(|low| low <= &[key][..]) && place.high.is_none_or(|high| &[key][..] < high));
            for other in 0..KEYS {
                let inside = place.low.is_none_or(|low| low <= &[other][..]) && place.high.is_none_or(|high| &[other][..] < high);
                prop_assert!(!inside || set.coverage(&[other]) == place, "all keys of a place have the same");
                let meets = |f: &Fragment| f.start() <= &[other.max(key)][..] && &[other.min(key)][..] < f.end();
                let found = set.overlapping(&[other.min(key)], &[other.max(key)]);
                prop_assert_eq!(found, set.fragments().iter().filter(|f| meets(f)).cloned().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn thinned_sets_answer_the_same_at_their_snapshots(
        plain in tombstones(),
        mut snapshots in prop::collection::vec(0..50u64, 1..4),
    ) {
        snapshots.sort_unstable();
        let all = set(&plain);
        let thinned = all.thinned(&snapshots);
        check(&thinned);
        let last = *snapshots.last().unwrap();
        for key in 0..KEYS {
            for at in snapshots.iter().copied().chain(last..62) {
                prop_assert_eq!(thinned.cover(&[key], at), all.cover(&[key], at), "key {} at {}", key, at);
            }
            let seqs = thinned.coverage(&[key]).seqs;
            prop_assert!(seqs.iter().filter(|seq| **seq <= last).count() <= snapshots.len());
        }
    }

    #[test]
    fn what_is_forgotten_is_gone_up_to_its_number(plain in tombstones(), done in tombstones()) {
        let left = set(&plain).forget(&set(&done));
        check(&left);
        for key in 0..KEYS {
            let up_to = cover(&done, key, Seq::MAX);
            let expected: Plain = plain.iter().copied().filter(|(_, _, seq)| *seq > up_to).collect();
            for at in 0..62 {
                prop_assert_eq!(left.cover(&[key], at), cover(&expected, key, at));
            }
        }
    }
}

#[test]
fn ranges_that_grow_with_each_delete_take_one_number_each() {
    let mut set = RangeSet::default();
    for seq in 1..500u64 {
        set = set.join(&RangeSet::one(b"", &seq.to_be_bytes(), seq), &[seq]);
        check(&set);
        assert_eq!(set.len(), 1, "{set:?}");
    }
    // A snapshot at 100 distinguishes the oldest number from the newer ones.
    let mut set = RangeSet::one(b"", &100u64.to_be_bytes(), 100);
    for seq in 101..500u64 {
        set = set.join(&RangeSet::one(b"", &seq.to_be_bytes(), seq), &[100, seq]);
    }
    assert_eq!(set.fragments().iter().map(Fragment::seqs).collect::<Vec<_>>(), [&[499, 100][..], &[499]]);
}

#[test]
fn an_empty_range_is_none() {
    assert!(RangeSet::one(b"b", b"b", 3).is_empty());
    assert!(RangeSet::one(b"b", b"a", 3).is_empty());
}

#[test]
fn a_join_ends_at_its_limit() {
    // Each range is within the previous one, so the whole set has one number for every two ranges.
    let nested = |from: u16, to: u16| {
        let one = |n: u16| RangeSet::one(&n.to_be_bytes(), &(u16::MAX - n).to_be_bytes(), u64::from(n) + 1);
        (from..to).map(one).fold(RangeSet::default(), |set, one| set.join(&one, &[]))
    };
    // The time grows with the third power of the depth; Miri would take hours.
    let depth: u16 = if cfg!(miri) { 20 } else { 200 };
    let set = nested(0, depth);
    let squared = usize::from(depth) * usize::from(depth);
    assert!(set.bytes() > squared * size_of::<Seq>(), "{} bytes", set.bytes());
    let one = RangeSet::one(b"", &[0xff; 3], 900);
    let joined = set.join(&one, &[]);
    assert_eq!(set.join_within(&one, &[], joined.bytes()), Some(joined.clone()));
    assert_eq!(set.join_within(&one, &[], joined.bytes() - 1), None);
    // Forgetting the middle of a range splits it in two.
    let whole = RangeSet::one(b"a", b"z", 5);
    let left = whole.forget(&RangeSet::one(b"c", b"d", 9));
    assert_eq!(whole.forget_within(&RangeSet::one(b"c", b"d", 9), left.bytes()), Some(left.clone()));
    assert_eq!(whole.forget_within(&RangeSet::one(b"c", b"d", 9), left.bytes() - 1), None);
}
