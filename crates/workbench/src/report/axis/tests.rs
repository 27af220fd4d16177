use super::*;

#[test]
fn figures_begin_at_zero() {
    let axis = Axis::of_figures(Scale::Linear, [12.0, 47.0]);
    assert_eq!((axis.from, axis.place(0.0)), (0.0, 0.0));
    assert!(axis.to > 47.0 && axis.to < 55.0, "{axis:?}");
    assert_eq!(axis.ticks, [0.0, 10.0, 20.0, 30.0, 40.0]);
    assert_eq!(Axis::of_figures(Scale::Linear, [0.3, 0.62]).ticks, [0.0, 0.2, 0.4, 0.6]);
    assert_eq!(Axis::of_figures(Scale::Linear, []).ticks.len(), 6, "an empty axis is one from 0 to 1");
}

#[test]
fn logarithms_have_powers() {
    let axis = Axis::of_figures(Scale::Log10, [3.0, 40_000.0, 0.0]);
    assert_eq!(axis.ticks, [10.0, 100.0, 1000.0, 10_000.0]);
    assert!((axis.place(3.0)..axis.place(40_000.0)).contains(&axis.place(300.0)));
    assert_eq!(Axis::of_figures(Scale::Log10, [15.0, 180.0]).ticks, [20.0, 50.0, 100.0, 200.0]);
    assert_eq!(Axis::of_figures(Scale::Log10, [32.0, 44.0]).ticks, [30.0, 40.0, 50.0]);
    assert_eq!(Axis::of_figures(Scale::Log2, [3.0, 9.0]).ticks, [4.0, 8.0]);
    assert_eq!(Axis::of_figures(Scale::Log10, [0.0]).scale, Scale::Linear, "zero has no logarithm");
}

#[test]
fn parameters_have_ticks_of_their_own() {
    let axis = Axis::of_parameters(Scale::Log2, &[1.0, 4.0, 96.0]);
    assert_eq!(axis.ticks, [1.0, 4.0, 96.0]);
    assert!(axis.from < 1.0 && axis.to > 96.0);
    assert_eq!(Axis::of_parameters(Scale::Log2, &[7.0]).ticks, [7.0]);
    let progress = Axis::of_progress(Scale::Linear, &[1.0, 2.0]);
    assert_eq!((progress.from, progress.to), (0.0, 2.0), "time begins at zero");
    assert_eq!(Axis::of_words(2).ticks, [0.0, 1.0]);
}
