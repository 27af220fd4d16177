use super::*;

/// A metadata file as mongodump 100.9 writes it.
const TEXT: &str = r#"{"indexes":[{"v":{"$numberInt":"2"},"key":{"_id":{"$numberInt":"1"}},"name":"_id_"},
    {"v":{"$numberInt":"2"},"key":{"author":{"$numberInt":"1"}},"name":"author_1","unique":true}],
    "uuid":"3d6c1b4f8f1d4e6f9a0c6c8f4c0f5a11","collectionName":"pets","type":"collection",
    "options":{"capped":true,"size":{"$numberInt":"4096"}}}"#;

#[test]
fn options_and_indexes_are_read() {
    let metadata = Metadata::parse(TEXT.as_bytes()).unwrap();
    assert_eq!(metadata.index_names(), ["author_1"]);
    assert_eq!(metadata.options.get("capped"), Some(&Value::Bool(true)));
    assert_eq!((metadata.collection.as_deref(), metadata.documents), (Some("pets"), None));
    let bare = Metadata::parse(b"{\"alluvium\":{\"documents\":7}}").unwrap();
    assert_eq!(bare, Metadata { documents: Some(7), ..Metadata::default() });
}

#[test]
fn an_index_without_a_name_gets_one() {
    let text = r#"{"indexes":[{"key":{"_id":1}},{"key":{"b":1,"c":-1}},{"key":{"d":"words"}}]}"#;
    let metadata = Metadata::parse(text.as_bytes()).unwrap();
    assert_eq!(metadata.index_names(), ["b_1_c_-1", "an index without a name"]);
    assert_eq!(metadata.unsupported_indexes()[0].0, "an index without a name");
}

#[test]
fn they_lie_beside_the_documents() {
    let beside = |path: &str| Metadata::beside(Path::new(path));
    assert_eq!(beside("dump/main/pets.bson"), Some("dump/main/pets.metadata.json".into()));
    assert_eq!(beside("dump/main/a.bson.b.bson.gz"), Some("dump/main/a.bson.b.metadata.json.gz".into()));
    assert_eq!(beside("pets.jsonl"), None);
}

#[test]
fn a_file_of_something_else_is_named() {
    let env = Env::in_memory(1);
    let path = Path::new("pets.metadata.json");
    assert_eq!(Metadata::read_in(&env, path).unwrap(), None);
    let file = env.fs.open(path, OpenMode::CreateNew).unwrap();
    for (text, problem) in [
        ("[]", "not of type array"),
        ("{", "line 1, column 2"),
        (r#"{"options":1}"#, "the options are no"),
        (r#"{"indexes":1}"#, "the indexes are no"),
        (r#"{"indexes":[1]}"#, "an index is no"),
    ] {
        file.set_len(0).unwrap();
        file.write_at(text.as_bytes(), 0).unwrap();
        let error = Metadata::read_in(&env, path).unwrap_err().to_string();
        assert!(error.starts_with("cannot read pets.metadata.json: ") && error.contains(problem), "{error}");
    }
}

#[test]
fn definitions_of_old_versions_are_converted() {
    // mongo-tools, common/bsonutil/indexes.go: ConvertLegacyIndexKeys and ConvertLegacyIndexOptions.
    let text = r#"{"indexes":[
        {"v":1,"key":{"a":true,"b":"","c":0,"d":-1.0},"name":"old","ns":"x.y","safe":null,"dropDups":true,"w":1,"unique":1},
        {"key":{"e":1},"name":"new"},
        {"key":{"f":"text"},"name":"other","weights":{"f":1}}]}"#;
    let metadata = Metadata::parse(text.as_bytes()).unwrap();
    assert_eq!(
        metadata.converted_indexes(),
        [(
            "old".to_owned(),
            "the order of a, the order of b, the order of c, the option safe, the option dropDups, the option w"
                .to_owned()
        )]
    );
    let old = Definition::from_map(&metadata.indexes[0]).unwrap();
    assert!(old.is_unique());
    assert_eq!(old.keys_map().to_string(), r#"{"a":1,"b":1,"c":1,"d":-1}"#);
    assert!(metadata.indexes[2].contains("weights"));
}
