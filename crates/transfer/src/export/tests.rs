use super::*;
use crate::load;
use crate::testing::{cursor, database, load as load_into, maps, text};

const LINES: &str = concat!(
    "{\"_id\":1,\"a\":{\"$numberLong\":\"5\"},\"b\":[1.5,null,{\"c\":\"x\"}]}\n",
    "{\"_id\":\"two\",\"at\":{\"$date\":\"2026-01-02T03:04:05Z\"},\"text\":\"a \\\"quote\\\", and\\nlines\"}\n",
    "{\"_id\":{\"$oid\":\"0123456789abcdef01234567\"},\"z\":true,\"a\":{\"$numberDecimal\":\"1.10\"}}\n",
);

fn export(mut encoder: Encoder, engine: &alluvium_collections::engine::EngineHandle) -> Vec<u8> {
    let mut out = Vec::new();
    encoder.begin(&mut out).unwrap();
    let mut documents = cursor(engine, "pets");
    while encoder.write_next(&mut documents, &mut out).unwrap() {}
    encoder.end(&mut out);
    assert_eq!(encoder.documents(), 3);
    out
}

#[test]
fn what_is_exported_is_loaded_as_it_was() {
    let engine = database();
    load_into(&engine, "pets", text(LINES)).run().unwrap();
    for (format, loaded_as) in [
        (Format::JsonLines, load::Format::JsonLines),
        (Format::JsonArray, load::Format::JsonArray),
        (Format::Bson, load::Format::Bson),
    ] {
        let out = export(Encoder::new(format.clone()).canonical(true), &engine);
        let other = database();
        let input = load::Input::stream("export", std::io::Cursor::new(out));
        load_into(&other, "pets", input).format(loaded_as).run().unwrap();
        assert_eq!(maps(&other, "pets"), maps(&engine, "pets"), "{format:?}");
    }
}

#[test]
fn chosen_fields_are_columns() {
    let engine = database();
    load_into(&engine, "pets", text(LINES)).run().unwrap();
    let out = export(Encoder::new(Format::Csv { separator: b',' }).fields(["_id", "text", "z"]), &engine);
    let text = String::from_utf8(out).unwrap();
    assert!(text.starts_with("_id,text,z\n1,,\n"), "{text}");
    assert!(text.contains("\"a \"\"quote\"\", and\nlines\""), "{text}");
}
