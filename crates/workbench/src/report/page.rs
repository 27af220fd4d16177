//! The report as one HTML file.
//!
//! All text from outside is escaped: texts in the page by [`escape`], and the figures of the charts by [`data`], whose
//! output has no `<` that could end the script. The Content-Security-Policy of the page forbids requests to any
//! address.

use super::drawing::Drawing;
use super::origin;
use super::svg;
use super::table::{Cell, Table};
use super::{Count, Figure, Report, Section};
use alluvium_cli::text::{count, counted};
use std::fmt::Write;

const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");
const UPLOT: &str = include_str!("uplot/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("uplot/uPlot.min.css");
const UPLOT_LICENSE: &str = include_str!("uplot/LICENSE");
const UPLOT_VERSION: &str = "uPlot 1.6.32";

/// The policy allows the page to load no other resource, and to send no data.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// The page.
pub(crate) fn html(report: &Report) -> String {
    let mut out = String::new();
    head(&mut out, report);
    out += "<body>\n<header>\n";
    put(&mut out, "h1", &report.title);
    out += "<button id=\"theme\" type=\"button\" hidden>Theme: automatic</button>\n</header>\n<main>\n";
    origins(&mut out, report);
    ratios(&mut out, report);
    contents(&mut out, report);
    failures(&mut out, report);
    notes(&mut out, report);
    sections(&mut out, report);
    out += "</main>\n<footer>Drawn by <code>alluvium-bench report</code> ";
    let _ =
        write!(out, "{} with {UPLOT_VERSION} (MIT license, in the source of this page).", env!("CARGO_PKG_VERSION"));
    out += "</footer>\n";
    scripts(&mut out, report);
    out += "</body>\n</html>\n";
    out
}

fn head(out: &mut String, report: &Report) {
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n\
         <style>\n{UPLOT_STYLE}\n{STYLE}</style>\n\
         <noscript><style>.plot {{ display: none }} .still {{ display: block }}</style></noscript>\n</head>\n",
        escape(&report.title)
    );
}

fn scripts(out: &mut String, report: &Report) {
    // The first line of the file is a comment with an address.
    let uplot = UPLOT.split_once("*/\n").map_or(UPLOT, |(_, code)| code);
    let drawings: Vec<&Drawing> = report.drawings().collect();
    let _ = write!(
        out,
        "<script type=\"application/json\" id=\"charts\">{}</script>\n\
         <script>\n/* {UPLOT_VERSION}\n{UPLOT_LICENSE}*/\n{uplot}</script>\n<script>\n{SCRIPT}</script>\n",
        data(&drawings)
    );
}

