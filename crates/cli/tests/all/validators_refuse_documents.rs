//! `validator` sets the conditions for documents; every command that writes enforces them.

use crate::common::Place;

#[test]
fn a_validator_is_set_shown_and_dropped() {
    let place = Place::new();
    place.write("pets.jsonl", "{\"_id\":1,\"age\":3}\n{\"_id\":2,\"age\":-1}\n");
    place.good(&["load", "db", "old", "pets.jsonl"]);
    assert_eq!(place.good(&["validator", "show", "db", "old"]), "{}\n");
    place.good(&["validator", "set", "db", "pets", "{age: {$gte: 0}}", "--level", "moderate"]);
    let shown =
        "{\"validator\":{\"age\":{\"$gte\":0}},\"validationLevel\":\"moderate\",\"validationAction\":\"error\"}\n";
    assert_eq!(place.good(&["validator", "show", "db", "pets"]), shown);
    for arguments in [
        &["put", "db", "pets", "3", "{\"age\": -3}"][..],
        &["load", "db", "pets", "pets.jsonl"],
        &["update", "db", "pets", "1", "{\"$set\": {\"age\": -1}}"],
        &["aggregate", "db", "old", "{$out: 'pets'}"],
    ] {
        let ended = place.run(arguments);
        assert!(ended.code != Some(0) && ended.err.contains("validator"), "{arguments:?}: {}", ended.err);
    }
    place.good(&["validator", "drop", "db", "pets"]);
    place.good(&["put", "db", "pets", "3", "{\"age\": -3}"]);
    let error = place.bad(2, &["validator", "set", "db", "pets", "{age: {$gtt: 0}}"]);
    assert!(error.contains("$gt"), "{error}");
    assert!(place.bad(3, &["validator", "drop", "db", "nothing"]).contains("nothing"));
}
