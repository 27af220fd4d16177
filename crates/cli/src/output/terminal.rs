//! The terminal that standard output is connected to: its size, its colours, and the user's wishes
//! about both.

use crate::streams;
use crate::variables::{given, variable};
use std::cell::Cell;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::sync::OnceLock;

/// When output has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless the variable NO_COLOR is set
    #[default]
    Auto,
    /// Always, also in a file or pipe
    Always,
    /// Never
    Never,
}

/// The global options about the terminal.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wishes {
    pub color: Color,
    /// True if long output is printed without a pager.
    pub no_pager: bool,
}

/// The wishes of this process; [`Wishes::default`] until they are set.
static WISHES: OnceLock<Wishes> = OnceLock::new();

thread_local! {
    /// The wishes of another process, whose command runs on this thread.
    static OF_VISITOR: Cell<Option<Wishes>> = const { Cell::new(None) };
}

/// Sets the wishes of the command on this thread; `None` restores those of the process.
pub(crate) fn share(wishes: Option<Wishes>) {
    OF_VISITOR.with(|shared| shared.set(wishes));
}

/// Sets the wishes of this process. Only the first call has an effect.
pub(crate) fn set(wishes: Wishes) {
    let _the_first_stay = WISHES.set(wishes);
}

fn wishes() -> Wishes {
    OF_VISITOR.with(Cell::get).or_else(|| WISHES.get().copied()).unwrap_or_default()
}

/// The columns and rows of a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub columns: usize,
    pub rows: usize,
}

/// True if standard output is a terminal.
pub(crate) fn is_present() -> bool {
    streams::output().is_terminal()
}

/// The size of the terminal; `None` if standard output is not one, or has no known size.
pub(super) fn size() -> Option<Size> {
    let (columns, rows) = terminal_size::terminal_size_of(streams::output())?;
    let size = Size { columns: usize::from(columns.0), rows: usize::from(rows.0) };
    (size.columns > 0 && size.rows > 0).then_some(size)
}

/// The number of columns of a terminal.
pub(crate) fn columns_of(terminal: impl AsFd) -> Option<u16> {
    terminal_size::terminal_size_of(terminal).map(|(columns, _)| columns.0).filter(|columns| *columns > 0)
}

/// The number of columns that a table may take: the columns of the terminal, or else the variable COLUMNS. `None` means
/// no limit.
pub(super) fn width() -> Option<usize> {
    let of_variable = || variable("COLUMNS")?.parse().ok().filter(|columns| *columns > 0);
    size().map(|size| size.columns).or_else(of_variable)
}

/// True if standard output may have colours.
pub(crate) fn has_colours() -> bool {
    may_have_colours(is_present())
}

/// True if the text on a stream may have colours: on a terminal that supports them, unless the user
/// disables them (<https://no-color.org>, `--color`).
pub fn has_colours_on(stream: &impl IsTerminal) -> bool {
    may_have_colours(stream.is_terminal())
}

fn may_have_colours(is_terminal: bool) -> bool {
    match wishes().color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => is_terminal && variable("NO_COLOR").is_none() && !is_dumb(),
    }
}

fn is_dumb() -> bool {
    variable("TERM").is_some_and(|terminal| terminal == "dumb")
}

/// The command of the pager: the content of the variable PAGER, or `less`. `None` if output is not paged: without a
/// terminal, with `--no-pager`, or if PAGER is empty or `cat`.
pub(super) fn pager() -> Option<String> {
    if wishes().no_pager || is_dumb() || !is_present() {
        return None;
    }
    let command = given("PAGER").map_or_else(|| "less".to_owned(), |command| command.trim().to_owned());
    (!command.is_empty() && command != "cat").then_some(command)
}
