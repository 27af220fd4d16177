use super::*;

#[test]
fn percentiles_are_those_of_the_generated_lines() {
    let lengths = measure(2000, 1);
    let mut lines = Vec::new();
    let mut generator = Generator::new(1);
    (0..2000).for_each(|_| generator.write_line(&mut lines));
    let mut all: Vec<usize> = lines.split(|byte| *byte == b'\n').map(<[u8]>::len).filter(|len| *len > 0).collect();
    all.sort_unstable();
    let of = |percent: f64| {
        let quantile = lengths.quantiles.iter().find(|quantile| quantile.percent == percent);
        quantile.expect("it is printed").bytes as usize
    };
    assert_eq!((of(0.0), of(100.0)), (all[0], all[1999]));
    assert!((all[990]..=all[1009]).contains(&of(50.0)), "{}", of(50.0));
    assert_eq!(lengths.json_bytes, all.iter().sum::<usize>() as u64);
    assert!(lengths.quantiles.is_sorted_by_key(|quantile| quantile.bytes));
}
