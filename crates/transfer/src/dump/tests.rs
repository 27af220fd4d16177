use super::*;
use crate::testing::{all, database_in, load, maps, text};
use alluvium_collections::indexes;
use alluvium_collections::limits::Limits;
use alluvium_collections::options::CollectionOptions;
use alluvium_document::IntoDocument;

const LINES: &str = concat!(
    "{\"_id\":1,\"a\":{\"$numberLong\":\"5\"},\"b\":[1.5,null,{\"c\":\"x\"}]}\n",
    "{\"_id\":\"two\",\"at\":{\"$date\":\"2026-01-02T03:04:05Z\"}}\n",
    "{\"_id\":{\"$oid\":\"0123456789abcdef01234567\"},\"z\":true,\"a\":{\"$numberDecimal\":\"1.10\"}}\n",
);

fn filled(env: &Env) -> EngineHandle {
    let engine = database_in(env.clone(), "db");
    load(&engine, "pets", text(LINES)).run().unwrap();
    load(&engine, "shop.orders", text("{\"_id\":7}\n")).run().unwrap();
    let name = FullName::parse("pets").unwrap();
    let (keys, options) = (r#"{"a": 1}"#.into_map().unwrap(), r#"{"unique": true}"#.into_map().unwrap());
    indexes::declare(&engine, &name, &keys, &options).unwrap().build(&engine, &name, &Limits::default()).unwrap();
    engine
}

#[test]
fn a_dump_is_restored_as_it_was() {
    for gzip in [false, true] {
        let env = Env::in_memory(1);
        let engine = filled(&env);
        let options = DumpOptions { gzip, ..DumpOptions::default() };
        let report = dump(&engine, Path::new("dump"), &options, |_, _| {}).unwrap();
        assert_eq!((report.collections, report.documents, report.indexes), (2, 4, 1));
        let other = database_in(env.clone(), "other");
        let dumped = read(&env, Path::new("dump")).unwrap();
        dumped.restore(&other).run().unwrap();
        for name in ["pets", "shop.orders"] {
            assert_eq!(maps(&other, name), maps(&engine, name), "{name}, gzip: {gzip}");
        }
        let state = other.catalog.require(&FullName::parse("pets").unwrap()).unwrap();
        assert!(state.indexes().find("a_1").is_some_and(|index| index.definition.is_unique()));
        // A second restore is refused and changes nothing.
        let refused = dumped.restore(&other).run();
        assert!(matches!(refused, Err(Error::Dump(_))), "{refused:?}");
        assert_eq!(all(&other, "pets"), all(&engine, "pets"));
    }
}

/// Common JSON parsers stop at 128 levels of nesting. Documents and the validators of collections here may have up to
/// 180.
#[test]
fn rules_of_many_levels_are_dumped_and_restored() {
    let env = Env::in_memory(1);
    let engine = database_in(env.clone(), "db");
    let rules = format!("{}{{\"a\": 1}}{}", "{\"$or\": [".repeat(80), "]}".repeat(80));
    let validator = format!("{{\"validator\": {rules}}}").into_map().unwrap();
    let options = CollectionOptions::from_map(&validator).unwrap();
    let name = FullName::parse("pets").unwrap();
    engine.catalog.create(&name, options).unwrap();
    dump(&engine, Path::new("dump"), &DumpOptions::default(), |_, _| {}).unwrap();
    let other = database_in(env.clone(), "other");
    read(&env, Path::new("dump")).unwrap().restore(&other).run().unwrap();
    let options = |engine: &EngineHandle| engine.catalog.require(&name).unwrap().indexes().options.to_map();
    assert_eq!(options(&other), options(&engine));
    assert!(options(&other).contains("validator"));
}

/// `mongorestore` creates collections with the options of their dumps; the order is Alluvium's own option.
#[test]
fn a_dump_keeps_the_options_of_collections() {
    let env = Env::in_memory(1);
    let engine = database_in(env.clone(), "db");
    let kept = r#"{"clusteredIndex": {"key": {"_id": 1}, "unique": true}, "storageEngine": {"wiredTiger": {}}}"#;
    let recorded = FullName::parse("recorded").unwrap();
    engine.catalog.create(&recorded, CollectionOptions { keeps_before: true, ..CollectionOptions::default() }).unwrap();
    let options = CollectionOptions::from_map(&kept.into_map().unwrap()).unwrap();
    let (ordered, clustered) = (FullName::parse("ordered").unwrap(), FullName::parse("clustered").unwrap());
    engine.catalog.create(&clustered, options).unwrap();
    engine.catalog.create(&ordered, CollectionOptions { natural_order: true, ..CollectionOptions::default() }).unwrap();
    for id in [10, 1, 2] {
        load(&engine, "ordered", text(format!("{{\"_id\":{id}}}\n"))).run().unwrap();
    }
    dump(&engine, Path::new("dump"), &DumpOptions::default(), |_, _| {}).unwrap();
    let other = database_in(env.clone(), "other");
    read(&env, Path::new("dump")).unwrap().restore(&other).run().unwrap();
    for name in [&ordered, &clustered, &recorded] {
        let options = |engine: &EngineHandle| engine.catalog.require(name).unwrap().indexes().options.clone();
        assert_eq!(options(&other), options(&engine), "{name}");
    }
    let snapshot = other.snapshot();
    let mut documents = Cursor::natural(&other, &ordered, &snapshot).unwrap();
    let ids: Vec<_> = std::iter::from_fn(|| documents.next()).map(|document| document.unwrap().id().as_i64()).collect();
    assert_eq!(ids, [Some(10), Some(1), Some(2)]);
}

#[test]
fn a_stopped_dump_leaves_nothing_that_looks_whole() {
    let env = Env::in_memory(1);
    let engine = filled(&env);
    let options = DumpOptions { stop: Arc::new(AtomicBool::new(true)), ..DumpOptions::default() };
    assert!(matches!(dump(&engine, Path::new("dump"), &options, |_, _| {}), Err(Error::Stopped)));
    assert!(read(&env, Path::new("dump")).is_err());
    // The next dump replaces the incomplete one.
    dump(&engine, Path::new("dump"), &DumpOptions::default(), |_, _| {}).unwrap();
    assert_eq!(read(&env, Path::new("dump")).unwrap().collections.len(), 2);
}

#[test]
fn a_stopped_restore_continues() {
    let env = Env::in_memory(1);
    let engine = filled(&env);
    dump(&engine, Path::new("dump"), &DumpOptions::default(), |_, _| {}).unwrap();
    let (other, dumped) = (database_in(env.clone(), "other"), read(&env, Path::new("dump")).unwrap());
    let stopped = dumped.restore(&other).stop_when(Arc::new(AtomicBool::new(true))).run();
    assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
    dumped.restore(&other).run().unwrap();
    assert_eq!(all(&other, "pets"), all(&engine, "pets"));
}
