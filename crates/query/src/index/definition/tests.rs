use super::*;
use alluvium_document::json;

fn map(text: &str) -> Map {
    let Value::Map(map) = json::parse(text.replace('\'', "\"").as_bytes()).unwrap() else { panic!("a map") };
    map
}

#[test]
fn what_is_defined_is_shown_and_read_back() {
    let cases = [
        ("{'a':1}", "{}", "{'v':2,'key':{'a':1},'name':'a_1'}"),
        (
            "{'a.b':-3.5,'c':'hashed','d':7}",
            "{'name':'mine','v':2,'background':true}",
            "{'v':2,'key':{'a.b':-1,'c':'hashed','d':1},'name':'mine','background':true}",
        ),
        ("{'a.$id':1,'a.$db.b':1}", "{}", "{'v':2,'key':{'a.$id':1,'a.$db.b':1},'name':'a.$id_1_a.$db.b_1'}"),
        ("{'a':1}", "{'unique':1,'sparse':false}", "{'v':2,'key':{'a':1},'name':'a_1','unique':true}"),
        ("{'a':1}", "{'hidden':true}", "{'v':2,'key':{'a':1},'name':'a_1','hidden':true}"),
        (
            "{'a':1}",
            "{'expireAfterSeconds':60,'sparse':true}",
            "{'v':2,'key':{'a':1},'name':'a_1','sparse':true,'expireAfterSeconds':60}",
        ),
        (
            "{'a':1}",
            "{'partialFilterExpression':{'b':{'$gt':5}}}",
            "{'v':2,'key':{'a':1},'name':'a_1','partialFilterExpression':{'b':{'$gt':5}}}",
        ),
    ];
    for (keys, options, shown) in cases {
        let index = Definition::parse(&map(keys), &map(options)).unwrap();
        let mut expected = map(shown);
        if let Some(seconds) = expected.get_mut("expireAfterSeconds") {
            *seconds = Value::Int64(60);
        }
        assert_eq!(index.to_map(), expected);
        assert_eq!(Definition::from_map(&index.to_map()).unwrap(), index);
    }
}

#[test]
fn what_is_no_index_is_refused() {
    let cases = [
        ("{}", "{}", 67),
        ("{'a':0}", "{}", 67),
        ("{'a':true}", "{}", 67),
        ("{'a':'text'}", "{}", 67),
        ("{'a':'2dsphere'}", "{}", 67),
        ("{'':1}", "{}", 67),
        ("{'a..b':1}", "{}", 67),
        ("{'$a':1}", "{}", 67),
        ("{'$id':1}", "{}", 67),
        ("{'$ref.a':1}", "{}", 67),
        ("{'a.$x':1}", "{}", 67),
        ("{'a.$**':1}", "{}", 67),
        ("{'_id':1}", "{}", 67),
        ("{'_id':-1}", "{}", 2),
        ("{'_id':-1.0}", "{'name':'back'}", 2),
        ("{'a':'hashed','b':'hashed'}", "{}", 31303),
        ("{'a':'hashed'}", "{'unique':true}", 16764),
        ("{'a':1,'b':'hashed'}", "{'unique':true}", 16764),
        ("{'a':1}", "{'name':''}", 67),
        ("{'a':1}", "{'name':'*'}", 2),
        ("{'a':1}", "{'name':'_id_'}", 2),
        ("{'a':1}", "{'name':5}", 14),
        ("{'a':1}", "{'unique':'yes'}", 14),
        ("{'a':1}", "{'expireAfterSeconds':'1'}", 67),
        ("{'a':1}", "{'expireAfterSeconds':-1}", 67),
        ("{'a':1}", "{'expireAfterSeconds':1e10}", 67),
        ("{'a':1,'b':1}", "{'expireAfterSeconds':1}", 67),
        ("{'a':1}", "{'partialFilterExpression':1}", 14),
        ("{'a':1}", "{'partialFilterExpression':{},'sparse':true}", 67),
        ("{'a':1}", "{'partialFilterExpression':{'b':{'$foo':1}}}", 2),
        ("{'a':1}", "{'partialFilterExpression':{'b':{'$ne':1}}}", 67),
        ("{'a':1}", "{'partialFilterExpression':{'$or':[{'b':{'$exists':false}}]}}", 67),
        ("{'a':1}", "{'partialFilterExpression':{'$foo':1}}", 2),
        ("{'a':1}", "{'partialFilterExpression':{'b':{'$regex':'('}}}", 51091),
        ("{'a':1}", "{'partialFilterExpression':{'b':{'$type':[]}}}", 9),
        ("{'a':1}", "{'partialFilterExpression':{'b':{'$where':1}}}", 238),
        ("{'a':1}", "{'collation':'de'}", 14),
        ("{'a':1}", "{'collation':{'locale':'xx'}}", 2),
        ("{'a':1}", "{'collation':{'locale':'de','level':1}}", 40415),
        ("{'a':1}", "{'storageEngine':{}}", 67),
        ("{'a':1}", "{'expires':1}", 197),
        ("{'a':1}", "{'Unique':true}", 197),
    ];
    for (keys, options, code) in cases {
        let error = Definition::parse(&map(keys), &map(options)).unwrap_err();
        assert_eq!(error.code().number(), code, "{keys} {options}: {error}");
        assert!(!error.to_string().is_empty());
    }
    let many: Map = (0..33).map(|n| (format!("f{n}"), 1)).collect();
    assert_eq!(Definition::parse(&many, &Map::new()).unwrap_err().code().number(), 13103);
    assert!(Definition::from_map(&map("{'name':'a'}")).is_err());
}

