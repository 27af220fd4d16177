//! Appended records are replayed, in order, over any number of segments and openings.
#![cfg(not(feature = "shuttle"))]

use crate::common::{Owned, append, dir, new_disk, options, random_record, recover, seed, segment};
use alluvium_env::Env;
use alluvium_wal::{Position, Wal};

#[test]
fn replays_what_was_appended() {
    let mut rng = fastrand::Rng::with_seed(seed());
    for _ in 0..30 {
        lives(&mut rng);
    }
}

fn lives(rng: &mut fastrand::Rng) {
    let (_, _, env) = new_disk();
    let options = options(rng.u64(0..40_000));
    let (mut written, mut released, mut closed) = (Vec::<Owned>::new(), 0, true);
    for _ in 0..rng.usize(1..6) {
        let (wal, recovery, found) = recover(&env, options.clone()).unwrap();
        let next = written.last().map_or(1, |r| r.last + 1);
        assert_eq!((recovery.clean, recovery.last_seq, recovery.dropped), (closed, next - 1, None));
        assert!(recovery.first_seq <= released + 1 && wal.oldest_seq() == recovery.first_seq);
        let skipped = written.iter().position(|r| r.first >= recovery.first_seq).unwrap_or(written.len());
        assert!(found == written[skipped..]);
        one_life(rng, &env, &wal, &mut written);
        if rng.bool() {
            released = rng.u64(released..=written.last().map_or(0, |r| r.last));
            release(&env, &wal, released);
        }
        closed = rng.bool();
        if closed {
            wal.close().unwrap();
        }
    }
}

fn one_life(rng: &mut fastrand::Rng, env: &Env, wal: &Wal, written: &mut Vec<Owned>) {
    let mut end = wal.end();
    assert_eq!(end, wal.synced());
    for _ in 0..rng.usize(0..60) {
        let mut group: Vec<Owned> = Vec::new();
        for _ in 0..rng.usize(0..5) {
            let next = group.last().or(written.last()).map_or(1, |r| r.last + 1);
            group.push(random_record(rng, next, 20_000));
        }
        let new_end = append(wal, &group).unwrap();
        assert!(if group.is_empty() { new_end == end } else { new_end > end });
        assert!(new_end == wal.end() && new_end.offset.is_multiple_of(8));
        end = new_end;
        written.extend(group);
        match rng.u8(0..8) {
            0 => assert_eq!(wal.sync().unwrap(), end),
            1 => wal.sync_to(Position { segment: end.segment, offset: rng.u64(0..=end.offset) }).unwrap(),
            2 => wal.sync_to(Position { segment: u64::MAX, offset: 0 }).unwrap(),
            _ => {}
        }
        assert!(wal.synced() <= wal.end());
    }
    let on_disk: u64 = env.fs.list(&dir()).unwrap().iter().map(|entry| entry.len).sum();
    assert_eq!(wal.bytes_on_disk(), on_disk);
}

fn release(env: &Env, wal: &Wal, seq: u64) {
    let before = wal.bytes_on_disk();
    let freed = wal.release_below(seq + 1).unwrap();
    assert_eq!(wal.bytes_on_disk() + freed, before);
    assert!(wal.oldest_seq() <= seq + 1);
    let on_disk: u64 = env.fs.list(&dir()).unwrap().iter().map(|entry| entry.len).sum();
    assert_eq!(wal.bytes_on_disk(), on_disk);
    assert_eq!(wal.release_below(seq + 1).unwrap(), 0, "what can go is gone");
}

#[test]
fn a_group_larger_than_a_segment_gets_its_own() {
    let (_, _, env) = new_disk();
    let (wal, _, _) = recover(&env, options(20_000)).unwrap();
    let small = |first| Owned { first, last: first, payload: vec![1; 100] };
    let large = Owned { first: 2, last: 9, payload: vec![2; 1_000_000] };
    for record in [small(1), large.clone(), small(10)] {
        append(&wal, &[record]).unwrap();
    }
    assert_eq!(wal.end().segment, 3);
    drop(wal);
    let (_, _, found) = recover(&env, options(20_000)).unwrap();
    assert!(found == [small(1), large, small(10)]);
}

