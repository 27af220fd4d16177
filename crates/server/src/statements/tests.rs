use super::*;
use alluvium::doc;
use alluvium_document::bson::encode_document;

#[test]
fn long_statements_are_decoded_one_by_one() {
    let mut documents = Vec::new();
    for n in 0..10_000 {
        encode_document(&doc! {"q": {"_id": n}, "limit": 1}, &mut documents).unwrap();
    }
    let sequence = Sequence { name: "deletes".to_owned(), documents };
    let count = sequence.iter().count();
    let statements = Statements::Long(sequence, count);
    assert_eq!(statements.len(), 10_000);
}
