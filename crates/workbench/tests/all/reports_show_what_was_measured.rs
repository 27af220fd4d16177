//! `report`: figures, published figures, ratios, failures, several machines, texts from outside, bad input.

use crate::common::Place;
use crate::records;
use crate::records::{CHARTS, HOSTILE, ORIGIN, Origin};
use serde_json::{Value, json};

fn place() -> Place {
    let place = Place::new();
    records::write(&place.path("one"), ORIGIN);
    place
}

/// The page of a report of some directories.
fn page(place: &Place, dirs: &[&str]) -> String {
    place.good(&[&["report"], dirs, &["-o", "-"]].concat())
}

/// The charts in the page, with all figures.
fn charts(page: &str) -> Vec<Value> {
    let (_, rest) = page.split_once("id=\"charts\">").expect("the charts");
    let (json, _) = rest.split_once("</script>").expect("an end");
    assert!(!json.contains('<'), "nothing can end the script");
    serde_json::from_str(json).expect("JSON")
}

fn chart<'a>(charts: &'a [Value], title: &str) -> &'a Value {
    charts.iter().find(|chart| chart["title"] == title).unwrap_or_else(|| panic!("{title}: {charts:?}"))
}

/// The median of each point of a series.
fn medians(series: &Value) -> Vec<Option<f64>> {
    series["points"].as_array().expect("points").iter().map(|point| point["median"].as_f64()).collect()
}

#[test]
fn charts_have_the_measured_and_the_published_figures() {
    let place = place();
    let page = page(&place, &["one"]);
    let charts = charts(&page);
    assert_eq!(charts.len(), CHARTS);
    let gets = chart(&charts, "Gets by threads");
    assert_eq!(gets["xs"], json!([1.0, 2.0, 4.0, 64.0]), "64 is published only");
    assert_eq!(gets["x"]["scale"], "log2");
    let series = gets["series"].as_array().expect("series");
    assert_eq!(medians(&series[0]), [Some(10_100.0), Some(20_100.0), Some(40_100.0), None]);
    assert_eq!((&series[0]["points"][0]["min"], &series[0]["points"][0]["max"]), (&json!(10_000.0), &json!(10_200.0)));
    assert_eq!((&series[1]["name"], &series[1]["published"]), (&json!("Author & Co., \"A store\""), &json!(true)));
    assert_eq!(medians(&series[1]), [Some(3200.0), None, None, Some(70_100.5)]);
    // The tables: thousands are separated.
    assert!(page.contains("<td class=\"figure\">40,100<small>40,000 to 40,200</small></td>"), "{page}");
    assert!(page.contains("Author &amp; Co., &quot;A store&quot;, documents/s"), "{page}");
    assert!(page.contains("disk, GB") && page.contains("<td class=\"figure\">26.50</td>"), "{page}");
    // The commands, the machine and the version that produced the figures.
    assert!(page.contains("<code>alluvium-bench get {store} --docs 200000 --threads {threads}</code>"), "{page}");
    for made in ["Processor One, 2 cores", "commit 0123456789ab", "2026-11-25", "run plans/all.toml --size small"] {
        assert!(page.contains(made), "{made}: {page}");
    }
}

#[test]
fn figures_are_shares_of_those_of_another_experiment() {
    let place = place();
    let charts = charts(&page(&place, &["one"]));
    let shares = chart(&charts, "Share of raw reads");
    assert_eq!(shares["xs"], json!([1.0, 2.0]), "no raw read was measured with 4 threads");
    let found = medians(&shares["series"][0]).into_iter().flatten().collect::<Vec<_>>();
    let expected = [10_100.0 / 40_400.0, 20_100.0 / 80_800.0];
    assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9), "{found:?}");
    assert_eq!(shares["unit"], "");
}

