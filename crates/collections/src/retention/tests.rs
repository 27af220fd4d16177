use super::*;
use crate::changes::{ChangeToken, changes};
use crate::error::Error;
use crate::history::{ChangeRetention, Scope};
use crate::ids;
use crate::names::FullName;
use crate::open::open_with;
use crate::options::CollectionOptions;
use crate::testing::Database;
use crate::write::{Transaction, Writer};
use alluvium_document::{Map, Value};
use alluvium_env::fault::FaultFs;
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::{Clock, Env, ManualClock, Rng, SeededRng};
use alluvium_store::Options;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
const RESERVE: u64 = 1 << 20;

/// A clock whose wall time may be set to any time.
#[derive(Default)]
struct WallClock {
    manual: ManualClock,
    ahead_ms: AtomicI64,
}

impl Clock for WallClock {
    fn now(&self) -> Duration {
        self.manual.now()
    }

    fn unix_millis(&self) -> i64 {
        self.manual.unix_millis() + self.ahead_ms.load(Ordering::SeqCst)
    }
}

struct World {
    mem: Arc<MemFs>,
    faults: Arc<FaultFs>,
    clock: Arc<WallClock>,
    db: Database,
}

fn env_over(fs: Arc<dyn alluvium_env::Fs>, clock: &Arc<WallClock>) -> Env {
    Env { fs, clock: clock.clone(), rng: Arc::new(SeededRng::new(3)) }
}

fn open_in(env: Env, retention: ChangeRetention) -> Database {
    let options = Options {
        memory_bytes: 8 << 20,
        partitions: Some(2),
        background: false,
        disk_reserve_bytes: Some(RESERVE),
        ..Options::default()
    };
    Database { engine: open_with(env, Path::new("db"), options, retention).unwrap() }
}

impl World {
    fn new(retention: ChangeRetention) -> Self {
        let (mem, clock) = (Arc::new(MemFs::new()), Arc::new(WallClock::default()));
        let faults = Arc::new(FaultFs::over(mem.clone()));
        let db = open_in(env_over(faults.clone(), &clock), retention);
        // Before the recording, so that its creation is no change.
        db.engine.catalog.create(&FullName::parse("shop.pets").unwrap(), CollectionOptions::default()).unwrap();
        Self { mem, faults, clock, db }
    }

    fn record(&self, scope: &Scope) -> Seq {
        self.db.engine.catalog.record_changes(scope.clone(), None).unwrap()
    }

    fn advance(&self, time: Duration) {
        self.clock.manual.advance(time);
    }

    fn now_ms(&self) -> i64 {
        self.clock.unix_millis()
    }

