#![cfg(not(feature = "shuttle"))]

use super::*;

/// The tracked number of pages, after a comparison with a new count.
fn counted(content: &Content) -> u64 {
    assert_eq!(content.pages_from(0), content.pages_in(0..u64::MAX));
    content.pages_from(0)
}

#[test]
fn a_clone_shares_pages_until_it_writes() {
    let mut a = Content::default();
    a.write(&[1; 10_000], 0);
    let mut b = a.clone();
    b.write(&[2; 10], 5_000);
    let shared = |page| match (a.page(page), b.page(page)) {
        (Some(x), Some(y)) => Arc::ptr_eq(x, y),
        _ => panic!("page {page} is missing"),
    };
    assert_eq!([shared(0), shared(1), shared(2)], [true, false, true]);
    let mut buf = [0; 20];
    a.read(&mut buf, 4_995);
    assert_eq!(buf, [1; 20]);
}

#[test]
fn cutting_drops_pages_and_zeroes_the_tail() {
    let mut content = Content::default();
    content.write(&vec![1; 600_000], 0);
    assert_eq!(counted(&content), 600_000_u64.div_ceil(PAGE));
    content.set_len(5_000);
    assert_eq!(counted(&content), 2);
    content.set_len(600_000);
    let mut buf = vec![7; 600_000];
    assert_eq!(content.read(&mut buf, 0), 600_000);
    assert!(buf[..5_000].iter().all(|byte| *byte == 1));
    assert!(buf[5_000..].iter().all(|byte| *byte == 0));
    assert_eq!(counted(&content), 2, "growing takes no pages");
}

#[test]
fn a_cut_at_the_end_of_a_leaf_keeps_the_leaf() {
    let leaf = PAGE * LEAF_PAGES as u64;
    let mut content = Content::default();
    content.write(&vec![1; leaf as usize + 1], 0);
    content.set_len(leaf);
    assert_eq!(counted(&content), LEAF_PAGES as u64);
    content.set_len(0);
    assert_eq!(counted(&content), 0);
}
