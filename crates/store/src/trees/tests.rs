use super::*;

#[test]
fn a_dropped_tree_is_remembered_until_its_keys_may_go() {
    let trees = Trees::new();
    for round in 1..=100u64 {
        let id = trees.allocate(1).unwrap()[0];
        assert!(!trees.keeps_keys(id.0), "it is not made yet");
        trees.change(&SchemaChange { create: vec![(id, vec![1])], ..SchemaChange::default() }, 10 * round);
        assert!(trees.keeps_keys(id.0) && trees.check_readable(id, 10 * round).is_ok());
        trees.change(&SchemaChange { drop: vec![id], ..SchemaChange::default() }, 10 * round + 5);
        assert!(trees.keeps_keys(id.0), "a snapshot may be older");
        assert!(trees.check_readable(id, 10 * round + 4).is_ok() && trees.check_readable(id, 10 * round + 5).is_err());
        assert!(trees.are_drops_pending());
        assert_eq!((trees.dropped_up_to(10 * round + 4), trees.dropped_after(10 * round + 4)), (vec![], vec![id]));
        assert_eq!((trees.dropped_up_to(10 * round + 5), trees.dropped_after(10 * round + 5)), (vec![id], vec![]));
        trees.forget(&[id]);
        assert!(!trees.are_drops_pending());
        assert!(!trees.keeps_keys(id.0) && trees.check_readable(id, 10 * round + 4).is_err());
        let registry = trees.registry.read();
        assert!(registry.dropped.is_empty() && registry.drops.is_empty() && registry.live.is_empty());
    }
    assert!(trees.keeps_keys(0) && trees.keeps_keys(101), "one that is being made");
}
