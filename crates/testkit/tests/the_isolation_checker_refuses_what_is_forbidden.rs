//! The checker of transactions allows histories that have snapshot isolation, and refuses those that lack something.

use alluvium_testkit::concurrency::isolation::checker::{
    Item, Kind, Last, Outcome, Search, Step, Transaction, check, check_alone, item, unit, unit_key,
};

/// A history with steps in the order of time: each line is a transaction, as its begin, its end, and its steps.
struct History(Vec<Transaction>);

fn plain(number: i64) -> Item {
    item(number, Kind::Plain)
}

fn read(list: usize, numbers: &[i64]) -> Step {
    Step::Read(list, numbers.iter().copied().map(plain).collect())
}

fn append(list: usize, number: i64) -> Step {
    Step::Append(list, plain(number))
}

impl History {
    fn new() -> Self {
        Self(Vec::new())
    }

    fn ends(mut self, times: (u64, u64), outcome: Outcome, steps: impl Into<Vec<Step>>) -> Self {
        let (begun, ended) = times;
        self.0.push(Transaction { client: self.0.len(), begun, ended, steps: steps.into(), outcome });
        self
    }

    fn commits(self, times: (u64, u64), steps: impl Into<Vec<Step>>) -> Self {
        self.ends(times, Outcome::Committed, steps)
    }

    fn lists(last: &[&[i64]]) -> Vec<Vec<Item>> {
        last.iter().map(|list| list.iter().copied().map(plain).collect()).collect()
    }

    fn holds(self, last: &[&[i64]]) {
        check(&self.0, &Last::Whole(Self::lists(last))).unwrap_or_else(|broken| panic!("{broken}"));
    }

    #[track_caller]
    fn breaks(self, last: &[&[i64]], what: &str) {
        let broken = check(&self.0, &Last::Whole(Self::lists(last))).expect_err(what);
        assert!(broken.contains(what), "{broken}");
    }

    #[track_caller]
    fn recovers(self, last: &[&[i64]], what: Option<&str>) {
        match (check(&self.0, &Last::Recovered(Self::lists(last))), what) {
            (Ok(()), None) => {}
            (Err(broken), Some(what)) => assert!(broken.contains(what), "{broken}"),
            (found, _) => panic!("{found:?}, expected {what:?}"),
        }
    }
}

#[test]
fn what_snapshot_isolation_allows_is_allowed() {
    History::new().holds(&[&[], &[]]);
    History::new()
        .commits((1, 2), [append(0, 1)])
        .commits((3, 6), [read(0, &[1]), append(0, 2), read(0, &[1, 2]), append(1, 3), append(0, 4)])
        .commits((5, 8), [read(0, &[1]), read(1, &[])])
        .ends((4, 7), Outcome::Aborted, [append(1, 9), read(1, &[9])])
        .ends((9, 10), Outcome::Unknown, [append(1, 5)])
        .holds(&[&[1, 2, 4], &[3]]);
    // Write skew: each reads what the other writes.
    History::new()
        .commits((1, 3), [read(0, &[]), read(1, &[]), append(0, 1)])
        .commits((2, 4), [read(0, &[]), read(1, &[]), append(1, 2)])
        .holds(&[&[1], &[2]]);
    // Two plain appends at the same time, in either order.
    History::new().commits((1, 4), [append(0, 1)]).commits((2, 3), [append(0, 2)]).holds(&[&[2, 1]]);
}

#[test]
fn reads_of_aborted_and_intermediate_states_are_refused() {
    History::new()
        .ends((1, 3), Outcome::Aborted, [append(0, 1)])
        .commits((2, 4), [read(0, &[1])])
        .breaks(&[&[1]], "of an aborted transaction");
    History::new()
        .commits((1, 4), [append(0, 1), append(0, 2)])
        .commits((2, 3), [read(0, &[1])])
        .breaks(&[&[1, 2]], "an intermediate state of list 0");
    History::new().commits((1, 2), [read(0, &[7])]).breaks(&[&[7]], "no transaction wrote");
    let look = |number| Step::Look(0, Some(plain(number)));
    History::new()
        .ends((1, 2), Outcome::Aborted, [Step::Put(0, plain(1))])
        .commits((3, 4), [look(1)])
        .breaks(&[], "register 0 shows an aborted write");
    History::new()
        .commits((1, 4), [Step::Put(0, plain(1)), Step::Put(0, plain(2))])
        .commits((2, 3), [look(1)])
        .breaks(&[], "an intermediate state of register 0");
}