#[test]
fn a_stall_is_not_thinned_away() {
    let place = place();
    let charts = charts(&page(&place, &["one"]));
    let time = chart(&charts, "Gets over time");
    let points = medians(&time["series"][0]).into_iter().flatten().collect::<Vec<_>>();
    assert!(points.len() < 700 && points.contains(&17.0), "{points:?}");
    assert_eq!((&time["xs"][0], &time["x"]["from"]), (&json!(1.0), &json!(0.0)), "times are rounded, and begin at 0");
    assert_eq!(time["series"].as_array().map(Vec::len), Some(3), "threads make lines: the chart does not name them");
    let note = "An hour, much longer than these trials and not drawn: 10 at 60,000.";
    assert!(time["notes"].as_array().is_some_and(|notes| notes.iter().any(|known| known == note)), "{time}");
}

#[test]
fn ratios_are_those_of_pairs_of_one_run() {
    let place = place();
    let page = page(&place, &["one"]);
    let (_, ratios) = page.split_once("id=\"ratios\"").expect("ratios");
    let (ratios, _) = ratios.split_once("</section>").expect("an end");
    for sentence in [
        "Alluvium reaches 3.00 times the documents/s of rocksdb: more is better.",
        "Alluvium reaches 0.50 times the documents/s of lmdb: more is better.",
        "Alluvium takes 0.33 times the µs of rocksdb: less is better.",
        "3.00 to 3.00 of 2 pairs",
    ] {
        assert!(ratios.contains(sentence), "{sentence}: {ratios}");
    }
    assert_eq!((ratios.matches("mark ahead").count(), ratios.matches("mark behind").count()), (2, 2));
}

#[test]
fn failed_and_missing_trials_are_listed() {
    let place = place();
    let page = page(&place, &["one"]);
    let (_, failures) = page.split_once("id=\"failures\"").expect("failures");
    assert!(failures.contains("<pre>killed by signal 9\n&lt;/script&gt;&lt;script&gt;alert(1)"), "{failures}");
    assert!(failures.contains("documents 100, engine &lt;/script&gt;"), "{failures}");
    assert!(page.contains("6 trials, 1 failed, 1 not run"), "{page}");
    let (_, skipped) = page.split_once("id=\"skipped\"").expect("skipped experiments");
    assert!(skipped.contains("<li>Experiment never-ran (never-ran): no trial has run</li>"), "{skipped}");
    records::write_json(&place.path("one/skipped.json"), &json!({"never-ran": "there is no program <x>"}));
    let page = self::page(&place, &["one"]);
    assert!(page.contains("(never-ran): there is no program &lt;x&gt;</li>"), "{page}");
}

#[test]
fn machines_and_versions_are_lines_of_their_own() {
    let place = place();
    records::write(&place.path("two"), Origin { processor: "Processor Two", commit: "fedcba", speed: 2.0 });
    let page = page(&place, &["one", "two"]);
    let charts = charts(&page);
    let gets = chart(&charts, "Gets by threads");
    let series = gets["series"].as_array().expect("series");
    let named = |at: usize| (series[at]["name"].as_str().expect("a name"), medians(&series[at])[2]);
    assert_eq!((named(0), named(1)), (("Alluvium (run A)", Some(40_100.0)), ("Alluvium (run B)", Some(80_200.0))));
    assert_eq!(
        (&series[0]["colour"], &series[0]["shade"], &series[1]["shade"]),
        (&series[1]["colour"], &json!(0), &json!(1))
    );
    assert!(page.contains("several machines, versions or sizes") && page.contains("Processor Two"), "{page}");
    // Ratios are computed within a run, so both runs have the same ratio.
    assert_eq!(page.matches("Alluvium reaches 3.00 times the documents/s of rocksdb").count(), 2);
    // Figures of one origin in two directories are drawn as one line, and count as repeats.
    records::write(&place.path("again"), ORIGIN);
    let charts = self::charts(&self::page(&place, &["one", "again"]));
    let gets = chart(&charts, "Gets by threads");
    assert_eq!((&gets["series"][0]["name"], &gets["series"][0]["points"][0]["count"]), (&json!("Alluvium"), &json!(6)));
}

