use super::*;

#[test]
fn equal_elements_keep_their_order() {
    for len in [0, 1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 7, 50_000] {
        let mut elements: Vec<(u64, usize)> = (0..len).map(|at| ((at as u64 * 7919) % 1000, at)).collect();
        let mut expected = elements.clone();
        expected.sort_by_key(|(key, _)| *key);
        sort_by(&mut elements, |a, b| a.0.cmp(&b.0), &mut Work::default()).unwrap();
        assert_eq!(elements, expected);
    }
}
