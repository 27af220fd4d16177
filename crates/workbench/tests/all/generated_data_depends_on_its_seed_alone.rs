//! `gen comments` and `gen keys` write the same bytes for the same arguments, both to a file and to standard output.

use crate::common::Place;

#[test]
fn generated_data_depends_on_its_seed_alone() {
    let place = Place::new();
    place.good(&["gen", "comments", "--docs", "50", "--seed", "7", "-o", "a"]);
    let piped = place.good(&["gen", "comments", "--docs", "50", "--seed", "7"]);
    assert_eq!(place.read("a"), piped);
    assert_eq!(piped.lines().count(), 50);
    assert_eq!(place.good(&["gen", "comments", "--docs", "50", "--seed", "7", "-o", "-"]), piped);
    assert_ne!(place.good(&["gen", "comments", "--docs", "50", "--seed", "8"]), piped);
    let keys = place.good(&["gen", "keys", "--keys", "20", "--value-bytes", "3"]);
    assert_eq!(keys.lines().count(), 20);
    for line in keys.lines() {
        let (key, value) = line.split_once('\t').expect("a tab");
        assert_eq!((key.len(), value.len()), (32, 6));
    }
    assert_eq!(place.good(&["gen", "keys", "--keys", "20", "--value-bytes", "3"]), keys);
}
