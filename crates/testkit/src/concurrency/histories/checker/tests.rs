use super::super::spec::Write;
use super::*;

fn call(act: Act, from: u64, returned: Option<(u64, Answer)>) -> Call {
    Call { act, from, returned, durable: false, recovery: false, client: 0 }
}

fn put(v: i64, from: u64, to: u64) -> Call {
    call(Act::Write(vec![(0, Write::Put(v))]), from, Some((to, Answer::Done)))
}

fn get(found: Option<i64>, from: u64, to: u64) -> Call {
    call(Act::Get(0), from, Some((to, Answer::One(found.map(|v| (v, 0))))))
}

fn holds(calls: &[Call]) -> bool {
    check(&vec![None, None], calls).is_ok()
}

#[test]
fn what_has_returned_is_seen() {
    assert!(holds(&[put(1, 1, 2), get(Some(1), 3, 4)]));
    assert!(!holds(&[put(1, 1, 2), get(None, 3, 4)]));
    assert!(!holds(&[put(1, 1, 2), put(2, 3, 4), get(Some(1), 5, 6)]));
}

#[test]
fn calls_at_once_come_in_any_order_but_in_one() {
    assert!(holds(&[put(1, 1, 10), get(Some(1), 2, 3), get(Some(1), 4, 5)]));
    assert!(holds(&[put(1, 1, 10), get(None, 2, 3), get(Some(1), 4, 5)]));
    assert!(!holds(&[put(1, 1, 10), get(Some(1), 2, 3), get(None, 4, 5)]));
    assert!(holds(&[put(1, 1, 10), put(2, 2, 9), get(Some(1), 11, 12)]));
    assert!(!holds(&[put(1, 1, 10), put(2, 2, 9), get(Some(1), 11, 12), get(Some(2), 13, 14)]));
}

#[test]
fn a_batch_is_seen_whole() {
    let batch = call(Act::Write(vec![(0, Write::Put(1)), (1, Write::Put(2))]), 1, Some((10, Answer::Done)));
    let all = |docs: Docs| call(Act::All, 2, Some((3, Answer::Many(docs))));
    assert!(holds(&[batch.clone(), all(vec![Some((1, 0)), Some((2, 0))])]));
    assert!(holds(&[batch.clone(), all(vec![None, None])]));
    assert!(!holds(&[batch, all(vec![Some((1, 0)), None])]));
}

#[test]
fn an_unknown_outcome_may_come_late_or_never() {
    let unknown = call(Act::Write(vec![(0, Write::Put(1))]), 1, None);
    assert!(holds(&[unknown.clone(), get(None, 2, 3), get(None, 4, 5)]));
    assert!(holds(&[unknown.clone(), get(None, 2, 3), get(Some(1), 4, 5)]));
    assert!(!holds(&[unknown, get(Some(1), 2, 3), get(None, 4, 5)]));
}

#[test]
fn a_recovery_may_lose_what_is_not_durable_only() {
    let recovery =
        |docs: Docs, from: u64| Call { recovery: true, ..call(Act::All, from, Some((90, Answer::Many(docs)))) };
    let (first, last) = (vec![Some((1, 0)), None], vec![Some((2, 0)), None]);
    assert!(holds(&[put(1, 1, 10), put(2, 11, 12), recovery(first.clone(), 0)]));
    let durable = Call { durable: true, ..put(2, 11, 12) };
    assert!(!holds(&[put(1, 1, 10), durable.clone(), recovery(first, 11)]));
    assert!(holds(&[put(1, 1, 10), durable, recovery(last, 11)]));
}

#[test]
fn updates_count_and_swaps_compare() {
    let put = put(5, 1, 2);
    let update = |there: bool| call(Act::Update(0, 3), 3, Some((4, Answer::Whether(there))));
    assert!(holds(&[put.clone(), update(true)]) && !holds(&[put.clone(), update(false)]));
    let swap = |n: i64, done: bool| call(Act::Swap(0, (5, n), 6), 5, Some((6, Answer::Whether(done))));
    assert!(holds(&[put.clone(), update(true), swap(3, true)]));
    assert!(!holds(&[put.clone(), update(true), swap(0, true)]));
    let found = |from: i64, at: usize| {
        let mut docs = vec![None, None];
        docs[at] = Some((5, 0));
        call(Act::Find(0, from, 9), 7, Some((8, Answer::Many(docs))))
    };
    assert!(holds(&[put.clone(), found(5, 0)]));
    assert!(!holds(&[put.clone(), found(6, 0)]) && !holds(&[put, found(5, 1)]));
}