#[test]
fn texts_from_outside_are_texts() {
    let place = place();
    let page = page(&place, &["one"]);
    assert!(!page.contains(HOSTILE) && !page.contains("<script>alert") && !page.contains("<img"), "{page}");
    assert_eq!(page.matches("</script>").count(), 3, "the figures, uPlot and our own script");
    assert!(!page.contains("http://") && !page.contains("https://"), "no address leads outside");
    let titled = place.good(&["report", "one", "-o", "-", "--title", "a<b> & c"]);
    assert!(titled.contains("<title>a&lt;b&gt; &amp; c</title>"));
}

#[test]
fn charts_are_also_files() {
    let place = place();
    let said = place.good(&["report", "one", "-o", "page.html", "--svg", "charts"]);
    assert!(said.contains("wrote page.html: 8 charts of 3 experiments (17 trials, 1 more failed)"), "{said}");
    let names = ["get-by-threads-1", "get-by-threads-2", "get-by-threads-3", "peers-1-1", "peers-1-2", "peers-2"];
    for name in names {
        let svg = place.read(&format!("charts/{name}.svg"));
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{name}: {svg}");
        assert!(svg.contains("documents/s") || name == "peers-2", "{name}: {svg}");
    }
    let gets = place.read("charts/get-by-threads-1.svg");
    assert!(gets.contains("Gets by threads") && gets.contains("Author &amp; Co."), "{gets}");
    assert_eq!(gets.matches("<circle").count(), 2 * (3 + 1), "three points and the legend, each filled and outlined");
}

#[test]
fn files_are_replaced_only_by_force() {
    let place = place();
    place.write("page.html", "mine");
    let said = place.bad(1, &["report", "one", "-o", "page.html"]);
    assert!(said.contains("exists") && said.contains("--force"), "{said}");
    assert_eq!(place.read("page.html"), "mine");
    place.good(&["report", "one", "-o", "page.html", "--svg", "charts", "--force"]);
    assert!(place.read("page.html").starts_with("<!doctype html>"));
    let said = place.bad(1, &["report", "one", "-o", "other.html", "--svg", "charts"]);
    assert!(said.contains("raw-reads-1.svg exists"), "{said}");
    assert!(!place.path("other.html").exists(), "nothing is written if a chart cannot be");
}

#[test]
fn records_that_cannot_be_read_are_skipped_by_name() {
    let place = place();
    place.write("one/trials/get-by-threads-9000.json", "{\"format\": 1,");
    records::write_json(&place.path("one/trials/get-by-threads-9001.json"), &json!({"format": 2}));
    records::write_json(&place.path("one/trials/get-by-threads-9002.json"), &json!({"format": 1, "plan": "x"}));
    place.write("one/trials/get-by-threads-9003.json.tmp", "half");
    let page = page(&place, &["one"]);
    let (_, notes) = page.split_once("id=\"notes\"").expect("notes");
    for what in ["9000.json: not JSON", "9001.json: the format is 2", "9002.json: missing field"] {
        assert!(notes.contains(what), "{what}: {notes}");
    }
    assert!(!notes.contains("9003"), "a file that is not complete has another name");
    assert_eq!(charts(&page).len(), CHARTS);
}

#[test]
fn directories_without_a_plan_are_refused() {
    let place = place();
    std::fs::create_dir(place.path("empty")).expect("space");
    for dir in ["empty", "missing"] {
        let said = place.bad(3, &["report", "one", dir, "-o", "page.html"]);
        assert!(said.contains(&format!("{dir} has no plan.json")), "{said}");
    }
    place.write("empty/plan.json", "[]");
    let said = place.bad(1, &["report", "empty", "-o", "page.html"]);
    assert!(said.contains("plan.json") && said.contains("was not written by"), "{said}");
    assert!(!place.path("page.html").exists());
    place.bad(2, &["report", "-o", "page.html"]);
    // A plan without records gives a page without charts.
    std::fs::remove_dir_all(place.path("one/trials")).expect("a directory");
    assert!(page(&place, &["one"]).contains("no record of a trial"));
}