    fn put(&self, id: i32) -> ChangeToken {
        self.db.collection("shop.pets").put(id, r#"{"kind": "dog"}"#);
        ChangeToken { database: self.db.store().database_id(), number: self.db.store().visible() }
    }

    /// Adds documents of about a thousand bytes, which cannot be compressed much, in one batch.
    fn insert(&self, ids: std::ops::Range<i32>) {
        let random = SeededRng::new(ids.start.unsigned_abs().into());
        let document = |id| {
            let text: String = (0..63).map(|_| format!("{:016x}", random.next_u64())).collect();
            Map::from([("_id", Value::from(id)), ("text", text.as_str().into())])
        };
        self.db.collection("shop.pets").insert(ids.map(document));
    }

    fn trim(&self) -> Option<Seq> {
        trim_changes(&self.db.engine).unwrap()
    }
}

fn shop() -> Scope {
    Scope::Logical("shop".into())
}

fn pets() -> Scope {
    Scope::Collection(FullName::parse("shop.pets").unwrap())
}

fn since(db: &Database, scope: &Scope) -> Option<Seq> {
    let recorded = db.engine.catalog.recorded_scopes();
    recorded.iter().find(|known| known.scope == *scope).map(|known| known.since)
}

/// The number and the batch of each change in the history, with those that are not read any more.
fn entries(db: &Database) -> Vec<(Seq, Seq)> {
    let Some(tree) = db.engine.catalog.history() else { return Vec::new() };
    let mut scan = db.store().scan(tree, Change::after(0), None).unwrap();
    let mut found = Vec::new();
    while let Some((key, value)) = scan.next().unwrap() {
        let (shapes, store) = (db.engine.catalog.recorded_shapes(), db.store());
        let change = shapes.decode(store, tree, &store.snapshot(), key, value).unwrap().unwrap();
        found.push((change.number, change.batch));
    }
    found
}

/// The `_id`s of the changes after a token.
fn ids_after(db: &Database, scope: &Scope, after: Option<ChangeToken>) -> Result<Vec<i32>> {
    changes(&db.engine, scope, after)?
        .map(|change| Ok(change?.event.id().and_then(Value::as_i64).unwrap() as i32))
        .collect()
}

#[test]
fn old_changes_go_and_tokens_below_are_refused() {
    let world = World::new(ChangeRetention::default());
    let began = ChangeToken { database: world.db.store().database_id(), number: world.record(&shop()) };
    let first = world.put(1);
    world.advance(10 * HOUR);
    let later = world.record(&Scope::Everything);
    let second = world.put(2);
    assert_eq!(world.trim(), None);
    assert_eq!(since(&world.db, &shop()), Some(began.number));
    world.advance(15 * HOUR);
    assert_eq!(world.trim(), Some(first.number), "one change is 25 hours old");
    assert_eq!((since(&world.db, &shop()), since(&world.db, &Scope::Everything)), (Some(first.number), Some(later)));
    assert_eq!(entries(&world.db).len(), 1);
    assert!(matches!(ids_after(&world.db, &shop(), Some(began)), Err(Error::ChangesLost { .. })));
    for after in [None, Some(first)] {
        assert_eq!(ids_after(&world.db, &shop(), after).unwrap(), [2]);
    }
    assert_eq!(world.trim(), None, "nothing more is old");
    world.advance(10 * HOUR);
    assert_eq!(world.trim(), Some(second.number));
    assert_eq!(ids_after(&world.db, &shop(), Some(second)).unwrap(), [0; 0], "a stream that has read all continues");
    let crashed = Arc::new(world.mem.crash_clone(1, CrashStyle::AllLost));
    let db = open_in(env_over(crashed, &world.clock), ChangeRetention::default());
    assert_eq!(since(&db, &shop()), Some(second.number), "it is durable");
}

#[test]
fn a_clock_that_is_set_back_removes_nothing_that_seems_new() {
    let world = World::new(ChangeRetention::default());
    world.record(&shop());
    world.put(1);
    world.clock.ahead_ms.store(48 * 3_600_000, Ordering::SeqCst);
    world.put(2);
    world.clock.ahead_ms.store(0, Ordering::SeqCst);
    world.put(3);
    world.advance(25 * HOUR);
    assert!(world.trim().is_some());
    assert_eq!(ids_after(&world.db, &shop(), None).unwrap(), [2, 3]);
    world.clock.ahead_ms.store(-100 * 3_600_000, Ordering::SeqCst);
    world.advance(25 * HOUR);
    assert_eq!(world.trim(), None);
    world.clock.ahead_ms.store(23 * 3_600_000, Ordering::SeqCst);
    assert!(world.trim().is_some());
    assert_eq!(entries(&world.db), []);
}

#[test]
fn the_oldest_changes_beyond_the_bytes_go_in_whole_batches() {
    for in_files in [false, true] {
        let world = World::new(ChangeRetention { bytes: 100_000, ..ChangeRetention::default() });
        world.record(&shop());
        let of_pets = world.record(&pets());
        world.insert(0..20);
        assert_eq!(world.trim(), None);
        for batch in 1..20 {
            world.insert(20 * batch..20 * (batch + 1));
        }
        if in_files {
            world.db.flush();
        }
        let kept = |world: &World| kept_changes(&world.db.engine, of_pets).unwrap();
        let before = kept(&world);
        assert_eq!(before.changes, 400);
        let each = if in_files { 500..900 } else { 1020..1100 };
        assert!(each.contains(&(before.bytes / 400)), "{before:?}");
        let last = world.trim().unwrap();
        assert_eq!((since(&world.db, &shop()), since(&world.db, &pets())), (Some(last), Some(last)));
        let ids = ids_after(&world.db, &pets(), None).unwrap();
        let most = usize::try_from(100_000 * 400 / before.bytes).unwrap();
        assert!((most - 40..=most).contains(&ids.len()) && ids.ends_with(&[399]), "{} of {most}", ids.len());
        let mut batches = BTreeMap::new();
        entries(&world.db).iter().for_each(|(_, batch)| *batches.entry(*batch).or_insert(0) += 1);
        assert!(batches.values().all(|count| *count == 20), "{batches:?}");
        assert!((60_000..=100_000).contains(&kept(&world).bytes), "{:?}", kept(&world));
        assert_eq!(world.trim(), None);
    }
}

/// The number of shapes of which the history has copies.
fn copies(db: &Database) -> usize {
    let bounds = Bounds { upper: Bound::Excluded(Change::key(1)), ..Bounds::all() };
    let mut scan = db.store().scan(db.engine.catalog.history().unwrap(), bounds, None).unwrap();
    std::iter::from_fn(|| scan.next().unwrap().map(drop)).count()
}

#[test]
fn shapes_of_a_dropped_collection_stay_as_long_as_its_changes() {
    let world = World::new(ChangeRetention::default());
    world.record(&shop());
    let toys = world.db.collection("shop.toys");
    for id in 0..5 {
        world.put(id);
        toys.put(id, r#"{"kind": "ball", "price": 3}"#);
    }
    assert_eq!(copies(&world.db), 2, "the second document with the same fields has a shape");
    world.db.engine.catalog.drop(&FullName::parse("shop.pets").unwrap()).unwrap();
    world.db.store().sync().unwrap();
    let crashed = Arc::new(world.mem.crash_clone(1, CrashStyle::AllLost));
    let db = open_in(env_over(crashed, &world.clock), ChangeRetention::default());
    let inserted = |change: crate::error::Result<crate::history::Change>| match change.unwrap().event {
        crate::history::Event::Insert { document } => document.get("kind").cloned(),
        _ => None,
    };
    let kinds: Vec<Value> = changes(&db.engine, &shop(), None).unwrap().filter_map(inserted).collect();
    assert_eq!(kinds, ["dog", "ball"].repeat(5).into_iter().map(Value::from).collect::<Vec<_>>());
    // The pass that finds the collection missing does not know which changes are its own, and notes the number.
    world.advance(25 * HOUR);
    assert!(world.trim().is_some());
    assert_eq!((entries(&world.db).len(), copies(&world.db)), (0, 3));
    world.db.store().sync().unwrap();
    let crashed = Arc::new(world.mem.crash_clone(2, CrashStyle::AllLost));
    let db = open_in(env_over(crashed, &world.clock), ChangeRetention::default());
    let toys = db.collection("shop.toys");
    toys.put(5, r#"{"kind": "ball", "price": 4}"#);
    world.advance(25 * HOUR);
    assert!(trim_changes(&db.engine).unwrap().is_some());
    assert_eq!(copies(&db), 1);
    toys.put(6, r#"{"kind": "ball", "price": 5}"#);
    assert_eq!(ids_after(&db, &shop(), None).unwrap(), [6]);
    assert_eq!(copies(&db), 1, "that of the toys is known to be there");
}

#[test]
fn the_changes_of_a_transaction_stay_together() {
    let world = World::new(ChangeRetention { time: Duration::from_secs(10), ..ChangeRetention::default() });
    world.record(&shop());
    let first = world.put(0);
    let pets = world.db.collection("shop.pets");
    let transaction = Transaction::begin(&world.db.engine, Durability::Periodic);
    for id in [1, 2] {
        let mut map = Map::from([("kind", Value::from("cat"))]);
        ids::set_id(&mut map, id.into()).unwrap();
        Writer { transaction: Some(&transaction), ..pets.writer() }.put(&map).unwrap();
        world.advance(Duration::from_secs(6));
    }
    transaction.commit(None).unwrap();
    assert_eq!(world.trim(), Some(first.number), "its changes are as old as its commit");
    assert_eq!(ids_after(&world.db, &shop(), None).unwrap(), [1, 2]);
    let times: Vec<i64> =
        changes(&world.db.engine, &shop(), None).unwrap().map(|change| change.unwrap().time_ms).collect();
    assert_eq!(times, [world.now_ms(); 2]);
    world.advance(Duration::from_secs(11));
    assert!(world.trim().is_some());
    assert_eq!(entries(&world.db), []);
}

#[test]
fn a_crash_between_both_steps_leaves_changes_for_the_next_pass() {
    let world = World::new(ChangeRetention::default());
    world.record(&shop());
    (0..5).map(|id| world.put(id)).for_each(|_| {});
    world.db.flush();
    world.advance(13 * HOUR);
    (5..9).map(|id| world.put(id)).for_each(|_| {});
    world.db.store().sync().unwrap();
    world.advance(13 * HOUR);
    let all = entries(&world.db);
    let clones = Arc::new(alluvium_env::sync::Mutex::new(Vec::new()));
    let (seen, mem) = (clones.clone(), world.mem.clone());
    world.faults.set_hook(Some(Arc::new(move |op| {
        for style in [CrashStyle::AllLost, CrashStyle::AllKept, CrashStyle::Any] {
            seen.lock().push(mem.crash_clone(op.number, style));
        }
    })));
    let last = world.trim().unwrap();
    world.faults.set_hook(None);
    clones.lock().push(world.mem.crash_clone(1, CrashStyle::AllKept));
    assert_eq!(last, all[4].1);
    let (mut before, mut between, mut after) = (0, 0, 0);
    for clone in std::mem::take(&mut *clones.lock()) {
        let db = open_in(env_over(Arc::new(clone), &world.clock), ChangeRetention::default());
        let (since, left) = (since(&db, &shop()).unwrap(), entries(&db));
        let above: Vec<_> = all.iter().filter(|(number, _)| *number > since).copied().collect();
        assert!(left.ends_with(&above), "since {since}: {left:?}");
        *match (since == last, left.len()) {
            (false, _) => &mut before,
            (true, 9) => &mut between,
            (true, _) => &mut after,
        } += 1;
        assert_eq!(ids_after(&db, &shop(), None).unwrap().last(), Some(&8));
        trim_changes(&db.engine).unwrap();
        assert_eq!(entries(&db), all[5..]);
    }
    assert!(before > 0 && between > 0 && after > 0, "{before}, {between}, {after}");
}

#[test]
fn a_recording_that_a_stream_has_begun_ends_when_it_is_not_used() {
    let world = World::new(ChangeRetention::default());
    let catalog = &world.db.engine.catalog;
    let toys = Scope::Collection(FullName::parse("shop.toys").unwrap());
    for (scope, used_ms) in [(shop(), None), (pets(), Some(world.now_ms())), (toys.clone(), Some(world.now_ms()))] {
        catalog.record_changes(scope, used_ms).unwrap();
    }
    world.advance(20 * HOUR);
    catalog.note_used(&pets());
    assert_eq!(world.trim(), None);
    assert!(since(&world.db, &toys).is_some());
    world.advance(5 * HOUR);
    world.trim();
    let are_there = || [shop(), pets(), toys.clone()].map(|scope| since(&world.db, &scope).is_some());
    assert_eq!(are_there(), [true, true, false]);
    world.put(1);
    assert_eq!(ids_after(&world.db, &pets(), None).unwrap(), [1], "a reader notes its use");
    world.advance(23 * HOUR);
    world.trim();
    assert_eq!(are_there(), [true, true, false]);
    world.advance(2 * HOUR);
    world.trim();
    assert_eq!(are_there(), [true, false, false]);
    // A scope that is asked for by name lasts until it is stopped.
    catalog.record_changes(pets(), Some(world.now_ms())).unwrap();
    catalog.record_changes(pets(), None).unwrap();
    catalog.note_used(&pets());
    let crashed = Arc::new(world.mem.crash_clone(1, CrashStyle::AllLost));
    world.advance(1000 * HOUR);
    world.trim();
    assert_eq!(are_there(), [true, true, false]);
    let db = open_in(env_over(crashed, &world.clock), ChangeRetention::default());
    trim_changes(&db.engine).unwrap();
    assert!(since(&db, &pets()).is_some());
}

#[test]
fn the_use_of_a_scope_is_written_once_an_hour() {
    let world = World::new(ChangeRetention::default());
    let catalog = &world.db.engine.catalog;
    catalog.record_changes(shop(), Some(world.now_ms())).unwrap();
    let schema = || world.db.store().schema(catalog.history().unwrap());
    let (mut writes, mut last) = (0, schema());
    for minute in 0..300 {
        world.advance(Duration::from_secs(60));
        catalog.note_used(&pets());
        writes += usize::from(schema() != last);
        last = schema();
        world.db.store().sync().unwrap();
        let crashed = Arc::new(world.mem.crash_clone(minute, CrashStyle::AllLost));
        if minute % 7 == 0 {
            let db = open_in(env_over(crashed, &world.clock), ChangeRetention::default());
            let used_ms = db.engine.catalog.recorded_scopes()[0].used_ms.unwrap();
            assert!(world.now_ms() - used_ms < 3_600_000, "minute {minute}");
        }
    }
    assert_eq!(writes, 5);
    assert_eq!(catalog.recorded_scopes()[0].used_ms, Some(world.now_ms()));
}

#[test]
fn a_short_disk_keeps_the_newest_quarter() {
    let world = World::new(ChangeRetention::default());
    world.record(&shop());
    for batch in 0..180 {
        world.insert(20 * batch..20 * (batch + 1));
    }
    assert_eq!(world.trim(), None);
    for (free, is_short) in [(2 * RESERVE, false), (2 * RESERVE - 1, true)] {
        world.mem.set_capacity(world.mem.used_bytes() + free);
        assert_eq!(world.trim().is_some(), is_short, "{free} bytes are free");
    }
    let ids = ids_after(&world.db, &shop(), None).unwrap();
    assert!((820..=920).contains(&ids.len()) && ids.ends_with(&[3599]), "{} changes", ids.len());
    assert_eq!(world.trim(), None, "so few changes give no space");
}

#[test]
fn a_retention_that_keeps_nothing_is_refused() {
    for retention in [
        ChangeRetention { time: Duration::ZERO, ..ChangeRetention::default() },
        ChangeRetention { bytes: 0, ..ChangeRetention::default() },
    ] {
        let error = open_with(Env::in_memory(1), Path::new("db"), Options::default(), retention).err().unwrap();
        assert!(error.to_string().contains("must be more than 0"), "{error}");
    }
}
