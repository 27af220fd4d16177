//! The creation, the changes and the drop of collections, indexes and logical databases are recorded, each in the batch
//! that makes it.

use alluvium::{
    CappedLimits, Change, ChangeEvent, ChangeScope, ChangeToken, Database, Durability, FullName, Map, ValidationAction,
    Value, doc,
};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::Options;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A database that is recorded, and the place in its changes.
struct Recorded {
    db: Database,
    scope: ChangeScope,
    token: ChangeToken,
}

impl Recorded {
    fn begin() -> Self {
        let db = Database::in_memory().unwrap();
        let scope = ChangeScope::Everything;
        let token = db.record_changes(scope.clone()).unwrap();
        Self { db, scope, token }
    }

    fn changes(&mut self) -> Vec<Change> {
        let mut changes = self.db.changes(&self.scope, Some(self.token)).unwrap();
        let found: Vec<Change> = changes.by_ref().map(Result::unwrap).collect();
        self.token = changes.token();
        found
    }

    /// The new changes, each as its kind, its collection and its description.
    fn shown(&mut self) -> Vec<String> {
        self.changes().iter().map(shown).collect()
    }
}

fn shown(change: &Change) -> String {
    let name = &change.name;
    match &change.event {
        ChangeEvent::Create { description } => format!("create {name} {}", json(description)),
        ChangeEvent::CreateIndexes { description } => format!("createIndexes {name} {}", json(description)),
        ChangeEvent::DropIndexes { description } => format!("dropIndexes {name} {}", json(description)),
        ChangeEvent::Modify { description } => format!("modify {name} {}", json(description)),
        ChangeEvent::Drop => format!("drop {name}"),
        ChangeEvent::DropDatabase => format!("dropDatabase {name}"),
        ChangeEvent::Rename { to } => format!("rename {name} to {to}"),
        other => format!("{name} {}", other.id().map(Value::to_string).unwrap_or_default()),
    }
}

fn json(map: &Map) -> String {
    Value::Map(map.clone()).to_string()
}

const ID: &str = r#""idIndex":{"v":2,"key":{"_id":1},"name":"_id_"}"#;