#[test]
fn numbers_can_be_asked_to_start_higher() {
    let (_, _, env) = new_disk();
    let mut higher = options(20_000);
    higher.next_seq = 100;
    let (wal, recovery, _) = recover(&env, higher.clone()).unwrap();
    assert_eq!((recovery.first_seq, recovery.last_seq, wal.oldest_seq()), (100, 99, 100));
    let record = Owned { first: 100, last: 104, payload: vec![] };
    assert!(append(&wal, &[Owned { first: 99, ..record.clone() }]).is_err());
    append(&wal, std::slice::from_ref(&record)).unwrap();
    drop(wal);
    let (wal, recovery, found) = recover(&env, higher.clone()).unwrap();
    assert_eq!((recovery.first_seq, recovery.last_seq, found), (100, 104, vec![record.clone()]));
    append(&wal, &[Owned { first: 105, last: 105, payload: vec![] }]).unwrap();
    drop(wal);
    higher.next_seq = 1000;
    let (_, recovery, found) = recover(&env, higher.clone()).unwrap();
    assert_eq!((recovery.last_seq, found.len()), (105, 2));
    let (wal, recovery, found) = recover(&env, higher).unwrap();
    assert_eq!((recovery.last_seq, found.len()), (999, 2));
    append(&wal, &[Owned { first: 1000, last: 1000, payload: vec![] }]).unwrap();
}

#[test]
fn records_must_be_numbered_on() {
    let (_, _, env) = new_disk();
    let (wal, _, _) = recover(&env, options(20_000)).unwrap();
    let record = |first, last| Owned { first, last, payload: vec![7] };
    let wrong: [&[Owned]; 5] = [
        &[record(2, 2)],
        &[record(0, 1)],
        &[record(1, 3), record(5, 5)],
        &[record(1, 3), record(3, 5)],
        &[record(1, 0)],
    ];
    for group in wrong {
        let before = wal.end();
        assert!(append(&wal, group).unwrap_err().to_string().contains("do not continue from 1"));
        assert_eq!(wal.end(), before);
    }
    append(&wal, &[record(1, 3), record(4, 4)]).unwrap();
    assert!(wal.poisoned().is_none());
    assert_eq!(wal.end().segment, 1);
    assert!(env.fs.exists(&segment(1)).unwrap());
}

#[test]
fn a_closed_log_refuses_work() {
    let (_, _, env) = new_disk();
    let (wal, _, _) = recover(&env, options(20_000)).unwrap();
    append(&wal, &[Owned { first: 1, last: 1, payload: vec![7] }]).unwrap();
    let end = wal.end();
    wal.close().unwrap();
    for error in [
        append(&wal, &[Owned { first: 2, last: 2, payload: vec![7] }]).unwrap_err(),
        wal.sync().unwrap_err(),
        wal.release_below(1).unwrap_err(),
        wal.close().unwrap_err(),
    ] {
        assert!(error.to_string().contains("the log is closed"), "{error}");
    }
    wal.sync_to(end).unwrap();
    assert_eq!(env.fs.list(&dir()).unwrap()[0].len, end.offset, "nothing is left over");
}

#[test]
fn a_new_segment_lets_all_before_it_go() {
    let (_, _, env) = new_disk();
    let (wal, _, _) = recover(&env, options(20_000)).unwrap();
    wal.start_segment().unwrap();
    assert_eq!((wal.end().segment, wal.bytes_written()), (1, 0), "an empty one will do");
    append(&wal, &[Owned { first: 1, last: 5, payload: vec![3; 100] }]).unwrap();
    assert_eq!(wal.bytes_written(), 48 + 104);
    assert!(!wal.can_release_below(6));
    wal.start_segment().unwrap();
    assert_eq!((wal.end(), wal.synced()), (Position { segment: 2, offset: 8192 }, wal.end()));
    assert!(!wal.can_release_below(5) && wal.can_release_below(6));
    assert!(wal.release_below(6).unwrap() > 0);
    assert_eq!((wal.oldest_seq(), wal.can_release_below(6)), (6, false));
    append(&wal, &[Owned { first: 6, last: 6, payload: vec![] }]).unwrap();
    drop(wal);
    let (_, recovery, found) = recover(&env, options(20_000)).unwrap();
    assert_eq!((recovery.first_seq, recovery.last_seq, found.len()), (6, 6, 1));
}

#[test]
fn on_the_systems_own_files() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::os();
    let mut written = Vec::new();
    for life in 0..4 {
        let mut found = Vec::new();
        let (wal, recovery) = Wal::recover(&env, dir.path(), options(30_000), &mut |record| {
            found.push((record.first_seq, record.payload.to_vec()));
            Ok(())
        })
        .unwrap();
        assert!(found == written && recovery.clean == (life == 0 || life == 2));
        for seq in life * 20 + 1..=life * 20 + 20 {
            written.push((seq, vec![seq as u8; 4000]));
            append(&wal, &[Owned { first: seq, last: seq, payload: vec![seq as u8; 4000] }]).unwrap();
        }
        wal.sync().unwrap();
        if life == 1 {
            wal.close().unwrap();
        }
    }
    let (wal, recovery) = Wal::recover(&env, dir.path(), options(30_000), &mut |_| Ok(())).unwrap();
    assert_eq!((recovery.last_seq, recovery.records), (80, 80));
    assert!(wal.release_below(81).unwrap() > 80 * 4000);
    assert_eq!((env.fs.list(dir.path()).unwrap().len(), wal.oldest_seq()), (1, 81));
}
