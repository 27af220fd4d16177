use super::*;

fn fields() -> Fields {
    let names = ["_id", "age", "chip", "kind", "number", "size"];
    Fields { collection: "main.pets".to_owned(), names: names.map(str::to_owned).to_vec() }
}

fn notes(filter: &str) -> Vec<String> {
    let Ok(Value::Map(filter)) = crate::relaxed::parse(filter) else { panic!("{filter}") };
    fields().of_filter(&filter)
}

#[test]
fn unknown_fields_are_noted_with_the_nearest() {
    assert_eq!(notes("{kimd: 'dog'}"), ["no field kimd is known in main.pets: did you mean kind?"]);
    assert_eq!(notes("{Age: 3}"), ["no field Age is known in main.pets: did you mean age?"]);
    assert_eq!(notes("{$or: [{chip.nummer: 1}, {age: 3}]}").len(), 1);
    assert!(notes("{colour: 'red'}")[0].ends_with("which has _id, age, chip, kind, number, size"));
    assert!(notes("{chip.0.number: {$gt: 3}, kind: 'x', _id: {$in: [1]}}").is_empty());
    assert!(Fields { collection: String::new(), names: Vec::new() }.note("a").is_none());
}

#[test]
fn of_equally_similar_names_one_of_the_same_length_is_the_nearest() {
    assert_eq!(nearest("aera", ["ara", "area", "era"]), Some("area"));
    assert_eq!(nearest("kid", ["id", "kind"]), Some("id"));
}

#[test]
fn operators_without_their_dollar_sign_are_noted() {
    assert_eq!(notes("{age: {gt: 3}}"), ["gt is the name of a field here: did you mean $gt?"]);
    assert_eq!(notes("{or: [{age: 3}]}"), ["or is the name of a field here: did you mean $or?"]);
    assert!(notes("{size: 3}").is_empty(), "documents have it");
    let Ok(Value::Map(update)) = crate::relaxed::parse("{set: {a: 1}}") else { panic!() };
    assert!(update_without_dollar(&update).is_some_and(|note| note.ends_with("did you mean $set?")));
}
