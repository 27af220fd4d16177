//! Concurrent clients, over several crashes: some order of all their calls explains every result.

use alluvium_testkit::concurrency::histories::checker::Call;
use alluvium_testkit::concurrency::histories::spec::{Act, Answer, Write};
use alluvium_testkit::concurrency::histories::{self, Done, Size};
use alluvium_testkit::seed;
use std::cell::RefCell;

/// A history of at least this size is called long.
const LONG: Size = Size { clients: 8, calls: 10_000, crashes: 5 };

fn histories(test: &str, usual: u64, size: Size) {
    let done = RefCell::new(Done::default());
    let name = format!("histories_are_linearizable {test}");
    seed::each(&name, 0, usual, |seed| done.borrow_mut().add(&histories::run(seed, size)));
    let done = done.into_inner();
    println!("{test}: {done:?}");
    // Checks that a history has as many calls and crashes as its size requires.
    assert!(done.calls >= done.histories * size.calls as u64, "{done:?}");
    assert_eq!(done.kills + done.cuts, done.histories * size.crashes as u64, "{done:?}");
    let long = size.clients >= LONG.clients && size.calls >= LONG.calls;
    for (what, count) in [
        ("histories", done.histories),
        (if long { "long histories" } else { "short histories" }, done.histories),
        ("calls in histories", done.calls),
        ("crashes in histories", done.kills + done.cuts),
    ] {
        seed::tally(what, count);
    }
    if seed::is_usual(usual) {
        assert!(done.kills > 0 && done.cuts > 0 && done.unknown > 0, "{done:?}");
    }
}

#[test]
fn short_ones_with_many_crashes() {
    histories("short_ones_with_many_crashes", 60, Size { clients: 8, calls: 600, crashes: 5 });
}

#[test]
fn long_ones() {
    histories("long_ones", 6, LONG);
}

/// With `ALLUVIUM_HISTORY`, the path of a file that a failure has written, checks whether the history in it is still
/// unexplained. Otherwise checks that such a file is read back unchanged.
#[test]
#[allow(clippy::disallowed_methods)]
fn a_history_in_a_file() {
    let kept = std::env::var("ALLUVIUM_HISTORY").ok();
    let text = kept.as_ref().map(|path| std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}")));
    if let Some(text) = &text {
        let (first, calls) = histories::file::read(text);
        histories::checker::check(&first, &calls).unwrap_or_else(|broken| panic!("{broken}"));
        return;
    }
    let written = Act::Write(vec![(0, Write::Put(7)), (1, Write::Delete), (0, Write::AddN(2)), (1, Write::AddV(3))]);
    let acts = [
        (written, Some(Answer::Done)),
        (Act::Update(0, 5), Some(Answer::Whether(true))),
        (Act::FindAndAdd(1, 5), Some(Answer::One(None))),
        (Act::Take(0), None),
        (Act::Insert(1, 9), Some(Answer::Whether(false))),
        (Act::Swap(0, (7, 2), 8), Some(Answer::Whether(true))),
        (Act::Get(0), Some(Answer::One(Some((8, 0))))),
        (Act::Find(0, -3, 1 << 40), Some(Answer::Many(vec![Some((8, 0)), None]))),
        (Act::Scan(1), Some(Answer::Many(vec![None, None]))),
        (Act::All, Some(Answer::Many(vec![None, Some((-1, 1))]))),
    ];
    let calls = acts.into_iter().enumerate().map(|(at, (act, answer))| Call {
        act,
        from: at as u64 * 10,
        returned: answer.map(|answer| (if at == 9 { u64::MAX } else { at as u64 * 10 + 15 }, answer)),
        durable: at % 2 == 0,
        recovery: at == 9,
        client: if at == 9 { usize::MAX } else { at },
    });
    let (first, calls) = (vec![Some((1, 2)), None], calls.collect::<Vec<_>>());
    let (read_first, read) = histories::file::read(&histories::file::print(&first, &calls));
    assert_eq!((read_first, format!("{read:?}")), (first, format!("{calls:?}")));
}
