//! A client of a history: makes random calls, and records them with start and end.

use super::Shared;
use super::checker::Call;
use super::spec::{Act, Answer, Doc, Docs, Write};
use crate::model::map_of;
use crate::replay::sequence;
use alluvium::{Collection, Database, Document, Durability, ErrorKind, Map, ReturnDocument, Snapshot, Value};

/// The two collections. Even documents are in the first, odd ones in the second.
pub const NAMES: [&str; 2] = ["main.even", "other.odd"];

/// The `_id` of a document, alternately a number and a string.
pub fn id(at: usize) -> Value {
    if at % 4 < 2 { Value::from(at as i64) } else { Value::from(format!("document {at}")) }
}

fn place(id: &Value) -> usize {
    match id.as_i64() {
        Some(at) => at as usize,
        None => id.as_str().and_then(|text| text.strip_prefix("document ")?.parse().ok()).expect("an _id of ours"),
    }
}

/// The content of a document: some are long, so that memtables and blocks fill up.
fn document(v: i64) -> String {
    let pad = "p".repeat(((v * 7919) % 211) as usize);
    format!(r#"{{"v":{v},"n":0,"pad":"{pad}"}}"#)
}

fn doc_of(document: &Document) -> Doc {
    let map = document.to_map().expect("a document that was read");
    let field = |name: &str| map.get(name).and_then(Value::as_i64).expect("a number");
    (field("v"), field("n"))
}

/// All documents at a snapshot.
pub fn all(db: &Database, snapshot: &Snapshot, documents: usize) -> alluvium::Result<Docs> {
    let at = NAMES.map(|name| db.collection(name).at(snapshot));
    (0..documents).map(|place| Ok(at[place % 2].get(id(place))?.as_ref().map(doc_of))).collect()
}

/// One of several threads that make calls.
pub struct Client<'a> {
    pub shared: &'a Shared,
    pub db: &'a Database,
    seed: u64,
    pub rng: fastrand::Rng,
    pub number: usize,
    pub calls: Vec<Call>,
    /// A snapshot, and the documents that it must show.
    kept: Option<(Snapshot, Docs)>,
}

impl<'a> Client<'a> {
    pub fn new(shared: &'a Shared, db: &'a Database, seed: u64, number: usize) -> Self {
        Self { shared, db, seed, rng: fastrand::Rng::with_seed(seed), number, calls: Vec::new(), kept: None }
    }

    /// Executes this number of calls, or fewer if the machine crashes. The number of a call determines the call, so
    /// that calls can be left out.
    pub fn run(&mut self, calls: usize) {
        for number in
            (0..calls as u32).filter(|number| self.shared.only.as_ref().is_none_or(|only| only.contains(number)))
        {
            if self.shared.stopped() {
                break;
            }
            self.rng = sequence::rng_of(self.seed, number);
            let act = self.any();
            let durability = [None, None, None, Some(Durability::Sync)][self.rng.usize(0..4)];
            let durable = durability.is_some() || self.shared.default == Durability::Sync;
            let from = self.shared.tick();
            let place = self.calls.len();
            let call =
                Call { act: act.clone(), from, returned: None, durable: false, recovery: false, client: self.number };
            self.calls.push(call);
            let (answer, when) = self.call(&act, durability);
            // The call may return a more precise time: the time when its snapshot existed.
            self.calls[place].durable = durable && act.wrote(&answer);
            self.calls[place].returned = Some((when.unwrap_or_else(|| self.shared.tick()), answer));
        }
    }

    fn place(&mut self) -> usize {
        self.rng.usize(0..self.shared.documents)
    }

    /// A `v` that no other call writes, with a gap for additions.
    fn value(&mut self) -> i64 {
        self.shared.value()
    }

    fn write(&mut self) -> Write {
        match self.rng.u32(0..8) {
            0..=2 => Write::Put(self.value()),
            3 => Write::Delete,
            4..=6 => Write::AddN(self.rng.i64(1..9)),
            _ => Write::AddV(self.rng.i64(1..9)),
        }
    }

    fn any(&mut self) -> Act {
        let at = self.place();
        match self.rng.u32(0..20) {
            0..=4 => Act::Write(vec![(at, self.write())]),
            5..=6 => Act::Write((0..self.rng.usize(2..5)).map(|_| (self.place(), self.write())).collect()),
            7 => Act::Update(at, self.rng.i64(1..9)),
            8 => Act::FindAndAdd(at, self.rng.i64(1..9)),
            9 => Act::Take(at),
            10..=11 => Act::Insert(at, self.value()),
            12 => self.swap(at),
            13..=15 => Act::Get(at),
            16 => Act::All,
            17 => [Act::All, Act::Scan(at % 2)][self.rng.usize(0..2)].clone(),
            _ => {
                let last = self.shared.last_value();
                let from = self.rng.i64(0..=last);
                Act::Find(at % 2, from, from + self.rng.i64(0..=last))
            }
        }
    }

    /// A compare-and-set of a document, whose current value is read by a separate call.
    fn swap(&mut self, at: usize) -> Act {
        let found = self.collection(at).get(id(at)).unwrap_or_else(|e| self.broken(&e));
        match found {
            Some(document) => Act::Swap(at, doc_of(&document), self.value()),
            None => Act::Get(at),
        }
    }

    fn collection(&self, at: usize) -> Collection {
        self.db.collection(NAMES[at % 2])
    }

    fn broken(&self, error: &alluvium::Error) -> ! {
        panic!("client {}: {error}", self.number)
    }

