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
    folds.learn(TreeId(1), &Arc::new(ShapeTable::new(ShapeOptions::default())));
    let error = fold(TreeId(1)).unwrap_err();
    assert!(error.to_string().contains("shape 9"), "{error}");
}
