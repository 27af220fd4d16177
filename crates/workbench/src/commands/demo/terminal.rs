//! Output of the demo while it runs: steps on standard error, with colours and times on a terminal.

use alluvium_cli::output;
use alluvium_cli::text;
use std::io::{IsTerminal, Write};
use std::time::Duration;

const BOLD: &str = "\x1b[1m";
const TIME: &str = "\x1b[36m";
const FAINT: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// Announces the start of a step.
pub(super) fn begin(step: &str) {
    write(&format!("- {}\n", paint(step, BOLD, &std::io::stderr())));
}

/// Reports the time that a step took, on a terminal.
pub(super) fn end(took: Duration) {
    let stderr = std::io::stderr();
    if stderr.is_terminal() {
        write(&format!("  {}\n", paint(&text::duration(took), TIME, &stderr)));
    }
}

/// A heading on standard output.
pub(super) fn heading(text: &str) -> String {
    paint(text, BOLD, &std::io::stdout())
}

/// A time on standard output.
pub(super) fn time(took: Duration) -> String {
    paint(&text::duration(took), TIME, &std::io::stdout())
}

/// Details on standard output: indented lines.
pub(super) fn details(lines: &str) -> String {
    let stdout = std::io::stdout();
    lines.lines().map(|line| format!("      {}\n", paint(&text::plain(line), FAINT, &stdout))).collect()
}

fn paint(text: &str, colour: &str, stream: &impl IsTerminal) -> String {
    match output::has_colours_on(stream) {
        true => format!("{colour}{text}{PLAIN}"),
        false => text.to_owned(),
    }
}

fn write(text: &str) {
    // An error is ignored: if standard error is closed, it cannot be reported.
    let _closed = std::io::stderr().write_all(text.as_bytes());
}
