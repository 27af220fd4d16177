//! A consumer that keeps the token of a change stream, and resumes there after its own end, a kill or a power cut of the
//! database, gets each durable change once and in order.

use alluvium::{
    BeforeDocument, ChangeEvent, ChangeRetention, ChangeScope, ChangeStream, Database, Durability, Error, FullDocument,
    Map, ResumeToken, TokenKind, Value, doc,
};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::Options;
use std::sync::Arc;

fn env_of(mem: MemFs) -> (Arc<MemFs>, Env) {
    let mem = Arc::new(mem);
    (mem.clone(), Env { fs: mem, clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(3)) })
}

fn open(env: &Env) -> Database {
    let options = Options { memory_bytes: 8 << 20, partitions: Some(3), background: false, ..Options::default() };
    Database::builder().env(env.clone()).options(options).open("db").unwrap()
}

fn token_of(event: &Map) -> ResumeToken {
    ResumeToken::parse(event.get("_id").unwrap().as_map().unwrap()).unwrap()
}

fn operation(event: &Map) -> String {
    event.get("operationType").and_then(Value::as_str).unwrap().to_owned()
}

fn operations(stream: ChangeStream) -> Vec<String> {
    stream.map(|event| operation(&event.unwrap())).collect()
}

fn code<T>(result: alluvium::Result<T>) -> i32 {
    result.err().and_then(|error| error.code()).map_or(0, |(code, _)| code)
}

/// A random write of one of several kinds.
fn write(db: &Database, random: &mut fastrand::Rng, number: i32) {
    let durability = if random.bool() { Durability::Sync } else { Durability::Bulk };
    let collection = db.collection(["shop.pets", "shop.toys"][random.usize(..2)]).with_durability(durability);
    let id = random.i32(..6);
    match random.u32(..7) {
        0 => collection.put(id, doc! {"n": number}).unwrap(),
        1 => drop(collection.update_one(doc! {"_id": id}, doc! {"$inc": doc! {"n": 1}}).upsert(true).run()),
        2 => collection.delete(id).unwrap(),
        3 => drop(collection.update_many(doc! {}, doc! {"$set": doc! {"all": number}}).run()),
        4 => {
            let transaction = db.begin_with(durability);
            for name in ["shop.pets", "shop.toys"] {
                for id in 0..random.i32(1..4) {
                    transaction.collection(name).put(id, doc! {"together": number}).unwrap();
                }
            }
            transaction.commit().unwrap();
        }
        5 => drop(collection.insert_many((0..10).map(|at| doc! {"_id": 100 * number + at}))),
        _ if number % 10 == 0 => drop(db.drop_collection("shop.toys")),
        _ => drop(db.store().flush()),
    }
}

fn run(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut mem, mut env) = env_of(MemFs::new());
    let mut db = open(&env);
    db.create_collection("shop.pets").run().unwrap();
    let scope = ChangeScope::Logical("shop".into());
    let shop = |db: &Database| db.logical_database("shop").watch().expanded(true);
    let mut stream = shop(&db).run().unwrap();
    let (mut token, mut returned): (ResumeToken, Vec<u64>) = (stream.token(), Vec::new());
    for number in 0..150 {
        write(&db, &mut random, number);
        if random.u32(..3) == 0 {
            for _ in 0..random.u32(..12) {
                let event = stream.next_event().unwrap();
                token = stream.token();
                let Some(event) = event else { break };
                let number = token_of(&event).number;
                assert!(number <= token.number, "seed {seed}: the token is of the event, or a later place");
                returned.push(number);
            }
        }
        match random.u32(..8) {
            0 => stream = shop(&db).resume_after(token.to_string().parse().unwrap()).run().unwrap(),
            1 => {
                let power = random.u32(..3) > 0;
                let copy = if power { mem.crash_clone(random.u64(..), CrashStyle::Any) } else { mem.kill_clone() };
                drop((stream, db));
                (mem, env) = env_of(copy);
                db = open(&env);
                stream = shop(&db).start_after(token).run().unwrap();
            }
            _ => {}
        }
    }
    returned.extend(stream.map(|event| token_of(&event.unwrap()).number));
    let known: Vec<u64> = db.changes(&scope, None).unwrap().map(|change| change.unwrap().number).collect();
    let is_new = |change: &u64| !returned.contains(change);
    assert_eq!(returned.len(), known.len(), "seed {seed}: {:?}", known.iter().filter(|one| is_new(one)).count());
    assert_eq!(returned, known, "seed {seed}");
    drop(mem);
}

#[test]
fn each_change_is_returned_once_over_restarts() {
    (0..40).for_each(run);
}