    /// Executes the call. Returns its result, and its end if a more precise time than the return is known.
    fn call(&mut self, act: &Act, durability: Option<Durability>) -> (Answer, Option<u64>) {
        let answer = match act {
            Act::All => return self.all(),
            Act::Find(half, from, to) => self.find(*half, *from, *to),
            Act::Scan(half) => self.scan(*half),
            Act::Get(at) => self.collection(*at).get(id(*at)).map(|found| Answer::One(found.as_ref().map(doc_of))),
            Act::Write(writes) => self.blind(writes, durability).map(|()| Answer::Done),
            Act::Update(at, by) => {
                let counted = self
                    .durable(*at, durability)
                    .update_one(Map::from([("_id", id(*at))]), add("n", *by).as_str())
                    .run();
                counted.map(|counted| Answer::Whether(counted.matched_count == 1))
            }
            Act::FindAndAdd(at, by) => {
                let before = ReturnDocument::Before;
                let found = self
                    .durable(*at, durability)
                    .find_one_and_update(Map::from([("_id", id(*at))]), add("n", *by).as_str())
                    .return_document(before)
                    .run();
                found.map(|found| Answer::One(found.as_ref().map(doc_of)))
            }
            Act::Take(at) => {
                let found = self.durable(*at, durability).find_one_and_delete(Map::from([("_id", id(*at))])).run();
                found.map(|found| Answer::One(found.as_ref().map(doc_of)))
            }
            Act::Insert(at, v) => {
                let mut map = map_of(&document(*v));
                map.entries.insert(0, ("_id".into(), id(*at)));
                match self.durable(*at, durability).insert_one(map) {
                    Err(error) if error.kind() == ErrorKind::DuplicateKey => Ok(Answer::Whether(false)),
                    other => other.map(|_| Answer::Whether(true)),
                }
            }
            Act::Swap(at, expected, v) => self.swap_if(*at, *expected, *v, durability).map(Answer::Whether),
        };
        (answer.unwrap_or_else(|e| self.broken(&e)), None)
    }

    fn durable(&self, at: usize, durability: Option<Durability>) -> Collection {
        match durability {
            Some(durability) => self.collection(at).with_durability(durability),
            None => self.collection(at),
        }
    }

    fn swap_if(&self, at: usize, expected: Doc, v: i64, durability: Option<Durability>) -> alluvium::Result<bool> {
        let collection = self.durable(at, durability);
        match collection.get_versioned(id(at))? {
            Some((found, version)) if doc_of(&found) == expected => {
                collection.replace_if(id(at), version, document(v).as_str())
            }
            _ => Ok(false),
        }
    }

    fn blind(&mut self, writes: &[(usize, Write)], durability: Option<Durability>) -> alluvium::Result<()> {
        if let [(at, write)] = writes {
            let (collection, id) = (self.durable(*at, durability), id(*at));
            return match write {
                Write::Put(v) => collection.put(id, document(*v).as_str()),
                Write::Delete => collection.delete(id),
                Write::AddN(by) => collection.update_blind(id, add("n", *by).as_str()),
                Write::AddV(by) => collection.update_blind(id, add("v", *by).as_str()),
            };
        }
        let mut batch = self.db.write_batch();
        for (at, write) in writes {
            let (collection, id) = (self.collection(*at), id(*at));
            match write {
                Write::Put(v) => batch.put(&collection, id, document(*v).as_str())?,
                Write::Delete => batch.delete(&collection, id)?,
                Write::AddN(by) => batch.update_blind(&collection, id, add("n", *by).as_str())?,
                Write::AddV(by) => batch.update_blind(&collection, id, add("v", *by).as_str())?,
            }
        }
        match durability {
            Some(durability) => batch.with_durability(durability).commit(),
            None => batch.commit(),
        }
    }

    fn all(&mut self) -> (Answer, Option<u64>) {
        let snapshot = self.db.snapshot();
        let when = self.shared.tick();
        let read =
            |snapshot: &Snapshot| all(self.db, snapshot, self.shared.documents).unwrap_or_else(|e| self.broken(&e));
        let docs = read(&snapshot);
        if let Some((older, shown)) = &self.kept {
            assert_eq!(&read(older), shown, "client {}: a snapshot has changed", self.number);
        }
        if self.kept.is_none() || self.rng.u8(0..4) == 0 {
            self.kept = Some((snapshot, docs.clone()));
        }
        (Answer::Many(docs), Some(when))
    }

    /// A scan of a collection in either direction.
    fn scan(&mut self, half: usize) -> alluvium::Result<Answer> {
        let scan = self.collection(half).scan();
        let scan = if self.rng.bool() { scan.reverse() } else { scan };
        let mut docs: Docs = vec![None; self.shared.documents];
        for found in scan.run()? {
            let found = found?;
            let at = place(found.id());
            assert!(docs[at].is_none(), "client {}: document {at} is scanned twice", self.number);
            docs[at] = Some(doc_of(&found));
        }
        Ok(Answer::Many(docs))
    }

    fn find(&self, half: usize, from: i64, to: i64) -> alluvium::Result<Answer> {
        let filter = format!(r#"{{"v":{{"$gte":{from},"$lte":{to}}}}}"#);
        let mut docs: Docs = vec![None; self.shared.documents];
        for found in self.collection(half).find(filter.as_str()).run()? {
            let found = found?;
            let at = place(found.id());
            assert!(docs[at].is_none(), "client {}: document {at} is found twice", self.number);
            docs[at] = Some(doc_of(&found));
        }
        Ok(Answer::Many(docs))
    }
}

fn add(field: &str, by: i64) -> String {
    format!(r#"{{"$inc":{{"{field}":{by}}}}}"#)
}
