use super::*;

fn write(db: &Database, n: i32) {
    db.collection("pets").put(n, alluvium::doc! {"_id": n}).unwrap();
}

#[test]
fn a_reader_of_many_snapshots_loses_its_own() {
    let db = Database::in_memory().unwrap();
    let snapshots = Snapshots::new(db.as_ref().env.clone());
    let (clock, gate) = (ClusterTime::open(&db, db.as_ref().env.clone(), true), WriteGate::default());
    let [quiet, greedy] = ["quiet", "greedy"].map(Principal::user);
    write(&db, -1);
    let (_, mine) = snapshots.get(&db, &clock, &gate, &quiet, None).unwrap();
    let mut times = Vec::new();
    for n in 0..SNAPSHOTS_MAX as i32 + 50 {
        write(&db, n);
        times.push(snapshots.get(&db, &clock, &gate, &greedy, None).unwrap().1);
    }
    write(&db, -2);
    // The snapshot of the other reader is kept, and so are the latest ones.
    assert_eq!(snapshots.get(&db, &clock, &gate, &quiet, Some(mine)).unwrap().1, mine);
    assert_eq!(snapshots.get(&db, &clock, &gate, &greedy, times.last().copied()).unwrap().1, times[times.len() - 1]);
    let lost = snapshots.get(&db, &clock, &gate, &greedy, Some(times[0])).map(drop);
    assert_eq!(lost.unwrap_err().code, 239);
    assert!(snapshots.get(&db, &clock, &gate, &quiet, None).is_ok());
    assert_eq!(snapshots.kept.lock().by_time.len(), SNAPSHOTS_MAX);
}

#[test]
fn reads_of_one_state_share_a_snapshot() {
    let db = Database::in_memory().unwrap();
    let snapshots = Snapshots::new(db.as_ref().env.clone());
    let (clock, gate) = (ClusterTime::open(&db, db.as_ref().env.clone(), true), WriteGate::default());
    write(&db, 1);
    for n in 0..100 {
        snapshots.get(&db, &clock, &gate, &Principal::user(&n.to_string()), None).unwrap();
    }
    let state = snapshots.kept.lock();
    assert_eq!((state.by_time.len(), state.counts.len()), (1, 1));
}