#[test]
fn tokens_are_in_the_order_of_the_events() {
    let db = Database::in_memory().unwrap();
    let mut stream = db.watch().run().unwrap();
    let mut last = stream.token().to_string();
    for number in 0..300 {
        db.collection("pets").put(number % 7, doc! {"n": number}).unwrap();
        if number % 50 == 0 {
            assert!(stream.by_ref().all(|event| {
                let token = token_of(&event.unwrap());
                assert_eq!(token.to_string().parse::<ResumeToken>().unwrap(), token);
                std::mem::replace(&mut last, token.to_string()) < token.to_string()
            }));
        }
    }
}

#[test]
fn a_stream_ends_with_its_collection() {
    let db = Database::in_memory().unwrap();
    let pets = db.collection("shop.pets");
    let watch = || db.collection("shop.pets").watch();
    let mut everything = db.watch().run().unwrap();
    pets.put(1, doc! {"n": 1}).unwrap();
    let mut stream = watch().run().unwrap();
    let drop_token = {
        db.drop_collection("shop.pets").unwrap();
        let event = stream.next_event().unwrap().unwrap();
        assert_eq!(operation(&event), "drop");
        stream.token()
    };
    pets.put(2, doc! {"n": 2}).unwrap();
    let end = stream.next_event().unwrap().unwrap();
    assert_eq!(operation(&end), "invalidate");
    assert!(stream.is_invalidated() && stream.next_event().unwrap().is_none());
    let end = stream.token();
    assert_eq!(end.kind, TokenKind::Invalidate);

    // The invalidation follows the drop also for a stream that is resumed between them, and again before it has read.
    let resumed = watch().resume_after(drop_token).run().unwrap();
    assert_eq!((drop_token.kind, resumed.token()), (TokenKind::Ending, drop_token));
    assert_eq!(operations(resumed), ["invalidate"]);
    assert_eq!(code(watch().resume_after(end).run()), 260);
    assert_eq!(operations(watch().start_after(end).run().unwrap()), ["insert"]);

    // A rename ends the streams of both names.
    let (mut from, mut to) = (watch().run().unwrap(), db.collection("shop.others").watch().run().unwrap());
    db.rename_collection("shop.pets", "shop.others").unwrap();
    for stream in [&mut from, &mut to] {
        let events: Vec<String> = stream.by_ref().map(|event| operation(&event.unwrap())).collect();
        assert_eq!(events, ["rename", "invalidate"]);
        assert!(stream.is_invalidated());
    }
    let all: Vec<String> = everything.by_ref().map(|event| operation(&event.unwrap())).collect();
    assert_eq!(all, ["insert", "drop", "insert", "rename"]);
    assert!(!everything.is_invalidated());
}

#[test]
fn updates_have_the_documents_that_were_asked_for() {
    let db = Database::in_memory().unwrap();
    let pets = db.collection("pets");
    pets.put("rex", doc! {"age": 3, "tags": vec![Value::from("a"), Value::from("b")]}).unwrap();
    let watch = || db.collection("pets").watch();
    let begin = watch().run().unwrap().token();
    pets.update_one(doc! {"_id": "rex"}, doc! {"$inc": doc! {"age": 1}, "$pop": doc! {"tags": 1}}).run().unwrap();
    pets.update_one(doc! {"_id": "rex"}, doc! {"$unset": doc! {"tags": ""}}).run().unwrap();
    let field = |name: &str, watch: alluvium::Watch| {
        let event = watch.resume_after(begin).run().unwrap().next().unwrap().unwrap();
        event.get(name).cloned()
    };
    assert_eq!(field("fullDocument", watch()), None);
    let description = doc! {
        "updatedFields": doc! {"age": 4},
        "removedFields": Value::Array(vec![]),
        "truncatedArrays": vec![Value::Map(doc! {"field": "tags", "newSize": 1})],
    };
    assert_eq!(field("updateDescription", watch()), Some(description.into()));
    // The document as it is now, not as the update has left it.
    let now = doc! {"_id": "rex", "age": 4};
    let looked_up = || watch().full_document(FullDocument::UpdateLookup);
    assert_eq!(field("fullDocument", looked_up()), Some(now.into()));
    assert_eq!(field("fullDocument", watch().full_document(FullDocument::WhenAvailable)), Some(Value::Null));
    let required = watch().full_document(FullDocument::Required).resume_after(begin).run().unwrap().next();
    assert_eq!(code(required.unwrap()), 47);
    let before = watch().before_change(BeforeDocument::WhenAvailable);
    assert_eq!(field("fullDocumentBeforeChange", before), Some(Value::Null));
    let required = watch().before_change(BeforeDocument::Required).resume_after(begin).run().unwrap().next();
    assert_eq!(code(required.unwrap()), 47);
    pets.delete("rex").unwrap();
    assert_eq!(field("fullDocument", looked_up()), Some(Value::Null));
}

