use super::*;

#[test]
fn a_column_has_the_decimals_that_its_figures_need() {
    let shown = |figures: &[f64]| {
        let decimals = Decimals::of(figures.iter().copied());
        figures.iter().map(|figure| decimals.show(*figure)).collect::<Vec<_>>()
    };
    assert_eq!(shown(&[3200.0, 70_100.4]), ["3,200", "70,100"]);
    assert_eq!(shown(&[3.5, 12.25]), ["3.50", "12.25"]);
    assert_eq!(shown(&[1.0, 1234567.0]), ["1", "1,234,567"]);
    assert_eq!(shown(&[0.0004, 51.0, 1234.5]), ["4.0e-4", "51.00", "1,234"], "too far apart to align");
    assert_eq!(shown(&[-2.5, 0.0]), ["−2.500", "0.000"]);
    assert_eq!(shown(&[]), [""; 0]);
}

#[test]
fn ticks_are_short() {
    let shown = [0.0, 0.5, 20.0, 250_000.0, 1_500_000.0, 2e9, 0.00001].map(tick);
    assert_eq!(shown, ["0", "0.5", "20", "250,000", "1.5 M", "2 G", "1e-5"]);
    assert_eq!([0.0126, 0.45, 2.13, 13.77, 468.4].map(short), ["0.013", "0.45", "2.13", "13.8", "468"]);
}

#[test]
fn bytes_have_multiples() {
    let unit = |name: &str, most: f64| (Unit::of(name, most).name, Unit::of(name, most).factor);
    assert_eq!(unit("bytes", 26.5e9), ("GB".to_owned(), 1e-9));
    assert_eq!(unit("B/document", 1300.0), ("kB/document".to_owned(), 1e-3));
    assert_eq!(unit("bytes", 12.0), ("bytes".to_owned(), 1.0));
    assert_eq!(unit("Bananas", 1e9), ("Bananas".to_owned(), 1.0));
    assert_eq!(unit("documents/s", 1e9), ("documents/s".to_owned(), 1.0));
}

#[test]
fn rates_are_better_when_they_are_larger() {
    assert!(more_is_better("documents/s", "outcome.x") && more_is_better("", "outcome.worst_over_median"));
    assert!(!more_is_better("µs", "outcome.cpu_us") && !more_is_better("bytes", "outcome.disk_bytes"));
}
