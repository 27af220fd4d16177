use super::*;

/// A hash of a number, of the same quality as the hashes of values.
fn hash(n: u64) -> u64 {
    alluvium_document::key::hash(&alluvium::Value::from(n))
}

fn of(values: impl Iterator<Item = u64>) -> Distinct {
    let mut distinct = Distinct::default();
    values.for_each(|n| distinct.add(hash(n)));
    distinct
}

#[test]
fn all_values_are_counted_exactly_while_they_are_few() {
    assert_eq!(Distinct::default().estimate(1.0), None);
    let exact = |values| Some(Estimate { values, certainty: Certainty::Exact });
    assert_eq!(of((0..1000).map(|n| n % 7)).estimate(1.0), exact(7));
    assert_eq!(of(0..MOST_COUNTED as u64).estimate(1.0), exact(MOST_COUNTED as u64));
}

#[test]
fn many_values_are_estimated_within_a_few_percent() {
    for count in [MOST_COUNTED as u64 + 1, 100_000, 400_000] {
        let estimate = of((0..count).chain(0..count)).estimate(1.0).expect("values");
        assert_eq!(estimate.certainty, Certainty::About);
        let error = (estimate.values as f64 / count as f64 - 1.0).abs();
        assert!(error < 0.04, "{count}: {estimate:?}");
    }
    assert_eq!(of(0..100_000).estimate(5.0).expect("values").certainty, Certainty::AtLeast);
}

#[test]
fn a_sample_is_extrapolated_by_what_occurs_once() {
    let about = |values| Some(Estimate { values, certainty: Certainty::About });
    // All values of the sample differ, so the same is assumed for the whole collection.
    assert_eq!(of(0..1000).estimate(20.0), about(20_000));
    // All values occur often, so there are no others.
    assert_eq!(of((0..1000).map(|n| n % 10)).estimate(20.0), about(10));
    // A sample of every hundredth of 1,000,000 documents with 10,000 values.
    let mut rng = fastrand::Rng::with_seed(7);
    let sample = of(std::iter::repeat_with(|| rng.u64(0..10_000)).take(10_000));
    let estimate = sample.estimate(100.0).expect("values").values;
    assert!((8_000..13_000).contains(&estimate), "{estimate}");
}
