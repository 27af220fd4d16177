use super::*;
use proptest::prelude::*;

/// Writes a column and reads it back; returns its length.
fn round(values: &[i64], earlier: &[Vec<i64>], heads: Option<&[bool]>) -> usize {
    let mut bytes = Vec::new();
    Planner::default().put(values, &Context { earlier, heads }, &mut bytes);
    let (mut input, mut back) = (&bytes[..], vec![7]);
    get(&mut input, values.len(), earlier, heads, &mut back).unwrap();
    assert!(input.is_empty());
    assert_eq!(back, values);
    for cut in 0..bytes.len() {
        assert!(get(&mut &bytes[..cut], values.len(), earlier, heads, &mut back).is_err());
    }
    bytes.len()
}

#[test]
fn one_value_takes_a_header() {
    assert_eq!(round(&[5; 1000], &[], None), 2);
}

#[test]
fn what_all_are_multiples_of_takes_nothing() {
    let values: Vec<i64> = (0..64).map(|n| 1_000_000 + 86_400 * (n % 4)).collect();
    assert!(round(&values, &[], None) < 12 + 64 * 2 / 8);
}

#[test]
fn a_line_takes_only_what_is_beside_it() {
    let x: Vec<i64> = (0..100).map(|n| n * n * 1000 + 17).collect();
    let y: Vec<i64> = x.iter().enumerate().map(|(at, x)| x / 20 + at as i64 % 4).collect();
    assert!(round(&y, std::slice::from_ref(&x), None) < 20 + 100 * 3 / 8);
    let down: Vec<i64> = x.iter().map(|x| 1_000_000_000_000 - x * 3).collect();
    assert!(round(&down, &[x], None) < 30);
}

#[test]
fn ascending_runs_take_their_gaps() {
    // Gaps of 100 on average.
    let values: Vec<i64> = (0..1000).map(|n| 1 << 40 | (n * 100 + n * 7919 % 100)).collect();
    let len = round(&values, &[], Some(&[false; 1000]));
    assert!(len < 1000 * 9 / 8, "{len}");
    let mut heads = vec![false; 1000];
    heads[500] = true;
    let broken: Vec<i64> = [&values[..500], &values[..500]].concat();
    let len = round(&broken, &[], Some(&heads));
    assert!(len < 1000 * 9 / 8, "{len}");
}

#[test]
fn what_leans_on_nothing_is_refused() {
    let mut bytes = [HAS_FLAGS, LINE, 3, 0, 2, 0];
    assert!(get(&mut &bytes[..], 4, &[vec![1, 2, 3, 4]], None, &mut Vec::new()).is_err());
    bytes[2] = 0;
    assert!(get(&mut &bytes[..], 4, &[vec![1, 2, 3, 4]], None, &mut Vec::new()).is_ok());
    bytes[3] = 64;
    assert!(get(&mut &bytes[..], 4, &[vec![1, 2, 3, 4]], None, &mut Vec::new()).is_err());
    assert!(get(&mut &[HAS_FLAGS, GAPS, 0, 0, 0][..], 4, &[], None, &mut Vec::new()).is_err());
}

proptest! {
    #[test]
    fn any_columns_come_back(
        columns in proptest::collection::vec((any::<i64>(), any::<i64>(), 0u32..64), 1..40),
        heads in proptest::collection::vec(any::<bool>(), 40), sorted: bool) {
        let mut x: Vec<i64> = columns.iter().map(|(x, _, shift)| x >> shift).collect();
        let mut y: Vec<i64> = columns.iter().map(|(_, y, shift)| y >> (shift / 2)).collect();
        if sorted {
            x.sort_unstable();
            y.sort_unstable();
        }
        let heads = &heads[..x.len()];
        round(&x, &[], Some(heads));
        round(&y, std::slice::from_ref(&x), None);
        round(&y, &[x.clone(), y.clone()], Some(heads));
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), count in 1usize..100,
        heads in proptest::collection::vec(any::<bool>(), 100)) {
        let earlier = vec![(0..count as i64).collect()];
        let _ = get(&mut &bytes[..], count, &earlier, Some(&heads[..count]), &mut Vec::new());
        let _ = get(&mut &[&[HAS_FLAGS | bytes.first().copied().unwrap_or(0), 7], &bytes[..]].concat()[..], count, &earlier,
            Some(&heads[..count]), &mut Vec::new());
    }
}