#[test]
fn collections_come_and_go() {
    let mut recorded = Recorded::begin();
    let db = recorded.db.clone();
    let limits = CappedLimits { size_bytes: 4096, documents: Some(3) };
    db.create_collection("shop.log").capped(limits).run().unwrap();
    db.create_collection("shop.log").run().unwrap_err();
    db.collection("shop.pets").put(1, doc! {"n": 1}).unwrap();
    db.collection("shop.pets").put(2, doc! {"n": 1}).unwrap();
    db.create_collection("config.of_server").run().unwrap();
    assert_eq!(
        recorded.shown(),
        [
            format!(r#"create shop.log {{"capped":true,"size":4096,"max":3,{ID}}}"#),
            format!("create shop.pets {{{ID}}}"),
            "shop.pets 1".to_owned(),
            "shop.pets 2".to_owned(),
        ]
    );
    let shop = db.logical_database("shop");
    db.create_view("shop.some", "pets", "[]").run().unwrap();
    db.change_view("shop.some", "log", "[]").unwrap();
    assert_eq!(
        recorded.shown(),
        [r#"create shop.some {"viewOn":"pets","pipeline":[]}"#, r#"modify shop.some {"viewOn":"log","pipeline":[]}"#]
    );
    shop.drop().unwrap();
    shop.drop().unwrap();
    assert!(db.views().is_empty());
    assert_eq!(recorded.shown(), ["drop shop.log", "drop shop.pets", "drop shop.some", "dropDatabase shop."]);
    db.collection("shop.pets").put(1, doc! {"n": 1}).unwrap();
    db.collection("shop.pets").drop().unwrap();
    assert_eq!(recorded.shown()[2..], ["drop shop.pets"], "only its collection was dropped");
    db.collection("shop.pets").put(1, doc! {"n": 1}).unwrap();
    recorded.changes();
    shop.drop().unwrap();
    let dropped = recorded.changes();
    assert_eq!(dropped.iter().map(shown).collect::<Vec<_>>(), ["drop shop.pets", "dropDatabase shop."]);
    assert_eq!(dropped[0].batch, dropped[1].batch, "one batch drops the last collection and the database");
}

#[test]
fn the_drop_of_a_logical_database_is_in_its_scope() {
    let mut recorded = Recorded::begin();
    let token = recorded.token;
    let db = recorded.db.clone();
    db.collection("shop.pets").put(1, doc! {"n": 1}).unwrap();
    db.logical_database("shop").drop().unwrap();
    assert_eq!(recorded.shown().last().unwrap(), "dropDatabase shop.");
    let last = |scope: &ChangeScope| shown(&db.changes(scope, Some(token)).unwrap().last().unwrap().unwrap());
    assert_eq!(last(&ChangeScope::Logical("shop".into())), "dropDatabase shop.");
    assert_eq!(last(&ChangeScope::Collection(FullName::parse("shop.pets").unwrap())), "drop shop.pets");
    assert_eq!(db.changes(&ChangeScope::Logical("other".into()), Some(token)).unwrap().count(), 0);

    let (db, pets) = (Database::in_memory().unwrap(), FullName::parse("shop.pets").unwrap());
    let scope = ChangeScope::Collection(pets);
    let token = db.record_changes(scope.clone()).unwrap();
    db.create_collection("shop.pets").run().unwrap();
    db.create_collection("shop.toys").run().unwrap();
    db.logical_database("shop").drop().unwrap();
    let found: Vec<_> = db.changes(&scope, Some(token)).unwrap().map(|change| shown(&change.unwrap())).collect();
    assert_eq!(found, [format!("create shop.pets {{{ID}}}"), "drop shop.pets".to_owned()]);
}

#[test]
fn indexes_are_created_when_they_are_built() {
    let mut recorded = Recorded::begin();
    let db = recorded.db.clone();
    let pets = db.collection("shop.pets");
    pets.insert_many([doc! {"_id": 1, "n": 1}, doc! {"_id": 2, "n": 1}]).unwrap();
    recorded.changes();
    pets.create_index(doc! {"n": 1}).unique(true).run().unwrap_err();
    assert_eq!(recorded.shown(), [""; 0], "it was never there");
    pets.create_index(doc! {"n": 1}).run().unwrap();
    pets.create_index(doc! {"n": 1}).run().unwrap();
    pets.create_index(doc! {"text": "text"}).run().unwrap();
    pets.rebuild_index("n_1").unwrap();
    let n = r#"{"indexes":[{"v":2,"key":{"n":1},"name":"n_1"}]}"#;
    let shown = recorded.shown();
    let text = shown[1].strip_prefix("createIndexes shop.pets ").unwrap().to_owned();
    assert!(text.starts_with(r#"{"indexes":[{"v":2,"key":{"_fts":"text","_ftsx":1},"name":"text_text""#), "{text}");
    let [created, dropped] = ["createIndexes", "dropIndexes"].map(|kind| format!("{kind} shop.pets {n}"));
    assert_eq!(shown, [&created, &shown[1], &dropped, &created].map(String::clone), "a rebuild drops and creates it");
    pets.create_index(doc! {"m": 1}).run().unwrap();
    recorded.changes();
    pets.drop_indexes().unwrap();
    let m = n.replace("n_1", "m_1").replace(r#"{"n":"#, r#"{"m":"#);
    let expected = [format!("dropIndexes shop.pets {text}"), dropped, format!("dropIndexes shop.pets {m}")];
    assert_eq!(recorded.shown(), expected);
}

#[test]
fn changes_of_options_are_recorded() {
    let mut recorded = Recorded::begin();
    let db = recorded.db.clone();
    let limits = CappedLimits { size_bytes: 4096, documents: Some(3) };
    let log = db.create_collection("shop.log").capped(limits).run().unwrap();
    log.create_index(doc! {"time": 1}).expire_after(Duration::from_secs(60)).run().unwrap();
    recorded.changes();
    log.set_validator(doc! {"n": 1}).run().unwrap();
    log.set_validator(doc! {"n": 1}).run().unwrap();
    log.set_validator(doc! {"n": 1}).action(ValidationAction::Warn).run().unwrap();
    log.drop_validator().unwrap();
    log.set_capped(CappedLimits { size_bytes: 8192, documents: None }).unwrap();
    log.hide_index("time_1", true).unwrap();
    log.hide_index("time_1", true).unwrap();
    log.change_expiry("time_1", 90).unwrap();
    let expected = [
        r#"{"validator":{"n":1}}"#,
        r#"{"validationAction":"warn"}"#,
        r#"{"validator":{},"validationAction":"error"}"#,
        r#"{"cappedSize":8192,"cappedMax":0}"#,
        r#"{"index":{"name":"time_1","hidden":true}}"#,
        r#"{"index":{"name":"time_1","expireAfterSeconds":90}}"#,
    ];
    assert_eq!(recorded.shown(), expected.map(|options| format!("modify shop.log {options}")));
}

#[test]
fn a_transaction_creates_its_collections_before_their_documents() {
    let mut recorded = Recorded::begin();
    let db = recorded.db.clone();
    let aborted = db.begin();
    aborted.collection("shop.none").put(1, doc! {"n": 1}).unwrap();
    aborted.abort();
    let transaction = db.begin();
    let pets = transaction.create_collection("shop.pets").run().unwrap();
    pets.create_index(doc! {"n": 1}).run().unwrap();
    pets.put(1, doc! {"n": 1}).unwrap();
    transaction.collection("shop.toys").put(2, doc! {"n": 1}).unwrap();
    pets.put(3, doc! {"n": 1}).unwrap();
    transaction.commit().unwrap();
    let changes = recorded.changes();
    assert_eq!(
        changes.iter().map(shown).collect::<Vec<_>>(),
        [
            format!("create shop.pets {{{ID}}}"),
            r#"createIndexes shop.pets {"indexes":[{"v":2,"key":{"n":1},"name":"n_1"}]}"#.to_owned(),
            format!("create shop.toys {{{ID}}}"),
            "shop.pets 1".to_owned(),
            "shop.toys 2".to_owned(),
            "shop.pets 3".to_owned(),
        ]
    );
    assert!(changes.iter().all(|change| change.batch == changes[0].batch));
    assert!(changes[0].collection == changes[3].collection && changes[2].collection == changes[4].collection);
    assert_eq!(db.collection("shop.pets").find(doc! {"n": 1}).hint("n_1").count().unwrap(), 2);
    assert_eq!(format!("{:?}", db.verify().run().unwrap().damage), "[]");
}

fn open(mem: Arc<MemFs>) -> Database {
    let env = Env { fs: mem, clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(3)) };
    let options = Options { background: false, ..Options::default() };
    Database::builder().env(env).options(options).open("db").unwrap()
}

/// The collections after the events, each with its indexes. Each event must fit those before it.
fn known_from(db: &Database, token: ChangeToken) -> BTreeMap<String, Vec<String>> {
    let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let named = |description: &Map| {
        let index = description.get("indexes").unwrap().as_array().unwrap()[0].as_map().unwrap();
        index.get("name").unwrap().as_str().unwrap().to_owned()
    };
    for change in db.changes(&ChangeScope::Everything, Some(token)).unwrap() {
        let change = change.unwrap();
        let name = change.name.to_string();
        match &change.event {
            ChangeEvent::Create { .. } => assert!(known.insert(name, Vec::new()).is_none(), "{change:?}"),
            ChangeEvent::Drop => assert!(known.remove(&name).is_some(), "{change:?}"),
            ChangeEvent::DropDatabase => assert!(known.is_empty(), "{change:?}"),
            ChangeEvent::CreateIndexes { description } => known.get_mut(&name).unwrap().push(named(description)),
            ChangeEvent::DropIndexes { description } => {
                let indexes = known.get_mut(&name).unwrap();
                let at = indexes.iter().position(|index| *index == named(description)).unwrap();
                indexes.remove(at);
            }
            _ => assert!(known.contains_key(&name), "{change:?}"),
        }
    }
    known
}

#[test]
fn after_a_power_cut_the_events_are_those_of_what_is_there() {
    let mut met = 0;
    for seed in 0..60 {
        let mem = Arc::new(MemFs::new());
        let db = open(mem.clone());
        let token = db.record_changes(ChangeScope::Everything).unwrap();
        let mut random = fastrand::Rng::with_seed(seed);
        for n in 0..20 {
            let name = format!("shop.c{}", random.u32(..3));
            let collection = db.collection(&name).with_durability(Durability::Bulk);
            match random.u32(..7) {
                0 => drop(collection.drop()),
                1 if random.bool() => drop(db.logical_database("shop").drop()),
                2 => drop(collection.create_index(doc! {"n": 1}).run()),
                3 => drop(collection.create_index(doc! {"m": 1}).run()),
                4 => drop(collection.drop_index("n_1")),
                5 => db.transaction(|transaction| transaction.collection(&name).put(n, doc! {"n": n})).unwrap(),
                _ => collection.put(n, doc! {"n": n}).unwrap(),
            }
        }
        let copy = mem.crash_clone(seed, CrashStyle::Any);
        drop(db);
        let db = open(Arc::new(copy));
        let indexes = |name: &str| {
            let indexes = db.collection(name).indexes().unwrap();
            let ready = indexes.into_iter().filter(|index| index.ready && index.name != "_id_");
            ready.map(|index| index.name).collect()
        };
        let found: BTreeMap<String, Vec<String>> =
            db.collections().iter().map(|one| (one.full_name(), indexes(&one.full_name()))).collect();
        met += found.values().map(Vec::len).sum::<usize>();
        assert_eq!(known_from(&db, token), found, "seed {seed}");
    }
    assert!(met > 20, "{met}");
}