/// JSON for a script element. It contains no `<`, so that no text can end the element.
fn data(drawings: &[&Drawing]) -> String {
    let json = serde_json::to_string(drawings).unwrap_or_else(|_| "[]".to_owned());
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Text as HTML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c if c.is_control() && c != '\n' && c != '\t' => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// An element with a text.
fn put(out: &mut String, element: &str, text: &str) {
    let name = element.split(' ').next().unwrap_or(element);
    let _ = writeln!(out, "<{element}>{}</{name}>", escape(text));
}

fn origins(out: &mut String, report: &Report) {
    match report.origins.as_slice() {
        [] => put(out, "p class=\"note\"", "There is no record of a trial here."),
        [origin] => {
            let what = [origin.version(), origin.machine(), origin.days(), format!("size {}", origin.size())];
            put(
                out,
                "p class=\"lead\"",
                &(what.join(" · ") + &format!(" · {}", counted(origin.trials as u64, "trial"))),
            );
        }
        several => {
            let what = "The figures are of several machines, versions or sizes. Each is drawn as lines of its own, \
                        with its letter; compare figures of one letter only.";
            put(out, "p class=\"note\"", what);
            let row = |(place, origin): (usize, &origin::Origin)| {
                let dirs = origin.dirs.join(", ");
                let size = origin.size().to_owned();
                let trials = count(origin.trials as u64);
                let cells =
                    [origin::letter(place), origin.version(), origin.machine(), origin.days(), size, dirs, trials];
                cells.map(|text| Cell { text, small: String::new() }).to_vec()
            };
            let head = ["", "version", "machine", "date", "size", "directory", "trials"].map(str::to_owned).to_vec();
            table(out, &Table { head, names: 6, rows: several.iter().enumerate().map(row).collect() });
        }
    }
}

fn ratios(out: &mut String, report: &Report) {
    if report.ratios.is_empty() {
        return;
    }
    *out += "<section id=\"ratios\">\n<h2>Beside its peers</h2>\n";
    let what = "Each ratio is Alluvium's figure divided by the peer's, of the same run: the geometric mean of all pairs \
                of trials with equal parameters (medians of repeats).";
    put(out, "p", what);
    *out += "<div class=\"scroll\"><table class=\"ratios\">\n<thead><tr><th>chart</th><th>peer</th>\
             <th class=\"figure\">ratio</th><th>range</th><th>meaning</th></tr></thead>\n<tbody>\n";
    let mut last = "";
    for ratio in &report.ratios {
        let title = match last == ratio.id {
            true => String::new(),
            false => format!("<a href=\"#{}\">{}</a>", escape(&ratio.id), escape(&ratio.title)),
        };
        let (class, mark) = if ratio.is_ahead { ("ahead", "ahead") } else { ("behind", "behind") };
        let _ = writeln!(
            out,
            "<tr{}><td>{title}</td><td>{}</td><td class=\"figure\">{} <span class=\"mark {class}\">{mark}</span></td>\
             <td>{}</td><td class=\"sentence\">{}</td></tr>",
            if last == ratio.id { "" } else { " class=\"first\"" },
            escape(&ratio.peer),
            escape(&ratio.mean),
            escape(&ratio.range),
            escape(&ratio.sentence),
        );
        last = &ratio.id;
    }
    *out += "</tbody></table></div>\n</section>\n";
}

fn contents(out: &mut String, report: &Report) {
    if !report.sections.is_empty() {
        *out += "<nav id=\"experiments\">\n<h2>Experiments</h2>\n";
        let mut last = None;
        for section in &report.sections {
            if last != Some(&section.plan_title) {
                *out += if last.is_some() { "</ul>\n" } else { "" };
                put(out, "h3", &section.plan_title);
                *out += "<ul>\n";
                last = Some(&section.plan_title);
            }
            let link = format!("<a href=\"#{}\">{}</a>", escape(&section.name), escape(&section.title));
            let _ = writeln!(out, "<li>{link} <span class=\"aside\">{}</span></li>", escape(&trials(&section.trials)));
        }
        *out += "</ul>\n</nav>\n";
    }
    if !report.skipped.is_empty() {
        *out += "<section id=\"skipped\">\n<h2>Skipped experiments</h2>\n";
        put(out, "p", "The plan has them, and there is no record of a trial.");
        list(out, &report.skipped);
        *out += "</section>\n";
    }
}

fn trials(count: &Count) -> String {
    let missing = count.planned.saturating_sub(count.done + count.failed);
    let mut text = counted(count.done as u64, "trial");
    if count.failed > 0 {
        text += &format!(", {} failed", count.failed);
    }
    if missing > 0 {
        text += &format!(", {missing} not run");
    }
    text
}

fn failures(out: &mut String, report: &Report) {
    if report.failures.is_empty() {
        return;
    }
    *out += "<section id=\"failures\">\n<h2>Failed trials</h2>\n<div class=\"scroll\"><table>\n\
             <thead><tr><th>experiment</th><th>trial</th><th>reason and command</th></tr></thead>\n<tbody>\n";
    for failed in &report.failures {
        let _ = writeln!(
            out,
            "<tr><td><a href=\"#{0}\">{0}</a></td><td>{1}</td><td><pre>{2}</pre><code>{3}</code></td></tr>",
            escape(&failed.experiment),
            escape(&failed.trial),
            escape(failed.reason.trim_end()),
            escape(&failed.command),
        );
    }
    *out += "</tbody></table></div>\n</section>\n";
}

fn notes(out: &mut String, report: &Report) {
    if !report.notes.is_empty() {
        *out += "<section id=\"notes\">\n<h2>Notes</h2>\n";
        list(out, &report.notes);
        *out += "</section>\n";
    }
}

fn list(out: &mut String, items: &[String]) {
    *out += "<ul>\n";
    items.iter().for_each(|item| put(out, "li", item));
    *out += "</ul>\n";
}

fn sections(out: &mut String, report: &Report) {
    let mut last = None;
    for section in &report.sections {
        if last != Some(&section.plan_title) {
            put(out, "h2 class=\"plan\"", &section.plan_title);
            last = Some(&section.plan_title);
        }
        let _ = writeln!(out, "<section id=\"{}\">", escape(&section.name));
        put(out, "h3", &section.title);
        *out += "<p class=\"commands\">";
        let commands = section.commands.iter().map(|command| format!("<code>{}</code>", escape(command)));
        *out += &commands.collect::<Vec<_>>().join(" ");
        let _ = writeln!(out, " <span class=\"aside\">{}</span></p>", escape(&trials(&section.trials)));
        section.figures.iter().for_each(|one| figure(out, report, section, one));
        *out += "</section>\n";
    }
}

fn figure(out: &mut String, report: &Report, section: &Section, figure: &Figure) {
    let _ = writeln!(out, "<figure id=\"{}\">", escape(&figure.id));
    put(out, "h4", &figure.title);
    match &figure.drawing {
        None => table(out, &figure.table),
        Some(drawing) => {
            let kind = format!("{:?}", drawing.kind).to_lowercase();
            put(out, "p class=\"unit\"", &drawing.unit);
            let _ = writeln!(out, "<div class=\"plot\" data-kind=\"{kind}\"></div>");
            let _ = writeln!(out, "<div class=\"still\">{}</div>", svg::inline(drawing));
            if !drawing.notes.is_empty() {
                put(out, "p class=\"aside\"", &drawing.notes.join(" "));
            }
            *out += "<details><summary>Figures</summary>\n";
            table(out, &figure.table);
            *out += "</details>\n";
        }
    }
    let all: Vec<usize> = (0..report.origins.len()).collect();
    let places = figure.drawing.as_ref().map_or(all.as_slice(), |drawing| &drawing.origins);
    let made = places.iter().map(|place| made_by(report, *place)).collect::<Vec<_>>().join("; ");
    let _ = writeln!(
        out,
        "<figcaption>{} · <code>{}</code></figcaption>\n</figure>",
        escape(&made),
        escape(&section.run_command)
    );
}

/// Machine, date and commit of an origin.
fn made_by(report: &Report, place: usize) -> String {
    let Some(origin) = report.origins.get(place) else { return String::new() };
    let letter = if report.origins.len() > 1 { format!("({}) ", origin::letter(place)) } else { String::new() };
    format!("{letter}{} · {} · {}", origin.machine(), origin.days(), origin.version())
}

fn table(out: &mut String, table: &Table) {
    *out += "<div class=\"scroll\"><table>\n<thead><tr>";
    for (at, head) in table.head.iter().enumerate() {
        put(out, if at < table.names { "th" } else { "th class=\"figure\"" }, head);
    }
    *out += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        *out += "<tr>";
        for (at, cell) in row.iter().enumerate() {
            let class = if at < table.names { "" } else { " class=\"figure\"" };
            let _ = write!(out, "<td{class}>{}", escape(&cell.text));
            if !cell.small.is_empty() {
                let _ = write!(out, "<small>{}</small>", escape(&cell.small));
            }
            *out += "</td>";
        }
        *out += "</tr>\n";
    }
    *out += "</tbody></table></div>\n";
}

#[cfg(test)]
mod tests;
