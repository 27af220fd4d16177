use super::*;
use crate::plan::Scale;
use crate::report::axis::Axis;

fn axis(scale: Scale, from: f64, to: f64) -> Axis {
    Axis { scale, from, to, ticks: vec![from, to] }
}

fn drawing() -> Drawing {
    Drawing {
        id: "chart".to_owned(),
        title: "a < b & \"c\"".to_owned(),
        kind: ChartKind::Line,
        x_name: "threads".to_owned(),
        unit: "documents/s".to_owned(),
        x: axis(Scale::Log2, 1.0, 4.0),
        y: axis(Scale::Linear, 0.0, 10.0),
        words: Vec::new(),
        xs: vec![1.0, 2.0, 4.0],
        series: Vec::new(),
        colours_words: false,
        notes: Vec::new(),
        origins: Vec::new(),
    }
}

#[test]
fn values_have_their_places() {
    let drawing = drawing();
    let place = Place::of(&drawing, 100..300, 0..50);
    assert_eq!([1.0, 2.0, 4.0].map(|x| place.x(x)), [100, 200, 300], "equal steps of a logarithm");
    assert_eq!([0.0, 5.0, 10.0].map(|y| place.y(y)), [50, 25, 0]);
    assert_eq!(place.y(12.0), 0, "not beyond the edge");
}

#[test]
fn texts_are_escaped() {
    let svg = file(&drawing());
    assert!(svg.contains("a &lt; b &amp; &quot;c&quot;"), "{svg}");
    let inner = inline(&drawing());
    assert!(!inner.contains("http") && !inner.contains("a &lt; b"), "the page has the title: {inner}");
}
