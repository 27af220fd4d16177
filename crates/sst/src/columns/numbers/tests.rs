use super::*;
use proptest::prelude::*;

fn column(values: &[f64]) -> Vec<i64> {
    values.iter().map(|&value| (f64_bits(value) ^ SIGN) as i64).collect()
}

fn scaled(column: &[i64], hint: usize) -> Option<(usize, Vec<i64>, Vec<i64>)> {
    let (mut integers, mut beside) = (Vec::new(), Vec::new());
    let power = scale(column, hint, &mut integers, &mut beside)?;
    for ((value, integer), beside) in column.iter().zip(&integers).zip(&beside) {
        assert_eq!(bits_of(*integer, power, *beside), *value as u64 ^ SIGN);
    }
    Some((power, integers, beside))
}

#[test]
fn decimals_become_integers() {
    assert_eq!(scaled(&column(&[0.1, -0.25, 3.0]), 7), Some((2, vec![10, -25, 300], vec![0, 0, 0])));
    assert_eq!(scaled(&column(&[1e6, -0.0, 7.0]), 0), Some((0, vec![1_000_000, 0, 7], vec![0, 0, 0])));
    // A computed value is one double away from the nearest decimal.
    assert_eq!(scaled(&column(&[0.1 + 0.2, 0.5]), 1), Some((1, vec![3, 5], vec![1, 0])));
}

#[test]
fn what_is_no_decimal_stays() {
    for values in [[f64::NAN, 1.0], [f64::INFINITY, 1.0], [f64::MIN, 1.0], [1e300, 1e-300], [f64::MIN_POSITIVE, 0.1]] {
        assert_eq!(scaled(&column(&values), 3), None, "{values:?}");
    }
    // Bits that are not the key of a double.
    assert_eq!(scaled(&[i64::MIN, i64::MAX], 0), None);
}

proptest! {
    #[test]
    fn whatever_is_scaled_comes_back(values in proptest::collection::vec(any::<u64>(), 1..20), hint in 0usize..16) {
        let values: Vec<i64> = values.iter().map(|&value| value as i64).collect();
        scaled(&values, hint);
    }

    #[test]
    fn prices_are_scaled(cents in proptest::collection::vec(-100_000_000i64..100_000_000, 1..50)) {
        let values: Vec<f64> = cents.iter().map(|&cents| cents as f64 / 100.0).collect();
        let (power, ..) = scaled(&column(&values), 5).unwrap();
        prop_assert!(power <= 2);
    }
}
