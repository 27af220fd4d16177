use super::*;
use alluvium::ChangeScope;
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::{Clock, SeededRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// A clock that the test can set back.
struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn unix_millis(&self) -> i64 {
        self.0.load(Ordering::Relaxed) * 1000
    }
}

/// A second of the year 2026.
const NOW: u32 = 1_780_000_000;

struct World {
    disk: Arc<MemFs>,
    clock: Arc<SetClock>,
    times: ClusterTime,
    gate: WriteGate,
}

impl World {
    fn new() -> Self {
        Self::on(Arc::new(MemFs::new()), NOW)
    }

    fn on(disk: Arc<MemFs>, second: u32) -> Self {
        let clock = Arc::new(SetClock(AtomicI64::new(second.into())));
        let env = Env { fs: disk.clone(), clock: clock.clone(), rng: Arc::new(SeededRng::new(7)) };
        let never = Duration::from_secs(1 << 30);
        let db = Database::builder().env(env.clone()).sync_interval(never).open("db").unwrap();
        let times = ClusterTime::open(&db, env, true);
        Self { disk, clock, times, gate: WriteGate::default() }
    }

    fn set_clock(&self, second: u32) {
        self.clock.0.store(second.into(), Ordering::Relaxed);
    }

    fn write(&self, n: i32) -> Timestamp {
        self.times.db.collection("pets").put(n, alluvium::doc! {"_id": n}).unwrap();
        self.now()
    }

    fn now(&self) -> Timestamp {
        self.times.now(&self.gate)
    }

    /// The server after a power cut that keeps only synced data, with the clock at `second`.
    fn after_a_cut(&self, second: u32) -> Self {
        Self::on(Arc::new(self.disk.crash_clone(u64::MAX, CrashStyle::AllLost)), second)
    }

    fn after_a_kill(&self, second: u32) -> Self {
        Self::on(Arc::new(self.disk.kill_clone()), second)
    }

    /// The time of a write, and its number.
    fn numbered(&self, n: i32) -> (Timestamp, u64) {
        self.times.db.collection("pets").put(n, alluvium::doc! {"_id": n}).unwrap();
        let number = self.visible();
        (self.now(), number)
    }

    fn visible(&self) -> u64 {
        self.times.db.store().visible()
    }

    /// Begins to record changes, as a change stream does.
    fn record(&self) {
        self.times.db.record_changes(ChangeScope::Everything).unwrap();
        self.times.keep(&self.gate);
    }

    fn time(&self, number: u64) -> Option<Timestamp> {
        self.times.time(number, &self.gate)
    }

    /// The stored seconds.
    fn stored(&self) -> Vec<Map> {
        let found = self.times.db.logical_database("local").collection("clusterTimes").find(Map::new()).run().unwrap();
        found.map(|span| span.unwrap().to_map().unwrap()).collect()
    }
}

#[test]
fn times_are_seconds_of_the_clock_with_ordinals() {
    let world = World::new();
    let times: Vec<Timestamp> = (0..5).map(|n| world.write(n)).collect();
    assert!(times.iter().all(|time| time.time == NOW) && times.is_sorted_by(|a, b| a < b), "{times:?}");
    assert_eq!(world.now(), times[4], "no write, no new time");
    world.set_clock(NOW + 3600);
    assert_eq!(world.now(), times[4]);
    assert_eq!(world.write(5).time, NOW + 3600);
    // A batch of several documents has one time.
    let before = world.now();
    let collection = world.times.db.collection("pets");
    collection.insert_many((10..20).map(|n| alluvium::doc! {"_id": n})).unwrap();
    assert!(world.now() > before && world.now() == world.now());
}

#[test]
fn a_clock_that_is_set_back_repeats_no_time() {
    let world = World::new();
    let mut last = world.write(0);
    for (n, second) in [NOW - 1, 5, NOW - 86_400, NOW, NOW + 1, NOW].into_iter().enumerate() {
        world.set_clock(second);
        let time = world.write(n as i32 + 1);
        assert!(time > last, "{time:?} after {last:?}");
        last = time;
    }
    assert_eq!(last.time, NOW + 1);
}

#[test]
fn restarts_and_power_cuts_repeat_no_time_even_if_the_clock_is_set_back() {
    for second in [NOW - 86_400, NOW, NOW + 1, NOW + 86_400] {
        let world = World::new();
        let mut last = world.write(0);
        for passed in [0, 1, 30, 31] {
            world.set_clock(NOW + passed);
            last = world.write(1);
            for next in [world.after_a_cut(second), world.after_a_kill(second)] {
                let first = next.now();
                assert!(first > last, "{first:?} after {last:?}");
                let ahead = first.time.saturating_sub(second.max(NOW + passed));
                assert!(ahead <= AHEAD + 1, "{ahead} seconds ahead");
                assert!(next.write(9) > first);
            }
        }
        world.times.close();
        let next = world.after_a_cut(second);
        assert!(next.now() > last);
        // A server that was closed has stored its exact time.
        assert_eq!(next.now().time, second.max(NOW + 32));
    }
}

