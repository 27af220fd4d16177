use super::*;

#[test]
fn texts_are_escaped() {
    assert_eq!(escape("<a href=\"x\" b='y'>&\u{1b}\n"), "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;\\u{1b}\n");
}

#[test]
fn the_library_comes_with_its_license() {
    let (first, _) = UPLOT.split_once('\n').expect("a line");
    let version = UPLOT_VERSION.split(' ').next_back().expect("a version");
    assert!(first.contains(&format!("(v{version})")), "{first}");
    assert!(UPLOT_LICENSE.contains("The MIT License") && !UPLOT_LICENSE.contains("*/"));
    let mut page = String::new();
    let report = Report::of(&[], Some("x".to_owned()));
    scripts(&mut page, &report);
    assert!(page.contains("Copyright (c) 2022 Leon Sorokin") && !page.contains("github.com"), "{page}");
}
