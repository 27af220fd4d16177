use super::Index;
use alluvium_store::TreeId;

/// An index that is being built over the documents of tree 3. Partitions 0 and 2 are complete; partition 1 is built up
/// to the key `0x05`. `docs/format/index.md` explains the bytes.
const BEING_BUILT: &str = "0403000102000239177624376b657919176114476e616d6537615f31010105";

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn descriptions_are_as_the_format_says() {
    let description = bytes(BEING_BUILT);
    let (documents, index) = Index::read(TreeId(4), &description).unwrap();
    assert_eq!((documents, index.ready, &index.built[..]), (TreeId(3), None, &[0, 2][..]));
    assert_eq!(index.built_to, Some((1, vec![5])));
    let hex: String = index.describe(documents).iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(hex, BEING_BUILT);
    let mut without = index.clone();
    without.built_to = None;
    assert_eq!(without.describe(documents), &description[..description.len() - 3]);
    assert!(Index::read(TreeId(4), &without.describe(documents)).unwrap().1.built_to.is_none());
    // A cut key sets a mark beyond the 32 bits that builds of Alluvium before 2026-11-26 read, so these builds refuse
    // the index.
    index.marks.fetch_or(0b10 << 32 | 0b10, std::sync::atomic::Ordering::SeqCst);
    let marked = index.describe(documents);
    let marks = alluvium_codec::varint::get_u64(&mut &marked[3..]).unwrap();
    assert!(marks == 0x2_0000_0003 && u32::try_from(marks).is_err(), "{marks:x}");
    let again = Index::read(TreeId(4), &marked).unwrap().1;
    assert_eq!(again.marks.load(std::sync::atomic::Ordering::SeqCst), marks);
    // A description that is cut at another place, or is longer, is refused.
    for len in (1..description.len()).filter(|len| *len != description.len() - 3) {
        assert!(Index::read(TreeId(4), &description[..len]).is_none(), "{len}");
    }
    assert!(Index::read(TreeId(4), &[&description[..], &[0]].concat()).is_none());
}