#[test]
fn many_restarts_do_not_move_the_time_away_from_the_clock() {
    let mut world = World::new();
    let mut last = world.write(0);
    for n in 1..20 {
        world = world.after_a_kill(NOW + n);
        let time = world.write(0);
        assert!(time > last && time.time <= NOW + n + AHEAD + 20, "{time:?}");
        last = time;
    }
    assert_eq!(world.after_a_kill(NOW + 100).write(0).time, NOW + 100);
}

#[test]
fn writes_after_an_advance_are_later_and_so_are_those_after_a_cut() {
    let world = World::new();
    world.write(0);
    let to = Timestamp { time: NOW + 1000, increment: 7 };
    world.times.advance(to, &world.gate);
    let (now, then) = (world.now(), world.write(1));
    assert!(now >= to && then > now && then.time == to.time, "{now:?}, {then:?}");
    world.times.advance(Timestamp { time: NOW, increment: 1 }, &world.gate);
    assert_eq!(world.now(), then);
    assert!(world.after_a_cut(NOW).now() > world.now());
}

#[test]
fn while_writes_are_held_back_the_second_stays() {
    let world = World::new();
    let before = world.write(0);
    assert_eq!(world.gate.lock(Duration::ZERO), Some(1));
    world.set_clock(NOW + 3600);
    assert_eq!(world.write(1).time, before.time);
    world.gate.unlock();
    assert_eq!(world.write(2).time, NOW + 3600);
}

#[test]
fn the_second_is_left_when_its_ordinals_are_used_up() {
    let world = World::new();
    world.write(0);
    let last = Timestamp { time: NOW, increment: PART_MAX - 1 };
    world.times.advance(last, &world.gate);
    let times: Vec<Timestamp> = (1..5).map(|n| world.write(n)).collect();
    assert!(times[0] > last && times.is_sorted_by(|a, b| a < b), "{times:?}");
    assert_eq!(times[3].time, NOW + 1);
}

#[test]
fn the_state_of_a_time_is_found() {
    let world = World::new();
    world.write(0);
    world.times.close();
    let world = world.after_a_kill(NOW);
    let opened = world.times.state.lock().number;
    let start = world.now();
    assert_eq!(world.times.range(opened, &world.gate).map(|(first, _)| first < start), Some(true), "as it was opened");
    world.set_clock(NOW + 1);
    let first = world.write(0);
    let number = world.times.db.store().visible();
    assert_eq!(world.times.range(number, &world.gate), Some((first, first)));
    let later = Timestamp { time: NOW + 5, increment: 3 };
    world.times.advance(later, &world.gate);
    assert_eq!(world.times.range(number, &world.gate), Some((first, later)));
    world.set_clock(NOW + 9);
    let second = world.write(1);
    assert_eq!(world.times.range(number, &world.gate), Some((first, first)));
    assert_eq!(world.times.range(world.times.db.store().visible(), &world.gate), Some((second, second)));
    assert_eq!(world.times.range(opened - 1, &world.gate), None, "before the start");
}

#[test]
fn what_is_no_time_is_refused() {
    let world = World::new();
    let time = |time, increment| alluvium::doc! {"clusterTime": (Value::Timestamp(Timestamp { time, increment }))};
    // The codes of MongoDB 8.0 for logical times more than a year ahead of the clock (`vector_clock.cpp`).
    let cases = [
        (alluvium::doc! {}, 40414),
        (alluvium::doc! {"clusterTime": 1}, 14),
        (time(NOW + DRIFT_MAX + 1, 1), 206),
        (time(NOW, u32::MAX), 40484),
    ];
    for (given, code) in cases {
        assert_eq!(world.times.check(&given).unwrap_err().code, code, "{given}");
    }
    assert!(world.times.check(&time(NOW + DRIFT_MAX, 1)).is_ok());
}

#[test]
fn recorded_numbers_keep_their_times() {
    let world = World::new();
    world.write(0);
    world.record();
    let mut given = Vec::new();
    // More seconds than are kept in memory.
    for n in 0..200 {
        world.set_clock(NOW + n / 2);
        given.push(world.numbered(n as i32));
    }
    let later = Timestamp { time: NOW + 1000, increment: 7 };
    world.times.advance(later, &world.gate);
    given.push(world.numbered(200));
    world.times.db.sync().unwrap();
    // The next number after the sync is lost, and given again.
    let (lost, number) = world.numbered(201);
    assert_eq!(world.time(number), Some(lost));
    let again = world.after_a_cut(NOW);
    for next in [&world, &world.after_a_kill(NOW), &again, &again.after_a_cut(NOW + 2000)] {
        for (time, number) in &given {
            assert_eq!(next.time(*number), Some(*time), "number {number}");
            assert_eq!(next.times.number_at(*time, &next.gate), *number);
            let after = Timestamp { increment: time.increment + 1, ..*time };
            assert_eq!(next.times.number_at(after, &next.gate), *number + 1);
        }
        let times: Vec<Timestamp> = (0..=next.visible()).filter_map(|number| next.time(number)).collect();
        assert!(times.is_sorted_by(|a, b| a < b) && times.len() as u64 == next.visible() + 1);
    }
    assert!(again.time(number) > Some(lost), "the number belongs to another write");
}

