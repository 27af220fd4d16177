//! Reports as text.

use super::{Cost, Query, Report, State};

/// Formats a table: the first column is aligned to the left, the others to the right.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let space = " ".repeat(widths[column] - cell.chars().count());
            let cell = if column == 0 { format!("{cell}{space}") } else { format!("  {space}{cell}") };
            line.push_str(&cell);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

pub(super) fn intervals(report: &Report) -> String {
    let titles = [
        "rows",
        "inserts/s",
        "CPU s",
        "harness",
        "inserting",
        "background",
        "waits",
        "put off",
        "kB written",
        "kB read",
        "reads",
        "reads by loaders",
    ];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    let mut line = |name: String, cost: &Cost| {
        let background = cost.net_cpu_seconds() - cost.foreground_cpu_seconds;
        rows.push(vec![
            name,
            if cost.inserts == 0 { "-".to_owned() } else { format!("{:.0}", cost.rate()) },
            format!("{:.2}", cost.cpu_seconds),
            format!("{:.2}", cost.harness_cpu_seconds),
            format!("{:.2}", cost.foreground_cpu_seconds),
            format!("{:.2}", background.max(0.0)),
            cost.voluntary_switches.to_string(),
            cost.involuntary_switches.to_string(),
            cost.written_kb.to_string(),
            cost.read_kb.to_string(),
            cost.read_calls.to_string(),
            cost.foreground_read_calls.to_string(),
        ]);
    };
    for interval in &report.intervals {
        line(interval.rows.to_string(), &interval.cost);
    }
    line("settling".to_owned(), &report.settle);
    table(&rows)
}

/// A figure of a report, as text.
type Figure = Box<dyn Fn(&Report) -> String>;

fn figures() -> Vec<(&'static str, Figure)> {
    fn figure(of: impl Fn(&Report) -> String + 'static) -> Figure {
        Box::new(of)
    }
    // Counts per 200,000 inserts, without settling.
    fn each(count: fn(&Cost) -> f64) -> Figure {
        figure(move |report| format!("{:.0}", count(&report.load) * 200_000.0 / report.rows.max(1) as f64))
    }
    fn micros(of: fn(&Report) -> f64) -> Figure {
        figure(move |report| format!("{:.2}", of(report) * 1e6 / report.rows.max(1) as f64))
    }
    vec![
        ("rows", figure(|r| r.rows.to_string())),
        ("inserts/s", figure(|r| format!("{:.0}", r.load.rate()))),
        ("CPU µs an insert, net, settled", figure(|r| format!("{:.2}", r.net_cpu_us()))),
        ("  inserting", micros(|r| r.load.foreground_cpu_seconds)),
        ("  background", micros(|r| (r.load.net_cpu_seconds() - r.load.foreground_cpu_seconds).max(0.0))),
        ("  settling", micros(|r| r.settle.cpu_seconds)),
        ("harness, CPU µs an insert", micros(|r| r.load.harness_cpu_seconds)),
        (
            "per 200,000 inserts: CPU s",
            figure(|r| format!("{:.2}", r.load.cpu_seconds * 200_000.0 / r.rows.max(1) as f64)),
        ),
        ("  waits", each(|c| c.voluntary_switches as f64)),
        ("  put off", each(|c| c.involuntary_switches as f64)),
        ("  kB written", each(|c| c.written_kb as f64)),
        ("  kB read", each(|c| c.read_kb as f64)),
        ("  read calls", each(|c| c.read_calls as f64)),
        ("  read calls by loaders", each(|c| c.foreground_read_calls as f64)),
        ("bytes a row", figure(|r| format!("{:.1}", r.bytes_per_row()))),
        ("bytes an index entry", figure(|r| r.bytes_per_entry().map_or("-".to_owned(), |bytes| format!("{bytes:.1}")))),
        ("MB on disk, logs included", figure(|r| format!("{:.1}", r.disk_bytes as f64 / 1e6))),
        (
            "MB written, settling included",
            figure(|r| format!("{:.1}", (r.load.written_kb + r.settle.written_kb) as f64 / 976.5625)),
        ),
        ("peak memory, MB", figure(|r| format!("{:.0}", r.peak_memory_bytes as f64 / 1e6))),
        ("load average, before and after", figure(|r| format!("{:.1} {:.1}", r.load_average.0, r.load_average.1))),
    ]
}

pub(super) fn side_by_side(reports: &[Report]) -> String {
    let mut rows = vec![row(String::new(), reports, |report| report.engine.clone())];
    for (name, figure) in figures() {
        rows.push(row(name.to_owned(), reports, figure));
    }
    let kind = |query: &Query| (query.state, query.index, query.fetched);
    let mut kinds: Vec<(State, usize, bool)> = Vec::new();
    for query in reports.iter().flat_map(|report| &report.queries) {
        if !kinds.contains(&kind(query)) {
            kinds.push(kind(query));
        }
    }
    for (state, index, fetched) in kinds {
        let after = match state {
            State::Inserted => "",
            State::Rewritten => ", rewritten",
            State::Merged => ", merged",
        };
        let what = match (index, fetched) {
            (0, _) => "by _id".to_owned(),
            (_, false) => format!("of index {index}"),
            (_, true) => format!("of index {index} with rows"),
        };
        rows.push(row(format!("query {what}{after}: CPU µs / reads / p50 µs"), reports, |report| {
            let found = report.queries.iter().find(|query| kind(query) == (state, index, fetched));
            found.map_or("-".to_owned(), |Query { cpu_us, read_calls, p50_us, .. }| {
                format!("{cpu_us:.1} / {read_calls:.2} / {p50_us:.1}")
            })
        }));
    }
    table(&rows)
}

fn row(name: String, reports: &[Report], figure: impl Fn(&Report) -> String) -> Vec<String> {
    std::iter::once(name).chain(reports.iter().map(figure)).collect()
}
