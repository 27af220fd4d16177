//! `view create` and `view list`; every command that reads works on a view, and every command that writes refuses it.

use crate::common::Place;

#[test]
fn a_view_is_created_listed_read_and_dropped() {
    let place = Place::new();
    place.write("pets.jsonl", "{\"_id\":1,\"age\":3,\"kind\":\"dog\"}\n{\"_id\":2,\"age\":9,\"kind\":\"cat\"}\n");
    place.good(&["load", "db", "pets", "pets.jsonl"]);
    place.good(&["view", "create", "db", "old", "--on", "pets", "{$match: {age: {$gt: 5}}}"]);
    let listed = "{\"name\":\"main.old\",\"viewOn\":\"pets\",\"pipeline\":[{\"$match\":{\"age\":{\"$gt\":5}}}]}\n";
    assert_eq!(place.good(&["view", "list", "db"]), listed);
    assert_eq!(place.good(&["collections", "db"]), "main.pets\n");
    let shown = place.run(&["collections", "db", "--format", "table"]);
    assert!(shown.out.contains("main.pets") && shown.err.contains("1 view beside them"), "{}{}", shown.out, shown.err);
    assert_eq!(place.good(&["find", "db", "old", "{}"]), "{\"_id\":2,\"age\":9,\"kind\":\"cat\"}\n");
    assert_eq!(place.good(&["count", "db", "old", "{}"]), "1\n");
    assert_eq!(place.good(&["count", "db", "old"]), "1\n");
    assert_eq!(place.good(&["count", "db", "old", "--by", "kind", "--format", "csv"]), "kind,count\ncat,1\n");
    assert_eq!(place.good(&["distinct", "db", "old", "kind"]), "\"cat\"\n");
    assert_eq!(place.good(&["aggregate", "db", "old", "{$count: 'n'}"]), "{\"n\":1}\n");
    assert_eq!(place.good(&["export", "db", "old", "--where", "{}"]), "{\"_id\":2,\"age\":9,\"kind\":\"cat\"}\n");
    for arguments in
        [&["put", "db", "old", "3", "{}"][..], &["load", "db", "old", "pets.jsonl"], &["get", "db", "old", "2"]]
    {
        let ended = place.run(arguments);
        assert!(ended.code != Some(0) && ended.err.contains("is a view"), "{arguments:?}: {}", ended.err);
    }
    place.good(&["drop", "db", "old", "--yes"]);
    assert_eq!(place.good(&["view", "list", "db"]), "");
    assert!(place.bad(2, &["view", "create", "db", "x", "--on", "pets", "{$grup: 1}"]).contains("did you mean $group"));
}