#[test]
fn times_that_a_stream_is_given_last_from_the_first_moment() {
    let world = World::new();
    world.write(0);
    world.times.db.record_changes(ChangeScope::Everything).unwrap();
    // Without a new second, and without a call of `keep`.
    let (written, number) = world.numbered(1);
    assert_eq!(world.time(number), Some(written));
    world.times.db.sync().unwrap();
    assert_eq!(world.after_a_cut(NOW + 100).time(number), Some(written));
    // A write that is on the disk before it has a time.
    world.set_clock(NOW + 1);
    world.times.db.collection("pets").put(2, alluvium::doc! {"_id": 2}).unwrap();
    world.times.db.sync().unwrap();
    let number = world.visible();
    let written = world.now();
    assert_eq!(world.after_a_cut(NOW + 100).time(number), Some(written));
}

#[test]
fn numbers_from_before_all_servers_have_times_before_theirs() {
    let world = World::new();
    let db = world.times.db.clone();
    drop(world.times);
    db.record_changes(ChangeScope::Everything).unwrap();
    db.collection("pets").put(1, alluvium::doc! {"_id": 1}).unwrap();
    let number = db.store().visible();
    db.sync().unwrap();
    drop(db);
    let open = |second| World::on(Arc::new(world.disk.crash_clone(u64::MAX, CrashStyle::AllLost)), second);
    let next = open(NOW + 5);
    let time = next.time(number).unwrap();
    assert!(next.time(number - 1) < Some(time) && time < next.write(2), "{time:?}");
    assert_eq!(next.after_a_cut(NOW + 99).time(number), Some(time));
    assert_eq!(next.times.number_at(time, &next.gate), number);
    assert_eq!(next.times.number_at(Timestamp { time: 1, increment: 1 }, &next.gate), 0);
    let future = Timestamp { time: NOW + 100, increment: 1 };
    assert_eq!(next.times.number_at(future, &next.gate), next.visible() + 1);
}

#[test]
fn seconds_are_stored_only_while_changes_are_recorded() {
    let world = World::new();
    world.write(0);
    world.set_clock(NOW + 1);
    world.write(1);
    assert_eq!(world.stored(), []);
    world.record();
    assert_eq!(world.stored().len(), 1, "the current one");
    for n in 2..5 {
        world.set_clock(NOW + n);
        world.write(n as i32);
        world.write(0);
        world.now();
        assert_eq!(world.stored().len(), n as usize, "one in a second");
    }
    assert!(world.times.db.stop_recording(&ChangeScope::Everything).unwrap());
    world.set_clock(NOW + 100);
    world.write(9);
    assert_eq!(world.stored().len(), 4);
    let next = world.after_a_kill(NOW + 200);
    next.record();
    next.write(0);
    assert_eq!(next.stored().len(), 1, "those of the former recording are gone");
}

#[test]
fn a_second_that_cannot_be_stored_does_not_begin() {
    let world = World::new();
    world.record();
    let before = world.write(0);
    // The mark allows this second.
    world.set_clock(NOW + 5);
    assert_eq!(world.gate.lock(Duration::ZERO), Some(1));
    assert_eq!(world.write(1).time, before.time);
    world.gate.unlock();
    assert_eq!(world.write(2).time, NOW + 5);
}

#[test]
#[allow(clippy::disallowed_methods, reason = "threads of the system")]
fn writers_of_all_threads_get_the_times_that_are_stored() {
    let world = World::new();
    world.record();
    let given = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (world, given) = (&world, &given);
            scope.spawn(move || {
                for n in 0..50 {
                    world.set_clock(NOW + n / 5);
                    let number = { world.times.db.store().visible() };
                    let time = world.time(number).unwrap();
                    given.lock().push((number, time));
                    world.times.db.collection("pets").put(thread * 100, alluvium::doc! {"n": (n as i32)}).unwrap();
                    world.now();
                }
            });
        }
    });
    let next = world.after_a_kill(NOW);
    for (number, time) in given.lock().iter() {
        assert_eq!(next.time(*number), Some(*time));
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "threads of the system")]
fn no_time_is_given_while_a_second_is_stored() {
    let world = World::new();
    world.write(0);
    let (sender, receiver) = std::sync::mpsc::channel();
    let storing = world.times.marking.lock();
    world.times.state.lock().is_beginning = true;
    std::thread::scope(|scope| {
        let world = &world;
        scope.spawn(move || sender.send(world.write(1)).unwrap());
        assert!(receiver.recv_timeout(Duration::from_millis(200)).is_err(), "it waits for the second");
        world.times.state.lock().is_beginning = false;
        drop(storing);
        assert!(receiver.recv().is_ok());
    });
}
