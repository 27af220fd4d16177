use crate::by_filter::Action;
use crate::capped::convert;
use crate::counts;
use crate::error::Error;
use crate::limits::{CappedLimits, Limits};
use crate::read::Reader;
use crate::testing::{Collection, Database};
use alluvium_document::{IntoDocument, Map, Value};
use alluvium_env::thread::spawn;
use alluvium_query::update::Modification;
use alluvium_store::{Durability, Options};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

fn kept(c: &Collection) -> u64 {
    counts::documents(&c.engine, &c.name, Limits::default()).unwrap()
}

fn scanned(c: &Collection) -> u64 {
    Reader::new(&c.engine, &c.name, None).unwrap().count(&AtomicBool::new(false)).unwrap()
}

fn document(n: i32) -> Map {
    Map::from([("_id", Value::Int32(n)), ("n", Value::Int32(n))])
}

fn update(text: &str) -> Action {
    Action::Modify(Modification::parse(&text.into_map().unwrap(), &[]).unwrap())
}

#[test]
fn any_mix_of_writes_is_counted() {
    let db = Database::with(Options { partitions: Some(2), ..Options::default() });
    let c = db.collection("pets");
    c.create_index(r#"{"n": 1}"#, "{}");
    // Each step is repeated, so that some writes are refused, some change nothing and some find nothing.
    let steps: [&dyn Fn(i32); 8] = [
        &|n| drop(c.writer().insert(&[document(n), document(n + 1)])),
        &|n| drop(c.update(n, r#"{"$inc": {"n": 1000}}"#)),
        &|n| c.put(n, r#"{"n": 7}"#),
        &|n| drop(c.writer().delete(&Value::Int32(n + 3))),
        &|n| drop(c.write_where(&format!(r#"{{"n": {{"$lt": {n}}}}}"#), Action::Delete).all()),
        &|n| drop(c.write_where(&format!(r#"{{"n": {n}}}"#), update(r#"{"$set": {"a": 1}}"#)).one()),
        &|n| {
            let mut write = c.write_where(&format!(r#"{{"_id": {}}}"#, n + 40), update(r#"{"$set": {"a": 1}}"#));
            write.upsert = true;
            drop(write.one());
        },
        &|_| db.flush(),
    ];
    let mut random = 7_u64;
    for _ in 0..600 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let n = (random >> 33) as i32 % 60;
        steps[(random >> 48) as usize % steps.len()](n);
        assert_eq!(kept(&c), scanned(&c));
    }
}

#[test]
fn updates_and_checked_writes_need_no_scan() {
    let db = Database::with(Options { partitions: Some(2), ..Options::default() });
    let c = db.collection("pets");
    c.insert((0..1000).map(document));
    assert_eq!(kept(&c), 1000);
    let known = || {
        let known = c.state().count.state.lock().known.unwrap();
        (known.documents, known.uncertain)
    };
    for n in 0..1000 {
        c.update(n, r#"{"$inc": {"n": 1}}"#);
    }
    c.write_where("{}", update(r#"{"$set": {"x": "longer than before"}}"#)).all().unwrap();
    assert_eq!(known(), (1000, 0));
    c.write_where(r#"{"_id": {"$lt": 10}}"#, Action::Delete).all().unwrap();
    c.insert((2000..2005).map(document));
    assert!(c.writer().insert(&[document(3000), document(2000)]).is_err());
    assert_eq!(known(), (995, 0));
    c.put(5000, "{}");
    assert_eq!(known(), (995, 1));
    assert_eq!((kept(&c), known()), (996, (996, 0)));
}

#[test]
fn a_capped_collection_has_its_number() {
    let db = Database::with(Options { partitions: Some(2), ..Options::default() });
    let c = db.collection("log");
    c.insert((0..50).map(document));
    let capped = CappedLimits { size_bytes: 1 << 20, documents: Some(20) };
    convert(&c.engine, &c.name, capped, Durability::Periodic, Limits::default()).unwrap();
    assert_eq!(kept(&c), scanned(&c));
    c.insert((100..130).map(document));
    assert_eq!((kept(&c), scanned(&c)), (20, 20));
}

#[test]
fn writers_beside_the_first_count_are_counted() {
    for _ in 0..20 {
        let db = Database::with(Options { partitions: Some(2), ..Options::default() });
        let c = db.collection("pets");
        c.insert((0..500).map(document));
        let stop = Arc::new(AtomicBool::new(false));
        let write = |thread: i32| {
            let (c, stop) = (c.clone(), stop.clone());
            spawn("writer", move || {
                let mut n = 0;
                while !stop.load(Relaxed) && n < 10_000 {
                    c.insert([document(thread * 100_000 + n)]);
                    n += 1;
                }
            })
        };
        let writers: Vec<_> = (1..4).map(write).collect();
        kept(&c);
        stop.store(true, Relaxed);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!(kept(&c), scanned(&c));
        assert_eq!(c.state().count.state.lock().known.unwrap().uncertain, 0);
    }
}

#[test]
fn a_count_ends_at_its_limits_and_a_later_one_is_exact() {
    let db = Database::with(Options { partitions: Some(2), ..Options::default() });
    let c = db.collection("pets");
    c.writer().insert(&(0..500).map(document).collect::<Vec<_>>()).unwrap();
    let mut stopped = Limits::default();
    stopped.stop = Some(Arc::new(AtomicBool::new(true)));
    let error = counts::documents(&c.engine, &c.name, stopped).unwrap_err();
    assert!(matches!(error, Error::Stopped), "{error:?}");
    // Writes after the snapshot are noted, and not counted twice.
    c.put(1000, r#"{"n": 1}"#);
    c.writer().insert(&[document(2000)]).unwrap();
    assert_eq!((kept(&c), scanned(&c)), (502, 502));
    c.writer().insert(&[document(2001)]).unwrap();
    assert_eq!(kept(&c), 503);
}