#[test]
fn stages_choose_events_and_keep_their_tokens() {
    let db = Database::in_memory().unwrap();
    let pets = db.collection("pets");
    let watch = |stages: &str| db.collection("pets").watch().pipeline(stages);
    let mut adults = watch(r#"[{"$match": {"fullDocument.age": {"$gte": 3}}}, {"$unset": "ns"}]"#).run().unwrap();
    for age in 0..601 {
        pets.put(age, doc! {"age": age % 4}).unwrap();
    }
    let events: Vec<Map> = adults.by_ref().map(Result::unwrap).collect();
    assert_eq!(events.len(), 150);
    assert!(events.iter().all(|event| !event.contains("ns") && event.contains("_id")));
    // The place is behind the events that were left out.
    assert!(adults.token().number > token_of(events.last().unwrap()).number);
    pets.put(3, doc! {"age": 9}).unwrap();
    assert_eq!(adults.count(), 1);

    for stages in [r#"[{"$group": {"_id": null}}]"#, r#"[{"$sort": {"a": 1}}]"#, r#"[{"$limit": 1}]"#] {
        assert_eq!(code(watch(stages).run()), 20, "{stages}");
    }
    assert_ne!(code(watch(r#"[{"$match": {"$no": 1}}]"#).run()), 0);
    assert_ne!(code(watch(r#"{"$match": {}}"#).run()), 0);
    for stages in [r#"[{"$unset": "_id"}]"#, r#"[{"$set": {"_id": 1}}]"#] {
        let mut stream = watch(stages).run().unwrap();
        pets.put(1, doc! {"age": 1.5}).unwrap();
        pets.put(1, doc! {"age": 1}).unwrap();
        assert_eq!(code(stream.next_event()), 280, "{stages}");
    }
}

#[test]
fn large_events_are_split() {
    let db = Database::in_memory().unwrap();
    let pets = db.collection("pets");
    pets.put(1, doc! {"n": 1}).unwrap();
    let watch = || db.collection("pets").watch().full_document(FullDocument::UpdateLookup);
    let begin = watch().run().unwrap().token();
    let text = "x".repeat(10 << 20);
    pets.update_one(doc! {"_id": 1}, doc! {"$set": doc! {"text": text.as_str()}}).run().unwrap();
    pets.put(2, doc! {"n": 2}).unwrap();
    assert_eq!(code(watch().resume_after(begin).run().unwrap().next_event()), 10334);
    let split = || watch().pipeline(r#"[{"$changeStreamSplitLargeEvent": {}}]"#);
    let events: Vec<Map> = split().resume_after(begin).run().unwrap().map(Result::unwrap).collect();
    let number = |event: &Map| {
        let split = event.get("splitEvent")?.as_map()?;
        Some((split.get("fragment")?.clone(), split.get("of")?.clone()))
    };
    let fragments: Vec<_> = events.iter().map(number).collect();
    let of_two = |fragment: i32| Some((Value::Int32(fragment), Value::Int32(2)));
    assert_eq!(fragments, [of_two(1), of_two(2), None]);
    assert!(events[0].contains("operationType") && !events[1].contains("operationType"));
    let parts: usize = events[..2].iter().map(|event| event.entries.len()).sum();
    let whole = ["operationType", "wallTime", "fullDocument", "ns", "documentKey", "updateDescription"];
    assert_eq!(parts, whole.len() + 4, "each field once, beside two ids and two numbers");
    // The second fragment follows the first one also after a restart of the consumer.
    let rest: Vec<Map> = split().resume_after(token_of(&events[0])).run().unwrap().map(Result::unwrap).collect();
    assert_eq!(rest, events[1..]);
    let resumed = split().resume_after(token_of(&events[0])).run().unwrap();
    assert_eq!(resumed.token(), token_of(&events[0]), "nothing was read");
    assert_eq!(code(watch().resume_after(token_of(&events[0])).run()), 280, "it would not be split");
    let rest: Vec<Map> = split().resume_after(token_of(&events[1])).run().unwrap().map(Result::unwrap).collect();
    assert_eq!(rest, events[2..]);
}

#[test]
fn large_events_pass_stages() {
    let db = Database::in_memory().unwrap();
    let pets = db.collection("pets");
    pets.put(1, doc! {"n": 1}).unwrap();
    let watch = || db.collection("pets").watch().full_document(FullDocument::UpdateLookup);
    let begin = watch().run().unwrap().token();
    let text = "x".repeat(10 << 20);
    pets.update_one(doc! {"_id": 1}, doc! {"$set": doc! {"text": text.as_str()}}).run().unwrap();
    for stages in [
        r#"{"$match": {"operationType": "update"}}"#,
        r#"{"$set": {"more": "$operationType"}}"#,
        r#"{"$redact": "$$KEEP"}"#,
        // Those of Debezium's connector, which matches names by their patterns.
        r#"{"$replaceRoot": {"newRoot": {"name": {"$concat": ["$ns.db", ".", "$ns.coll"]}, "event": "$$ROOT"}}},
           {"$match": {"name": {"$regularExpression": {"pattern": "pets", "options": "i"}}}}, {"$replaceRoot": {"newRoot": "$event"}}"#,
    ] {
        let run =
            |last: &str| watch().pipeline(format!("[{stages}{last}]").as_str()).resume_after(begin).run().unwrap();
        assert_eq!(code(run("").next_event()), 10334, "{stages}");
        let split: Vec<Map> = run(r#", {"$changeStreamSplitLargeEvent": {}}"#).map(Result::unwrap).collect();
        let whole = |name: &&str| split.iter().any(|event| event.contains(name));
        assert_eq!(split.len(), 2, "{stages}");
        assert!(["operationType", "fullDocument", "updateDescription", "documentKey"].iter().all(whole), "{stages}");
        let small: Vec<Map> = run(r#", {"$unset": "fullDocument"}"#).map(Result::unwrap).collect();
        assert!(small.len() == 1 && small[0].contains("updateDescription"), "{stages}");
    }
}

#[test]
fn a_number_begins_with_its_whole_batch() {
    let db = Database::in_memory().unwrap();
    let pets = db.collection("pets");
    db.record_changes(ChangeScope::Everything).unwrap();
    pets.put("before", doc! {"n": 0}).unwrap();
    let transaction = db.begin();
    for id in 0..4 {
        transaction.collection("pets").put(id, doc! {"n": 1}).unwrap();
    }
    transaction.commit().unwrap();
    pets.put("after", doc! {"n": 2}).unwrap();
    let changes: Vec<_> = db.changes(&ChangeScope::Everything, None).unwrap().map(Result::unwrap).collect();
    let puts = |from: u64| pets.watch().from_number(from).run().unwrap().count();
    let inserts: Vec<_> = changes.iter().filter(|change| matches!(change.event, ChangeEvent::Insert { .. })).collect();
    assert_eq!(inserts.len(), 6);
    assert!(inserts[1..5].iter().all(|change| change.batch == inserts[1].batch));
    for within in &inserts[1..5] {
        assert_eq!(puts(within.number), 5);
    }
    assert_eq!(puts(inserts[1].batch), 5);
    assert_eq!(puts(inserts[1].batch + 1), 1);
    assert_eq!(puts(inserts[0].number), 6);
}

#[test]
fn tokens_of_other_places_are_refused() {
    let (_, env) = env_of(MemFs::new());
    let db = open(&env);
    let pets = db.collection("pets");
    let token = pets.watch().run().unwrap().token();
    let other = Database::in_memory().unwrap();
    other.record_changes(ChangeScope::Everything).unwrap();
    assert_eq!(code(other.collection("pets").watch().resume_after(token).run()), 286);
    assert_eq!(code(db.collection("toys").watch().resume_after(token).run()), 286, "toys are not recorded");
    let later = ResumeToken { number: token.number + 1000, ..token };
    assert!(matches!(pets.watch().resume_after(later).run(), Err(Error::ChangesLost { .. })));
    let before = ResumeToken { number: 0, ..token };
    assert!(matches!(pets.watch().resume_after(before).run(), Err(Error::ChangesLost { .. })));
    let text = token.to_string();
    for wrong in ["", "82", "x", &text[2..], &text.replace("82", "81"), &format!("{text}00"), &"ü".repeat(30)] {
        assert_eq!(wrong.parse::<ResumeToken>().unwrap_err().code().0, 9, "{wrong}");
    }
    for wrong in [doc! {}, doc! {"_data": 1}, doc! {"data": "82"}] {
        assert_eq!(ResumeToken::parse(&wrong).unwrap_err().code().0, 40647);
    }
    assert_eq!(text.to_lowercase().parse::<ResumeToken>().unwrap(), token);
    assert!(matches!(db.collection("a\0b").watch().run(), Err(Error::InvalidName(_))));
}

#[test]
fn a_restored_checkpoint_refuses_the_tokens_of_its_database() {
    let (_, env) = env_of(MemFs::new());
    let db = open(&env);
    let pets = db.collection("pets");
    let begin = pets.watch().run().unwrap().token();
    pets.put(1, doc! {"n": 1}).unwrap();
    db.checkpoint("copy").run().unwrap();
    alluvium::backup::restore("copy", "restored").env(env.clone()).run().unwrap();
    let options = Options { memory_bytes: 8 << 20, background: false, ..Options::default() };
    let restored = Database::builder().env(env.clone()).options(options).open("restored").unwrap();
    // Both write other changes under the same numbers.
    let of_restored = restored.collection("pets");
    for pets in [&pets, &of_restored] {
        pets.put(2, doc! {"n": 2}).unwrap();
    }
    assert_eq!(code(of_restored.watch().resume_after(begin).run()), 286);
    let own = ResumeToken { database: restored.store().database_id(), ..begin };
    assert_eq!(operations(of_restored.watch().resume_after(own).run().unwrap()), ["insert", "insert"]);
    assert_eq!(operations(pets.watch().resume_after(begin).run().unwrap()), ["insert", "insert"]);
}

#[test]
fn the_end_of_a_collection_is_known_without_its_change() {
    let clock = Arc::new(ManualClock::new());
    let env = Env { fs: Arc::new(MemFs::new()), clock: clock.clone(), rng: Arc::new(SeededRng::new(3)) };
    let hour = std::time::Duration::from_secs(3600);
    let retention = ChangeRetention { time: hour, ..ChangeRetention::default() };
    let options = Options { memory_bytes: 8 << 20, background: false, ..Options::default() };
    let db = Database::builder().env(env).options(options).change_retention(retention).open("db").unwrap();
    db.record_changes(ChangeScope::Everything).unwrap();
    let pets = db.collection("pets");
    let mut stream = pets.watch().run().unwrap();
    pets.put(1, doc! {"n": 1}).unwrap();
    db.drop_collection("pets").unwrap();
    assert_eq!(operation(&stream.next_event().unwrap().unwrap()), "insert");
    assert_eq!(operation(&stream.next_event().unwrap().unwrap()), "drop");
    clock.advance(3 * hour);
    db.trim_changes().unwrap();
    pets.put(2, doc! {"n": 2}).unwrap();
    assert_eq!(operations(pets.watch().resume_after(stream.token()).run().unwrap()), ["invalidate"]);
}

#[test]
fn changes_of_other_collections_are_passed_over() {
    let db = Database::in_memory().unwrap();
    db.record_changes(ChangeScope::Everything).unwrap();
    let (pets, others) = (db.collection("pets"), db.collection("others"));
    pets.put(0, doc! {"n": 0}).unwrap();
    let mut stream = pets.watch().from_number(0).run().err().map_or_else(
        || panic!("before the recording"),
        |_| {
            let begin = db.recorded()[0].since;
            pets.watch().from_number(begin + 1).run().unwrap()
        },
    );
    assert_eq!(operation(&stream.next_event().unwrap().unwrap()), "insert");
    for id in 0..40 {
        others.put(id, doc! {"text": "x".repeat(100 << 10)}).unwrap();
    }
    pets.put(1, doc! {"n": 1}).unwrap();
    let scope = ChangeScope::Collection(alluvium::FullName::parse("main.pets").unwrap());
    assert_eq!(db.changes(&scope, None).unwrap().count(), 3, "a creation and two inserts");
    let event = stream.next_within(std::time::Duration::MAX).unwrap().unwrap();
    assert_eq!(operation(&event), "insert");
}

#[test]
fn stages_that_enlarge_events_do_not_fill_the_memory() {
    let db = Database::in_memory().unwrap();
    let pets = db.collection("pets");
    let parts = vec![r#""$fullDocument.text""#; 20].join(",");
    let stages = format!(r#"[{{"$addFields": {{"long": {{"$concat": [{parts}]}}}}}}]"#);
    let mut stream = pets.watch().pipeline(stages.as_str()).run().unwrap();
    for id in 0..40 {
        pets.put(id, doc! {"text": "x".repeat(100 << 10)}).unwrap();
    }
    for id in 0..40 {
        let event = stream.next_event().unwrap().unwrap();
        assert_eq!(event.get("documentKey"), Some(&doc! {"_id": id}.into()));
        assert_eq!(token_of(&event).kind, TokenKind::Event);
        assert!(stream.bytes_ahead() < 40 << 20, "{} bytes", stream.bytes_ahead());
        let next = pets.watch().resume_after(stream.token()).run().unwrap().count();
        assert_eq!(next, 39 - id as usize);
    }
}
