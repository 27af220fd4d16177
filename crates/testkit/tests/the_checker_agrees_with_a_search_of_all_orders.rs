//! The checker of histories is correct: for random histories of a few calls, some with a changed reply, it gives the
//! same result as a search of all orders.

use alluvium_testkit::concurrency::histories::checker::{Call, check};
use alluvium_testkit::concurrency::histories::spec::{Act, Answer, Docs, Write, apply};

fn call(act: Act, from: u64, returned: Option<(u64, Answer)>) -> Call {
    Call { act, from, returned, durable: false, recovery: false, client: 0 }
}

/// Decides whether a history is linearizable, by trying all orders.
fn by_all_orders(docs: &Docs, calls: &[Call], left: &[usize]) -> bool {
    // Calls without an outcome may never have taken effect.
    if left.iter().all(|at| calls[*at].returned.is_none()) {
        return true;
    }
    left.iter().any(|&at| {
        let (call, others) = (&calls[at], || left.iter().filter(move |other| **other != at));
        let comes_later = |other: &usize| calls[*other].returned.as_ref().is_some_and(|(to, _)| *to < call.from);
        let lost = |other: &usize| call.recovery && calls[*other].durable && calls[*other].returned.is_some();
        if others().any(|other| comes_later(other) || lost(other)) {
            return false;
        }
        let (next, answer) = apply(docs, &call.act);
        let fits = call.returned.as_ref().is_none_or(|(_, returned)| *returned == answer);
        fits && by_all_orders(&next, calls, &others().copied().collect::<Vec<_>>())
    })
}

fn any_act(rng: &mut fastrand::Rng, documents: usize) -> Act {
    let (at, half) = (rng.usize(0..documents), rng.usize(0..2));
    let write = |rng: &mut fastrand::Rng| match rng.u8(0..4) {
        0 => Write::Put(rng.i64(1..4) * 10),
        1 => Write::Delete,
        2 => Write::AddN(1),
        _ => Write::AddV(1),
    };
    match rng.u8(0..12) {
        0..=1 => Act::Write(vec![(at, write(rng))]),
        2 => Act::Write(vec![(rng.usize(0..documents), write(rng)), (at, write(rng))]),
        3 => Act::Update(at, 1),
        4 => Act::FindAndAdd(at, 1),
        5 => Act::Take(at),
        6 => Act::Insert(at, rng.i64(1..4) * 10),
        7 => Act::Swap(at, (rng.i64(1..4) * 10, 0), 50),
        8 => Act::Get(at),
        9 => Act::Find(half, 10, rng.i64(1..4) * 10),
        10 => Act::Scan(half),
        _ => Act::All,
    }
}

/// A random history of a few calls that is linearizable: each call took effect at some time between its start and its
/// end, or never, and then has no result.
fn any_history(rng: &mut fastrand::Rng, documents: usize) -> Vec<Call> {
    let mut moments: Vec<u64> = (1..=60).collect();
    rng.shuffle(&mut moments);
    let mut calls: Vec<(u64, bool, Call)> = Vec::new();
    for _ in 0..rng.usize(1..=6) {
        let mut three = [moments.pop().unwrap(), moments.pop().unwrap(), moments.pop().unwrap()];
        three.sort_unstable();
        let unknown = rng.u8(0..6) == 0;
        let returned = (!unknown).then_some((three[2], Answer::Done));
        let durable = !unknown && rng.u8(0..4) == 0;
        let call = Call { durable, ..call(any_act(rng, documents), three[0], returned) };
        calls.push((three[1], !unknown || rng.bool(), call));
    }
    calls.sort_by_key(|(when, _, _)| *when);
    let mut docs: Docs = vec![None; documents];
    let mut states = vec![docs.clone()];
    for (_, happens, call) in &mut calls {
        let (next, answer) = apply(&docs, &call.act);
        call.returned = call.returned.take().map(|(to, _)| (to, answer));
        if *happens {
            (docs, _) = (next, states.push(docs));
        }
    }
    let mut calls: Vec<Call> = calls.into_iter().map(|(_, _, call)| call).collect();
    if calls.len() < 6 && rng.bool() {
        // The read after a crash. It finds the documents after all calls, or after the calls up to some time.
        let from = calls.iter().filter(|call| call.durable).map(|call| call.from).max().unwrap_or(0);
        let found = if rng.bool() { docs } else { states[rng.usize(0..states.len())].clone() };
        calls.push(Call { recovery: true, ..call(Act::All, from, Some((u64::MAX, Answer::Many(found)))) });
    }
    calls
}

/// Changes the result of one call.
fn alter(calls: &mut [Call], rng: &mut fastrand::Rng) {
    let at = rng.usize(0..calls.len());
    let doc = |rng: &mut fastrand::Rng| (rng.u8(0..3) > 0).then(|| (rng.i64(1..4) * 10, rng.i64(0..2)));
    match calls[at].returned.as_mut().map(|(_, answer)| answer) {
        Some(Answer::Whether(done)) => *done = !*done,
        Some(Answer::One(found)) => *found = doc(rng),
        Some(Answer::Many(found)) => *rng.choice(found).unwrap() = doc(rng),
        Some(Answer::Done) | None => {}
    }
}

#[test]
fn the_checker_agrees_with_a_search_of_all_orders() {
    let (mut held, mut broken) = (0, 0);
    for seed in 0..30_000 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let first: Docs = vec![None; rng.usize(2..=4)];
        let mut calls = any_history(&mut rng, first.len());
        let crashed = calls.last().is_some_and(|call| call.recovery);
        let altered = rng.u8(0..4) > 0;
        if altered {
            alter(&mut calls, &mut rng);
        }
        let all: Vec<usize> = (0..calls.len()).collect();
        let (expected, found) = (by_all_orders(&first, &calls, &all), check(&first, &calls));
        assert_eq!(found.is_ok(), expected, "seed {seed}: {found:?}\n{calls:#?}");
        assert!(expected || altered || crashed, "seed {seed} has happened: {calls:#?}");
        (held, broken) = if expected { (held + 1, broken) } else { (held, broken + 1) };
    }
    assert!(held > 5_000 && broken > 5_000, "{held} held, {broken} were broken");
}
