use super::*;
use alluvium_document::json;

fn map(text: &str) -> Map {
    let Value::Map(map) = json::parse(text.replace('\'', "\"").as_bytes()).unwrap() else { panic!("a map") };
    map
}

#[test]
fn definitions_are_listed_as_mongodb_lists_them() {
    // The definitions in the form in which MongoDB 8.0's `listIndexes` returns them (manual: "Text Index Properties",
    // "Geospatial Index Versions").
    let text = "'default_language':'english','language_override':'language','textIndexVersion':3}";
    let cases = [
        (
            "{'title':'text'}",
            "{}",
            format!("{{'v':2,'key':{{'_fts':'text','_ftsx':1}},'name':'title_text','weights':{{'title':1}},{text}"),
        ),
        (
            "{'a':1,'title':'text','body':'text','b':-1}",
            "{'name':'x','weights':{'body':5}}",
            format!(
                "{{'v':2,'key':{{'a':1,'_fts':'text','_ftsx':1,'b':-1}},'name':'x','weights':{{'body':5,'title':1}},{text}"
            ),
        ),
        (
            "{'_fts':'text','_ftsx':1}",
            "{'name':'x','weights':{'t':1}}",
            format!("{{'v':2,'key':{{'_fts':'text','_ftsx':1}},'name':'x','weights':{{'t':1}},{text}"),
        ),
        (
            "{'place':'2dsphere','a':1}",
            "{'background':true}",
            "{'v':2,'key':{'place':'2dsphere','a':1},'name':'place_2dsphere_a_1','background':true,\
             '2dsphereIndexVersion':3}"
                .to_owned(),
        ),
        ("{'p':'2d'}", "{'min':-10,'unique':false}", "{'v':2,'key':{'p':'2d'},'name':'p_2d','min':-10}".to_owned()),
        ("{'a.$**':1}", "{}", "{'v':2,'key':{'a.$**':1},'name':'a.$**_1'}".to_owned()),
    ];
    for (keys, options, expected) in cases {
        assert!(Unbuilt::is_kind_of(&map(keys)), "{keys}");
        let index = Unbuilt::parse(&map(keys), &map(options)).unwrap();
        assert_eq!(index.to_map(), map(&expected), "{keys} {options}");
        let again = Unbuilt::from_map(&index.to_map()).unwrap();
        assert!(again.is_same(&index), "{} is not {}", again.to_map(), index.to_map());
    }
    assert!(!Unbuilt::is_kind_of(&map("{'a':1,'b':'hashed'}")));
}

#[test]
fn what_cannot_be_promised_is_refused() {
    for (keys, options) in [
        ("{'title':'text'}", "{'unique':true}"),
        ("{'title':'text'}", "{'colour':1}"),
        ("{'title':'text','a':'geoHaystack'}", "{}"),
        ("{'title':'text','a':0}", "{}"),
        ("{'title':'text'}", "{'name':''}"),
        ("{'title':'text'}", "{'weights':3}"),
        ("{'title':'text'}", "{'partialFilterExpression':{'a':{'$nonsense':1}}}"),
        ("{'_fts':'text','_ftsx':1}", "{}"),
    ] {
        assert!(Unbuilt::parse(&map(keys), &map(options)).is_err(), "{keys} {options}");
    }
}
