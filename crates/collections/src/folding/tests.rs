use super::*;
use alluvium_document::Value;
use alluvium_document::shape::ShapeOptions;

#[test]
fn a_row_whose_shape_is_lost_is_damaged_and_not_one_to_wait_for() {
    let folds = Folds::default();
    let key = alluvium_document::key::id_key(&Value::from(1)).unwrap();
    let fold = |tree| folds.fold(tree, &key, b"\x09", &[], &mut Vec::new());
    // Before the shapes are read, the row cannot be decoded.
    assert_eq!(fold(TreeId(1)).unwrap(), None);
    let shapes = Arc::new(ShapeTable::new(ShapeOptions::default()));
    folds.learn(TreeId(1), &shapes);
    let error = fold(TreeId(1)).unwrap_err();
    assert!(error.to_string().contains("shape 9"), "{error}");
}

#[test]
fn the_shapes_of_removed_trees_take_no_memory() {
    let folds = Folds::default();
    let shapes = || Arc::new(ShapeTable::new(ShapeOptions::default()));
    let kept = shapes();
    folds.learn(TreeId(1), &kept);
    for tree in 2..10_000 {
        folds.learn(TreeId(tree), &shapes());
        folds.forget_removed(|tree| tree == TreeId(1));
    }
    assert!(folds.known.read().shapes.len() <= 2 + SWEEP_MIN);
    assert!(Arc::ptr_eq(&folds.known(TreeId(1)).unwrap(), &kept) && folds.known(TreeId(2)).is_none());
}