#[test]
fn the_index_on_id_is_known_by_its_keys() {
    let on_id = |keys: &str, options: &str| {
        Definition::is_on_id(&map(keys), &map(options)).map_err(|error| error.code().number())
    };
    assert_eq!(on_id("{'_id':1}", "{}"), Ok(true));
    assert_eq!(on_id("{'_id':1.0}", "{'v':2,'name':'mine','background':true}"), Ok(true));
    for option in ["sparse", "unique", "expireAfterSeconds", "partialFilterExpression", "foo"] {
        assert_eq!(on_id("{'_id':1}", &format!("{{'{option}':true}}")), Err(197), "{option}");
    }
    assert_eq!(on_id("{'_id':1}", "{'name':5}"), Err(14));
    for keys in ["{'_id':-1}", "{'_id':'hashed'}", "{'_id':1,'a':1}", "{'a':1}"] {
        assert_eq!(on_id(keys, "{'sparse':true}"), Ok(false), "{keys}");
    }
}

/// MongoDB has not limited the length of names since its version 4.2.
#[test]
fn names_that_are_made_of_keys_may_be_long() {
    let keys = |parts: usize, len: usize| (0..parts).map(|n| (format!("{n:0len$}"), 1)).collect::<Map>();
    let index = Definition::parse(&keys(12, 22), &Map::new()).unwrap();
    assert_eq!(index.name().len(), 12 * 25 - 1);
    assert_eq!(Definition::from_map(&index.to_map()).unwrap(), index);
    let named = |len: usize| Definition::parse(&keys(1, 1), &Map::from([("name", "n".repeat(len))]));
    assert_eq!(named(MAX_NAME_BYTES).unwrap().name().len(), MAX_NAME_BYTES);
    for error in [named(MAX_NAME_BYTES + 1), Definition::parse(&keys(32, 3000), &Map::new())] {
        let error = error.unwrap_err();
        assert_eq!(error.code().number(), 67);
        assert!(error.to_string().contains("1 to 65536 bytes"), "{error}");
    }
    // If a name is given, paths may be of any length.
    assert!(Definition::parse(&keys(32, 3000), &Map::from([("name", "short")])).is_ok());
}

/// A database that already has such an index can be opened. A new index of this kind cannot be created.
#[test]
fn a_deep_filter_of_an_index_that_is_there_is_read() {
    let deep = |levels: usize| {
        let value = (0..levels - 1).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        Map::from([("key", Map::from([("a", 1)])), ("partialFilterExpression", Map::from([("b", value)]))])
    };
    let new =
        |levels: usize| Definition::from_map(&deep(levels)).map_err(|error| (error.code().number(), error.to_string()));
    assert!(new(MAX_PARTIAL_LEVELS).is_ok());
    let said =
        "the partialFilterExpression is wrong: it nests deeper than 90 levels: index more documents by a simpler one";
    assert_eq!(new(MAX_PARTIAL_LEVELS + 1).map(drop), Err((15, said.to_owned())));
    let stored = Definition::from_stored_map(&deep(MAX_PARTIAL_LEVELS + 1)).unwrap();
    assert_eq!(Definition::from_stored_map(&stored.to_map()).unwrap(), stored);
}

#[test]
fn a_collation_is_shown_and_read_back_with_its_version() {
    let index = Definition::parse(&map("{'a':1}"), &map("{'collation':{'locale':'de','strength':1}}")).unwrap();
    assert_eq!(Definition::from_stored_map(&index.to_map()).unwrap(), index);
    let simple = Definition::parse(&map("{'a':1}"), &map("{'collation':{'locale':'simple'}}")).unwrap();
    assert_eq!(simple, Definition::parse(&map("{'a':1}"), &Map::new()).unwrap());
    assert!(!simple.has_keys_of(&index));
    // A new index gets the version of this build, whatever version the definition states. An existing index keeps its
    // own version.
    let mut older = index.to_map();
    let mut collation = older.get("collation").and_then(Value::as_map).unwrap().clone();
    collation.insert("version", "57.1");
    older.insert("collation", collation);
    assert_eq!(Definition::from_map(&older).unwrap(), index);
    let error = Definition::from_stored_map(&older).unwrap_err();
    assert_eq!(error.code().number(), 161, "{error}");
}

#[test]
fn a_partial_filter_compares_by_the_collation() {
    let options = "{'partialFilterExpression':{'a':'x'},'collation':{'locale':'en','strength':2}}";
    let index = Definition::parse(&map("{'a':1}"), &map(options)).unwrap();
    assert_eq!(index.keys(&map("{'a':'X'}")).unwrap().keys.len(), 1);
    assert!(index.keys(&map("{'a':'y'}")).unwrap().keys.is_empty());
}