#[test]
fn other_states_within_a_transaction_are_refused() {
    let appended = || History::new().commits((1, 4), [append(0, 1)]);
    appended().commits((2, 5), [read(0, &[]), read(0, &[1])]).breaks(&[&[1]], "reads another state than before");
    appended().commits((2, 5), [append(0, 2), read(0, &[1])]).breaks(&[&[1, 2]], "misses a write of its own");
    let own_again = [read(0, &[1]), append(0, 2), read(0, &[1])];
    appended().commits((5, 6), own_again).breaks(&[&[1, 2]], "misses a write of its own");
    let looks = [Step::Look(0, None), Step::Look(0, Some(plain(3)))];
    History::new().commits((1, 4), [Step::Put(0, plain(3))]).commits((2, 3), looks).breaks(&[], "another state");
    let own = [Step::Put(0, plain(3)), Step::Look(0, None)];
    History::new().commits((1, 4), own).breaks(&[], "another state than before");
}

#[test]
fn lost_and_torn_writes_are_refused() {
    History::new()
        .commits((1, 3), [read(0, &[]), append(0, 1)])
        .commits((2, 4), [read(0, &[]), append(0, 2)])
        .breaks(&[&[1, 2]], "an update of list 0 is lost");
    History::new().commits((1, 2), [append(0, 1)]).breaks(&[&[]], "a committed append is lost");
    let part = History::new().ends((1, 2), Outcome::Unknown, [append(0, 1), append(1, 2)]);
    part.breaks(&[&[1], &[]], "a part of a transaction is there");
    History::new()
        .commits((1, 3), [append(0, 1), append(0, 2)])
        .commits((2, 4), [append(0, 3)])
        .breaks(&[&[1, 3, 2]], "not in one piece");
    History::new()
        .commits((1, 2), [append(0, 1)])
        .commits((1, 3), [append(0, 2)])
        .commits((4, 5), [read(0, &[2])])
        .breaks(&[&[1, 2]], "has no order");
}

#[test]
fn forbidden_cycles_are_refused() {
    let cycle = "a cycle that snapshot isolation forbids";
    // One list shows the transaction, the other does not.
    History::new()
        .commits((1, 4), [append(0, 1), append(1, 2)])
        .commits((2, 3), [read(0, &[1]), read(1, &[])])
        .breaks(&[&[1], &[2]], cycle);
    // A register shows the transaction, and a list does not.
    History::new()
        .commits((1, 4), [append(0, 1), Step::Put(0, plain(2))])
        .commits((2, 3), [read(0, &[]), Step::Look(0, Some(plain(2)))])
        .breaks(&[&[1]], cycle);
    // Two readers see two writes in opposite orders.
    History::new()
        .commits((1, 8), [append(0, 1)])
        .commits((2, 7), [append(1, 2)])
        .commits((3, 5), [read(0, &[1]), read(1, &[])])
        .commits((4, 6), [read(0, &[]), read(1, &[2])])
        .breaks(&[&[1], &[2]], cycle);
    // A reader sees the second of two writes, of which one was made over what the other had left, and not the first.
    History::new()
        .commits((1, 8), [append(0, 1)])
        .commits((2, 7), [read(0, &[1]), append(1, 2)])
        .commits((3, 6), [read(1, &[2]), read(0, &[])])
        .breaks(&[&[1], &[2]], cycle);
    // A read after a commit has returned does not show it.
    History::new().commits((1, 2), [append(0, 1)]).commits((3, 4), [read(0, &[])]).breaks(&[&[1]], cycle);
    // Each reads what the other has written: a cycle without any anti-dependency.
    History::new()
        .commits((1, 4), [append(0, 1), read(1, &[2])])
        .commits((2, 3), [append(1, 2), read(0, &[1])])
        .breaks(&[&[1], &[2]], cycle);
}

