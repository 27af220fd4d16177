use super::*;
use std::collections::BTreeMap;

#[test]
fn numbers_of_trees_only_rise() {
    let mut notes = Superseded::default();
    let mut model: BTreeMap<u32, Seq> = BTreeMap::new();
    assert!(notes.is_empty());
    notes.note(7, 0);
    assert!(notes.is_empty(), "number 0 says nothing");
    for step in 0..500u64 {
        let (tree, seq) = ((step * 7919 % 11) as u32, step * 104_729 % 97 + 1);
        notes.note(tree, seq);
        let most = model.entry(tree).or_default();
        *most = seq.max(*most);
        assert_eq!(notes.of(tree), *most);
    }
    assert_eq!(notes.iter().collect::<Vec<_>>(), model.into_iter().collect::<Vec<_>>());
    assert_eq!(notes.of(11), 0);
    let mut joined = Superseded::default();
    joined.note(3, 1_000);
    joined.note(20, 5);
    joined.join(&notes);
    assert_eq!((joined.of(3), joined.of(20), joined.of(4)), (1_000, 5, notes.of(4)));
}
