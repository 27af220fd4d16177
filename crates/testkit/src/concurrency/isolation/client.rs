//! A client of a run: executes random transactions, or calls without one, and records what it read and wrote.

use super::Shared;
use super::checker::{Item, Kind, Outcome, Search, Step, Transaction, unit_key};
use alluvium::{Collection, Database, Document, ErrorKind, Map, Result, ReturnDocument, Value};
use std::sync::atomic::Ordering;

/// The collections of lists. Even lists are in the first, odd ones in the second.
const LISTS: [&str; 2] = ["main.even", "other.odd"];
/// The collection of units, which belong to odd lists.
const UNITS: &str = "units";
/// The collection of registers.
pub const REGISTERS: &str = "registers";
/// The number of registers.
const REGISTER_COUNT: usize = 4;

/// The collections of a run, with their content.
#[derive(Debug, Clone, Copy)]
pub struct Tables {
    /// The number of lists.
    pub lists: usize,
}

/// The `_id` of a list, a unit or a register.
fn id(at: usize) -> Value {
    Value::from(at as i64)
}

/// The number in an `_id`.
fn place(document: &Document) -> usize {
    document.id().as_i64().expect("an _id of ours") as usize
}

fn field(document: &Document, name: &str) -> i64 {
    document.to_map().expect("a document").get(name).and_then(Value::as_i64).expect("a number")
}

/// The items of a list.
fn items_of(document: &Document) -> Vec<Item> {
    let map = document.to_map().expect("a document");
    let items = map.get("l").and_then(Value::as_array).expect("a list");
    let items: Vec<Item> = items.iter().map(|item| item.as_i64().expect("an item")).collect();
    assert_eq!(field(document, "n"), items.len() as i64, "a part of an update is there: {document}");
    items
}

/// A list as a document.
fn list_of(at: usize, items: &[Item]) -> Map {
    let items: Vec<Value> = items.iter().copied().map(Value::from).collect();
    let (count, group) = (Value::from(items.len() as i64), Value::from((at % 4) as i64));
    Map::from([("_id", id(at)), ("g", group), ("n", count), ("l", Value::Array(items))])
}