#[test]
fn searches_that_differ_from_scans_are_refused() {
    let two = || History::new().commits((1, 2), [append(0, 1), append(0, 2), append(1, 3)]);
    let of = || vec![0, 1];
    let searched = |search: Search| {
        let steps = [read(0, &[1, 2]), read(1, &[3]), append(1, 4), Step::Search(search)];
        two().commits((3, 4), steps)
    };
    let last: &[&[i64]] = &[&[1, 2], &[3, 4]];
    searched(Search::Longer { of: of(), least: 2, found: vec![0, 1] }).holds(last);
    searched(Search::Longer { of: of(), least: 2, found: vec![0] }).breaks(last, "by a scan");
    searched(Search::Holding { of: of(), item: plain(4), found: vec![1] }).holds(last);
    searched(Search::Holding { of: of(), item: plain(4), found: vec![] }).breaks(last, "by a scan");
    searched(Search::Total { of: of(), items: 4 }).holds(last);
    searched(Search::Total { of: of(), items: 3 }).breaks(last, "by a scan");
}

#[test]
fn units_that_differ_from_lists_are_refused() {
    let (put, other, gone) = (item(1, Kind::Put), item(6, Kind::Put), item(8, Kind::Delete));
    assert_eq!(unit_key(put), unit_key(other));
    assert_eq!((unit(&[put, plain(2)]), unit(&[put, gone]), unit(&[])), (Some(put), None, None));
    let alone = |steps: Vec<Step>| {
        let one = Transaction { client: 0, begun: 1, ended: 2, steps, outcome: Outcome::Committed };
        check_alone(&one)
    };
    let units = |found: &[(usize, Item)]| Step::Search(Search::Units { of: vec![0, 1], found: found.to_vec() });
    let lists = |first: &[Item], second: &[Item]| [Step::Read(0, first.to_vec()), Step::Read(1, second.to_vec())];
    let whole = |first: &[Item], second: &[Item], search| alone([&lists(first, second)[..], &[search]].concat());
    whole(&[put], &[gone], units(&[(0, put)])).unwrap();
    assert!(whole(&[put], &[gone], units(&[])).unwrap_err().contains("a part of a write"));
    assert!(whole(&[put], &[other], units(&[(0, put), (1, other)])).unwrap_err().contains("two units with one key"));
    let refused = || Step::Search(Search::Refused { of: vec![0, 1], list: 1, item: other });
    whole(&[put], &[], refused()).unwrap();
    assert!(whole(&[put, gone], &[], refused()).unwrap_err().contains("no other unit has its key"));
}

#[test]
fn a_crash_keeps_whole_transactions() {
    let history = || {
        History::new()
            .commits((1, 2), [append(0, 1), append(1, 2)])
            .ends((3, 9), Outcome::Unknown, [append(0, 3), append(1, 4)])
            .ends((4, 9), Outcome::Unknown, [append(1, 5)])
    };
    history().recovers(&[&[1], &[2]], None);
    history().recovers(&[&[1, 3], &[2, 4, 5]], None);
    history().recovers(&[&[], &[]], Some("loses a committed transaction"));
    history().recovers(&[&[1, 3], &[2]], Some("keeps a part of a transaction"));
    let seen = history().commits((5, 6), [read(0, &[1, 3])]);
    seen.recovers(&[&[1], &[2]], None);
    let depends = history().commits((5, 6), [read(0, &[1, 3]), append(2, 6)]);
    depends.recovers(&[&[1], &[2], &[6]], Some("what a kept transaction depends on"));
    history().ends((5, 6), Outcome::Aborted, [append(0, 7)]).recovers(&[&[1, 7], &[2]], Some("aborted"));
}
