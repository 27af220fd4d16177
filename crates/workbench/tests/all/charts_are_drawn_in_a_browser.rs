//! The page of `report` in headless Chromium: every chart is drawn, no error is reported, and no other resource is
//! requested.

use crate::common;
use crate::common::{Ended, Place};
use crate::records;
use crate::records::{CHARTS, ORIGIN, Origin};
use std::process::{Command, Stdio};

/// Opens a page. Returns its elements after the scripts have run, and the browser's log.
fn open(place: &Place, page: &str) -> Ended {
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command.args(["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--virtual-time-budget=3000"]);
    command.arg(format!("--user-data-dir={}", place.path("profile").display()));
    command.args(["--window-size=400,900", "--dump-dom"]);
    command.arg(format!("file://{}", place.path(page).display()));
    command.env("HOME", place.path(".")).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap_or_else(|error| {
        panic!("chromium cannot be started ({error}): `make setup` installs it, and so does `apt-get install chromium`")
    });
    common::ended(child)
}

/// Fails if the page has reported an error or requested another resource. The script of the page records both in an
/// attribute.
fn check(ended: &Ended) {
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(!ended.err.contains("CONSOLE"), "{}", ended.err);
    let noted = ended.out.split_once("data-errors=\"").and_then(|(_, rest)| rest.split('"').next());
    assert_eq!(noted, None);
}

#[test]
fn every_chart_is_drawn_without_an_error_or_a_request() {
    let place = Place::new();
    records::write(&place.path("one"), ORIGIN);
    records::write(&place.path("two"), Origin { processor: "Processor Two", commit: "fedcba", speed: 2.0 });
    place.good(&["report", "one", "two", "-o", "page.html"]);
    let ended = open(&place, "page.html");
    check(&ended);
    let plots: Vec<&str> = ended.out.split("<div class=\"plot\"").skip(1).collect();
    assert_eq!(plots.len(), CHARTS);
    for plot in plots {
        let attributes = plot.split('>').next().unwrap_or("");
        assert!(attributes.contains("data-drawn="), "a chart is not drawn: {attributes}");
        assert!(plot.contains("<canvas"), "{attributes}");
    }
    let lines: usize =
        ended.out.split("data-drawn=\"").skip(1).filter_map(|rest| rest.split('"').next()?.parse::<usize>().ok()).sum();
    let raw = 2 * 2;
    assert_eq!(
        lines,
        raw + 3 + 3 * 2 + 2 + 3 * 3 * 2,
        "raw reads and shares of them; gets, with a publication; times of 3 threads; spreads; 3 engines"
    );
}