fn push(item: Item) -> String {
    format!(r#"{{"$push":{{"l":{item}}},"$inc":{{"n":1}}}}"#)
}

/// Appends to a list by its `_id`.
pub fn append_to(collection: &Collection, list: usize, item: Item) -> Result<()> {
    let counted = collection.update_one(Map::from([("_id", id(list))]), push(item).as_str()).run()?;
    assert_eq!(counted.modified_count, 1, "list {list} is gone");
    Ok(())
}

fn unit_of(list: usize, item: Item) -> Map {
    Map::from([("_id", id(list)), ("u", Value::from(unit_key(item))), ("item", Value::from(item))])
}

impl Tables {
    /// The collection of a list.
    pub fn name(list: usize) -> &'static str {
        LISTS[list % 2]
    }

    /// The lists of one collection.
    fn of(self, half: usize) -> Vec<usize> {
        (0..self.lists).filter(|list| list % 2 == half).collect()
    }

    /// Creates the collections, with their indexes and empty lists.
    pub fn create(self, db: &Database) -> Result<()> {
        let [even, odd] = LISTS.map(|name| db.create_collection(name).run());
        let (even, odd) = (even?, odd?);
        even.create_index(r#"{"n":1}"#).run()?;
        even.create_index(r#"{"l":1}"#).run()?;
        odd.create_index(r#"{"g":1}"#).run()?;
        db.create_collection(UNITS).run()?.create_index(r#"{"u":1}"#).options(r#"{"unique":true}"#).run()?;
        db.create_collection(REGISTERS).run()?.create_index(r#"{"v":1}"#).run()?;
        for list in 0..self.lists {
            [&even, &odd][list % 2].insert_one(list_of(list, &[]))?;
        }
        db.sync()
    }

    /// The lists that a transaction has read.
    pub fn contents(self, reader: &Transaction) -> Vec<Vec<Item>> {
        let mut lists = vec![Vec::new(); self.lists];
        for step in &reader.steps {
            if let Step::Read(list, items) = step {
                lists[*list].clone_from(items);
            }
        }
        lists
    }
}

/// Creates or drops an index that no search names, so that updates are blind for a time, and plans change.
pub fn change_indexes(db: &Database, rng: &mut fastrand::Rng) {
    let (name, keys, index) =
        [(LISTS[0], r#"{"g":1,"n":-1}"#, "g_1_n_-1"), (LISTS[1], r#"{"n":1}"#, "n_1")][rng.usize(0..2)];
    let collection = db.collection(name);
    if rng.bool() {
        collection.create_index(keys).run().expect("a good disk");
        return;
    }
    // The index may not exist.
    let dropped = collection.drop_index(index);
    assert!(dropped.as_ref().err().is_none_or(|e| e.kind() == ErrorKind::Namespace), "{dropped:?}");
}

/// The collections as a transaction sees them, or outside of one.
type Open<'o> = dyn Fn(&str) -> Collection + 'o;

/// One of several threads.
pub struct Client<'a> {
    shared: &'a Shared,
    db: &'a Database,
    rng: fastrand::Rng,
    number: usize,
    tables: Tables,
    /// True if snapshots may end.
    ages: bool,
    pub history: Vec<Transaction>,
}

impl<'a> Client<'a> {
    pub fn new(shared: &'a Shared, db: &'a Database, seed: u64, number: usize, tables: Tables, ages: bool) -> Self {
        Self { shared, db, rng: fastrand::Rng::with_seed(seed), number, tables, ages, history: Vec::new() }
    }

    /// Executes this number of transactions, or of calls without one, or fewer if the machine stops.
    pub fn run(&mut self, count: usize, plain: bool) {
        for _ in 0..count {
            if self.shared.stopped() {
                break;
            }
            let begun = self.shared.tick();
            let mut steps = Vec::new();
            let outcome = if plain { self.call(&mut steps) } else { self.transaction(&mut steps) };
            let ended = self.shared.tick();
            self.history.push(Transaction { client: self.number, begun, ended, steps, outcome });
        }
    }

    /// Reads everything in one transaction, by all ways.
    pub fn everything(mut self) -> Transaction {
        let begun = self.shared.tick();
        let transaction = self.db.begin();
        let open = |name: &str| transaction.collection(name);
        let mut steps = Vec::new();
        let mut read = || -> Result<()> {
            for half in 0..2 {
                self.scan(&open, half, &mut steps)?;
                self.total(&open, half, &mut steps)?;
            }
            for least in 0..5 {
                self.longer(&open, least, &mut steps)?;
            }
            self.units(&open, &mut steps)
        };
        read().unwrap_or_else(|e| panic!("the last state does not read: {e}"));
        Transaction { client: self.number, begun, ended: self.shared.tick(), steps, outcome: Outcome::Aborted }
    }

    /// How a transaction ended that met an error.
    fn met(&mut self, error: &alluvium::Error) -> Outcome {
        match error.kind() {
            ErrorKind::Conflict => self.shared.conflicts.fetch_add(1, Ordering::SeqCst),
            ErrorKind::SnapshotTooOld if self.ages => self.shared.too_old.fetch_add(1, Ordering::SeqCst),
            ErrorKind::DuplicateKey => self.shared.refused.fetch_add(1, Ordering::SeqCst),
            _ => panic!("client {}: {error}", self.number),
        };
        Outcome::Aborted
    }

    fn transaction(&mut self, steps: &mut Vec<Step>) -> Outcome {
        let transaction = self.db.begin();
        let open = |name: &str| transaction.collection(name);
        for _ in 0..self.rng.usize(1..=5) {
            if let Err(error) = self.step(&open, steps) {
                return self.met(&error);
            }
            alluvium_env::thread::yield_now();
        }
        match self.rng.u32(0..10) {
            0 => transaction.abort(),
            1 => {}
            _ => match transaction.commit() {
                Ok(()) => return Outcome::Committed,
                Err(error) => return self.met(&error),
            },
        }
        Outcome::Aborted
    }

    fn list(&mut self) -> usize {
        self.rng.usize(0..self.tables.lists)
    }

    fn step(&mut self, open: &Open<'_>, steps: &mut Vec<Step>) -> Result<()> {
        match self.rng.u32(0..22) {
            0..=4 => self.get(open, steps),
            5..=9 => self.append(open, steps),
            10 => {
                self.scan(open, 0, steps)?;
                let least = self.rng.usize(0..12);
                self.longer(open, least, steps)
            }
            11 => self.holding(open, steps),
            12 => {
                let half = self.rng.usize(0..2);
                self.scan(open, half, steps)?;
                self.total(open, half, steps)
            }
            13..=14 => self.again(open, steps),
            15..=17 => self.unit(open, steps),
            18 => self.units(open, steps),
            19 => self.put(open, steps),
            _ => self.look(open, steps),
        }
    }

    fn get(&mut self, open: &Open<'_>, steps: &mut Vec<Step>) -> Result<()> {
        let list = self.list();
        let found = open(Tables::name(list)).get(id(list))?;
        let found = found.unwrap_or_else(|| panic!("list {list} is gone"));
        steps.push(Step::Read(list, items_of(&found)));
        Ok(())
    }

    fn append(&mut self, open: &Open<'_>, steps: &mut Vec<Step>) -> Result<()> {
        let (list, item) = (self.list(), self.shared.item(Kind::Plain));
        self.append_item(open, list, item, steps)
    }

    fn append_item(&mut self, open: &Open<'_>, list: usize, item: Item, steps: &mut Vec<Step>) -> Result<()> {
        let collection = open(Tables::name(list));
        match self.rng.u32(0..3) {
            0 if list % 2 == 1 => collection.update_blind(id(list), push(item).as_str())?,
            1 => {
                let filter = Map::from([("_id", id(list))]);
                let updated = collection.find_one_and_update(filter, push(item).as_str());
                let before = updated.return_document(ReturnDocument::Before).run()?;
                let before = before.unwrap_or_else(|| panic!("list {list} is gone"));
                steps.push(Step::Read(list, items_of(&before)));
            }
            _ => append_to(&collection, list, item)?,
        }
        steps.push(Step::Append(list, item));
        Ok(())
    }

    /// Scans the lists of a collection.
    fn scan(&mut self, open: &Open<'_>, half: usize, steps: &mut Vec<Step>) -> Result<()> {
        let scan = open(LISTS[half]).scan();
        let mut found = Vec::new();
        for document in if self.rng.bool() { scan.reverse() } else { scan }.run()? {
            let document = document?;
            found.push(place(&document));
            steps.push(Step::Read(place(&document), items_of(&document)));
        }
        found.sort_unstable();
        assert_eq!(found, self.tables.of(half), "a scan does not find each list once");
        Ok(())
    }

    fn found_in(&mut self, collection: &Collection, filter: &str, index: &str) -> Result<Vec<usize>> {
        let find = collection.find(filter);
        let find = if self.rng.bool() { find.hint(index) } else { find };
        let mut found = find.run()?.map(|found| Ok(place(&found?))).collect::<Result<Vec<usize>>>()?;
        found.sort_unstable();
        Ok(found)
    }

    /// Finds the lists by the number of their items. They were scanned before.
    fn longer(&mut self, open: &Open<'_>, least: usize, steps: &mut Vec<Step>) -> Result<()> {
        let of = self.tables.of(0);
        let found = self.found_in(&open(LISTS[0]), &format!(r#"{{"n":{{"$gte":{least}}}}}"#), "n_1")?;
        steps.push(Step::Search(Search::Longer { of, least, found }));
        Ok(())
    }

    /// Finds the lists that have an item.
    fn holding(&mut self, open: &Open<'_>, steps: &mut Vec<Step>) -> Result<()> {
        self.scan(open, 0, steps)?;
        let known: Vec<Item> = steps.iter().rev().take(self.tables.of(0).len()).flat_map(items_in).collect();
        let own = steps.iter().filter_map(|step| if let Step::Append(_, item) = step { Some(*item) } else { None });
        let known: Vec<Item> = known.into_iter().chain(own).collect();
        let Some(item) = self.rng.choice(known) else { return Ok(()) };
        let found = self.found_in(&open(LISTS[0]), &format!(r#"{{"l":{item}}}"#), "l_1")?;
        steps.push(Step::Search(Search::Holding { of: self.tables.of(0), item, found }));
        Ok(())
    }

    /// Counts the items of lists that were scanned before.
    fn total(&mut self, open: &Open<'_>, half: usize, steps: &mut Vec<Step>) -> Result<()> {
        let of = self.tables.of(half);
        let collection = open(LISTS[half]);
        let sum = collection.aggregate(r#"[{"$group":{"_id":null,"sum":{"$sum":"$n"}}}]"#).first()?;
        let items = sum.map_or(0, |sum| field(&sum, "sum") as usize);
        assert_eq!(collection.count()?, of.len() as u64, "the number of lists");
        assert_eq!(collection.find(r#"{"n":{"$gte":0}}"#).count()?, of.len() as u64, "the number of lists");
        steps.push(Step::Search(Search::Total { of, items }));
        Ok(())
    }

    /// Deletes a list and inserts it again, with one more item.
    fn again(&mut self, open: &Open<'_>, steps: &mut Vec<Step>) -> Result<()> {
        let list = self.list();
        let collection = open(Tables::name(list));
        let found = collection.get(id(list))?.unwrap_or_else(|| panic!("list {list} is gone"));
        let mut items = items_of(&found);
        steps.push(Step::Read(list, items.clone()));
        match self.rng.bool() {
            true => collection.delete(id(list))?,
            false => collection.delete_one(Map::from([("_id", id(list))])).run().map(|_| ())?,
        }
        assert!(collection.get(id(list))?.is_none(), "a transaction does not see that it has deleted list {list}");
        let left = collection.count()?;
        assert_eq!(left + 1, self.tables.of(list % 2).len() as u64, "the number of lists after a delete");
        let item = self.shared.item(Kind::Plain);
        items.push(item);
        collection.insert_one(list_of(list, &items))?;
        steps.push(Step::Append(list, item));
        Ok(())
    }

    /// Puts or deletes the unit of a list, and says so in the list.
    fn unit(&mut self, open: &Open<'_>, steps: &mut Vec<Step>) -> Result<()> {
        self.units(open, steps)?;
        let Some(list) = self.rng.choice(self.tables.of(1)) else { return Ok(()) };
        let units = open(UNITS);
        if self.rng.u8(0..3) == 0 {
            let item = self.shared.item(Kind::Delete);
            self.append_item(open, list, item, steps)?;
            match self.rng.bool() {
                true => units.delete(id(list))?,
                false => units.delete_one(Map::from([("_id", id(list))])).run().map(|_| ())?,
            }
            return Ok(());
        }
        let item = self.shared.item(Kind::Put);
        let written = match (units.get(id(list))?.is_some(), self.rng.bool()) {
            (true, true) => {
                let set = format!(r#"{{"$set":{{"u":{},"item":{item}}}}}"#, unit_key(item));
                units.update_one(Map::from([("_id", id(list))]), set.as_str()).run().map(drop)
            }
            (false, true) => units.insert_one(unit_of(list, item)).map(drop),
            (_, false) => units.put(id(list), unit_of(list, item)),
        };
        if written.as_ref().is_err_and(|error| error.kind() == ErrorKind::DuplicateKey) {
            steps.push(Step::Search(Search::Refused { of: self.tables.of(1), list, item }));
        }
        written?;
        self.append_item(open, list, item, steps)?;
        if self.rng.bool() { self.units(open, steps) } else { Ok(()) }
    }

    /// Reads all units, and the lists that they belong to.
    fn units(&mut self, open: &Open<'_>, steps: &mut Vec<Step>) -> Result<()> {
        self.scan(open, 1, steps)?;
        let units = open(UNITS);
        let found = match self.rng.u32(0..3) {
            0 => units.scan().run()?,
            1 => units.find(r#"{"u":{"$gte":0}}"#).hint("u_1").run()?,
            _ => units.find("{}").run()?,
        };
        let found = found.map(|unit| unit.map(|unit| (place(&unit), field(&unit, "u"), field(&unit, "item"))));
        let mut found = found.collect::<Result<Vec<_>>>()?;
        found.sort_unstable();
        assert!(found.iter().all(|(_, key, item)| *key == unit_key(*item)), "a part of an update is there: {found:?}");
        let found = found.into_iter().map(|(list, _, item)| (list, item)).collect();
        steps.push(Step::Search(Search::Units { of: self.tables.of(1), found }));
        Ok(())
    }

    fn put(&mut self, open: &Open<'_>, steps: &mut Vec<Step>) -> Result<()> {
        let (register, item) = (self.rng.usize(0..REGISTER_COUNT), self.shared.item(Kind::Plain));
        open(REGISTERS).put(id(register), Map::from([("v", Value::from(item))]))?;
        steps.push(Step::Put(register, item));
        Ok(())
    }

    fn look(&mut self, open: &Open<'_>, steps: &mut Vec<Step>) -> Result<()> {
        let registers = open(REGISTERS);
        let register = self.rng.usize(0..REGISTER_COUNT);
        let found = registers.get(id(register))?.map(|found| field(&found, "v"));
        if let Some(item) = found {
            let by_value = self.found_in(&registers, &format!(r#"{{"v":{item}}}"#), "v_1")?;
            assert_eq!(by_value, [register], "registers by the value {item}");
        }
        steps.push(Step::Look(register, found));
        Ok(())
    }

    /// A call without a transaction.
    fn call(&mut self, steps: &mut Vec<Step>) -> Outcome {
        let db = self.db;
        let open = |name: &str| db.collection(name);
        let done = match self.rng.u32(0..12) {
            0..=3 => self.append(&open, steps),
            4..=5 => self.batch(steps),
            6 => self.put(&open, steps),
            7 => {
                let below = self.shared.items.load(Ordering::SeqCst) * 4 - 40;
                db.collection(REGISTERS).delete_many(format!(r#"{{"v":{{"$lt":{below}}}}}"#).as_str()).run().map(drop)
            }
            8..=9 => self.get(&open, steps),
            _ => self.at_a_snapshot(steps),
        };
        match done {
            Ok(()) => Outcome::Committed,
            Err(error) => self.met(&error),
        }
    }

    /// Reads all lists by their `_id`, and the units, at a snapshot.
    fn at_a_snapshot(&mut self, steps: &mut Vec<Step>) -> Result<()> {
        let snapshot = self.db.snapshot();
        for list in 0..self.tables.lists {
            let found = self.db.collection(Tables::name(list)).at(&snapshot).get(id(list))?;
            let found = found.unwrap_or_else(|| panic!("list {list} is gone"));
            steps.push(Step::Read(list, items_of(&found)));
        }
        let units = self.db.collection(UNITS).at(&snapshot).scan().run()?;
        let found = units.map(|unit| unit.map(|unit| (place(&unit), field(&unit, "item")))).collect::<Result<_>>()?;
        steps.push(Step::Search(Search::Units { of: self.tables.of(1), found }));
        Ok(())
    }

    /// A batch of appends, with a unit that goes or comes.
    fn batch(&mut self, steps: &mut Vec<Step>) -> Result<()> {
        let mut batch = self.db.write_batch();
        let mut lists = self.tables.of(1);
        self.rng.shuffle(&mut lists);
        lists.truncate(self.rng.usize(1..=3));
        let kind = [Kind::Plain, Kind::Put, Kind::Delete][self.rng.usize(0..3)];
        let (odd, units) = (self.db.collection(LISTS[1]), self.db.collection(UNITS));
        for (at, list) in lists.into_iter().enumerate() {
            let kind = if at == 0 { kind } else { Kind::Plain };
            let item = self.shared.item(kind);
            batch.update_blind(&odd, id(list), push(item).as_str())?;
            match kind {
                Kind::Plain => {}
                Kind::Put => batch.put(&units, id(list), unit_of(list, item))?,
                Kind::Delete => batch.delete(&units, id(list))?,
            }
            steps.push(Step::Append(list, item));
        }
        batch.commit()
    }
}

fn items_in(step: &Step) -> Vec<Item> {
    if let Step::Read(_, items) = step { items.clone() } else { Vec::new() }
}
