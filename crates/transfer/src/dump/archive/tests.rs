use super::super::read;
use super::*;
use crate::testing::{all, database_in};
use alluvium_document::json;
use std::io::Write;

fn document(text: &str) -> Vec<u8> {
    let Ok(Value::Map(map)) = json::parse(text.as_bytes()) else { panic!("{text}") };
    let mut bytes = Vec::new();
    bson::encode_document(&map, &mut bytes).unwrap();
    bytes
}

fn block(documents: &[&str]) -> Vec<u8> {
    let mut bytes: Vec<u8> = documents.iter().flat_map(|text| document(text)).collect();
    bytes.extend_from_slice(&TERMINATOR);
    bytes
}

/// The last block of a collection with these documents.
fn end(name: &str, documents: &[&str]) -> Vec<u8> {
    let mut crc = Crc64::default();
    documents.iter().for_each(|text| crc.add(&document(text)));
    let (db, collection) = name.split_once('.').unwrap();
    let crc = crc.value().cast_signed();
    block(&[&format!(r#"{{"db":"{db}","collection":"{collection}","EOF":true,"CRC":{crc}}}"#)])
}

/// An archive as mongodump 100.x writes it (mongo-tools, common/archive: archive.go, prelude.go, multiplexer.go).
fn archive() -> Vec<u8> {
    let metadata = r#"{\"options\":{},\"indexes\":[{\"v\":1,\"key\":{\"_id\":1},\"name\":\"_id_\"},{\"v\":1,\"key\":{\"a\":true},\"name\":\"a_1\",\"safe\":null}]}"#;
    let pets = format!(r#"{{"db":"shop","collection":"pets","metadata":"{metadata}","size":0,"type":"collection"}}"#);
    let orders = r#"{"db":"shop","collection":"orders","metadata":"","size":0,"type":"collection"}"#;
    let buckets = r#"{"db":"shop","collection":"weather","metadata":"{}","size":0,"type":"timeseries"}"#;
    let header = |name: &str| format!(r#"{{"db":"shop","collection":"{name}","EOF":false,"CRC":0}}"#);
    [
        MAGIC.to_vec(),
        block(&[r#"{"concurrent_collections":4,"version":"0.1"}"#, &pets, orders, buckets]),
        block(&[&header("pets"), r#"{"_id":1,"a":1}"#, r#"{"_id":2}"#]),
        block(&[&header("orders"), r#"{"_id":7}"#]),
        block(&[&header("system.buckets.weather"), r#"{"_id":1}"#]),
        block(&[&header("pets"), r#"{"_id":3}"#]),
        end("shop.pets", &[r#"{"_id":1,"a":1}"#, r#"{"_id":2}"#, r#"{"_id":3}"#]),
        end("shop.orders", &[r#"{"_id":7}"#]),
        end("shop.system.buckets.weather", &[r#"{"_id":1}"#]),
    ]
    .concat()
}

fn write(env: &Env, path: &str, bytes: &[u8]) {
    let file = env.fs.open(Path::new(path), OpenMode::CreateNew).unwrap();
    file.write_at(bytes, 0).unwrap();
}

#[test]
fn an_archive_is_restored_plain_and_compressed() {
    for packing in [Packing::Plain, Packing::Gzip, Packing::Zstd] {
        let env = Env::in_memory(1);
        let mut packer = packing.writer(Vec::new()).unwrap();
        packer.write_all(&archive()).unwrap();
        write(&env, "dump.archive", &packer.finish().unwrap());
        let dump = read(&env, Path::new("dump.archive")).unwrap();
        let names: Vec<&str> = dump.collections.iter().map(|dumped| dumped.name.as_str()).collect();
        assert_eq!(names, ["shop.orders", "shop.pets"]);
        assert_eq!(dump.skipped.len(), 1, "{:?}", dump.skipped);
        let engine = database_in(env.clone(), "db");
        let report = dump.restore(&engine).run().unwrap();
        assert_eq!(report.collections[1].indexes, ["a_1"]);
        assert_eq!(all(&engine, "shop.pets"), [r#"{"_id":1,"a":1}"#, r#"{"_id":2}"#, r#"{"_id":3}"#]);
        assert_eq!(all(&engine, "shop.orders"), [r#"{"_id":7}"#]);
        assert!(dump.restore(&engine).check().is_err(), "it was restored before");
    }
}

#[test]
fn large_sections_are_read_in_parts() {
    let long = "x".repeat(300_000);
    let mut bytes = [MAGIC.to_vec(), block(&[r#"{"version":"0.1"}"#])].concat();
    for n in 0..6 {
        for name in ["a", "b"] {
            let header = format!(r#"{{"db":"d","collection":"{name}","EOF":false,"CRC":0}}"#);
            bytes.extend(block(&[&header, &format!(r#"{{"_id":{n},"t":"{long}"}}"#)]));
        }
    }
    for name in ["a", "b"] {
        let documents: Vec<String> = (0..6).map(|n| format!(r#"{{"_id":{n},"t":"{long}"}}"#)).collect();
        bytes.extend(end(&format!("d.{name}"), &documents.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    for packing in [Packing::Plain, Packing::Gzip] {
        let env = Env::in_memory(1);
        let mut packer = packing.writer(Vec::new()).unwrap();
        packer.write_all(&bytes).unwrap();
        write(&env, "a", &packer.finish().unwrap());
        let engine = database_in(env.clone(), "db");
        read(&env, Path::new("a")).unwrap().restore(&engine).run().unwrap();
        for name in ["d.a", "d.b"] {
            assert_eq!(all(&engine, name).len(), 6, "{name}");
        }
        // A resumed load skips the documents that are loaded already.
        let archive = Archive::read(&env, Path::new("a")).unwrap().unwrap();
        let mut source = archive.entries[1].section.input(&env, Path::new("a"), "d.b").unwrap().source;
        source.skip(archive.entries[1].section.bytes() - 10).unwrap();
        let mut rest = Vec::new();
        source.read_to_end(&mut rest).unwrap();
        assert_eq!(rest.len(), 10);
    }
}

#[test]
fn cut_and_damaged_archives_are_refused() {
    let whole = archive();
    for cut in 5..whole.len() - 1 {
        let env = Env::in_memory(1);
        write(&env, "a", &whole[..cut]);
        let error = read(&env, Path::new("a")).unwrap_err().to_string();
        assert!(error.contains("it ends") && !error.contains("whole buffer"), "{cut}: {error}");
    }
    let env = Env::in_memory(1);
    write(&env, "b", b"not an archive");
    let error = read(&env, Path::new("b")).unwrap_err().to_string();
    assert!(error.contains("is a file"), "{error}");
}

/// mongo-tools 100.13, common/archive/demultiplexer.go: "CRC mismatch for namespace".
#[test]
fn a_changed_byte_of_a_document_names_its_collection() {
    let whole = archive();
    let prelude = whole.windows(4).position(|bytes| bytes == TERMINATOR).unwrap();
    let changed_at = |at: usize| {
        let env = Env::in_memory(1);
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        write(&env, "a", &bytes);
        let archive = Archive::read(&env, Path::new("a")).map_err(|error| error.to_string())?;
        let entries = archive.map(|archive| archive.entries).unwrap_or_default();
        Ok::<_, String>(entries.into_iter().map(|entry| (entry.collection, entry.section)).collect::<Vec<_>>())
    };
    // The `_id` of the only order.
    let order = whole.windows(6).position(|bytes| bytes == b"\x10_id\0\x07").unwrap();
    let error = changed_at(order + 5).unwrap_err();
    assert!(error.contains("in shop.orders: the checksum of its documents is"), "{error}");
    // Any changed byte gives an error or leaves the documents unchanged: a checksum is used only in the last block of a
    // collection, so changes of other checksums have no effect.
    let env = Env::in_memory(1);
    write(&env, "a", &whole);
    let sections = Archive::read(&env, Path::new("a")).unwrap().unwrap().entries;
    let expected: Vec<_> = sections.into_iter().map(|entry| (entry.collection, entry.section)).collect();
    for at in prelude + 4..whole.len() {
        let found = changed_at(at);
        assert!(found.is_err() || found == Ok(expected.clone()), "byte {at}: {found:?}");
    }
}
