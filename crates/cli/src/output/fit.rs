//! The widths of a table's columns on a screen, and the shortening of texts to these widths.

use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The blanks between two columns.
pub(super) const GAP: usize = 2;
/// A column of text is not cut to less than this.
const TEXT_LEAST: usize = 8;
/// A column of numbers is not cut to less than this.
const NUMBER_LEAST: usize = 24;

/// The width that a column needs to show all its values in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    pub width: usize,
    pub is_number: bool,
}

impl Wanted {
    fn least(self) -> usize {
        self.width.min(if self.is_number { NUMBER_LEAST } else { TEXT_LEAST })
    }
}

/// The widths of the columns in a row of `room` cells. If the columns do not fit even when all are cut, the last ones
/// are left out, and fewer widths are returned. The first column is always included.
pub(super) fn fit(columns: &[Wanted], room: usize) -> Vec<usize> {
    let (mut widths, mut used) = (Vec::new(), 0);
    for column in columns {
        let next = used + column.least() + if widths.is_empty() { 0 } else { GAP };
        if next > room && !widths.is_empty() {
            break;
        }
        used = next;
        widths.push(column.least().min(room.max(1)));
    }
    let mut left = room.saturating_sub(used);
    // The remaining room is divided equally among the columns that are cut.
    loop {
        let cut: Vec<usize> = (0..widths.len()).filter(|at| widths[*at] < columns[*at].width).collect();
        if cut.is_empty() || left == 0 {
            return widths;
        }
        let share = (left / cut.len()).max(1);
        for at in cut {
            let more = share.min(columns[at].width - widths[at]).min(left);
            widths[at] += more;
            left -= more;
        }
    }
}

/// A text of at most this width: a longer one ends with `…`.
pub(super) fn cut(text: &str, width: usize) -> Cow<'_, str> {
    // A character never takes more cells than it has bytes.
    if text.len() <= width || text.width() <= width {
        return Cow::Borrowed(text);
    }
    let (mut end, mut used) = (0, 0);
    for (at, grapheme) in text.grapheme_indices(true) {
        used += grapheme.width();
        if used >= width {
            break;
        }
        end = at + grapheme.len();
    }
    let mut shown = String::with_capacity(end + 3);
    shown.push_str(&text[..end]);
    shown.push('…');
    Cow::Owned(shown)
}

/// A path of at most this width: a longer one loses its beginning and starts with `…`, because the last name is the
/// most important.
pub(super) fn cut_path(path: &str, width: usize) -> Cow<'_, str> {
    if !path.contains('.') || path.width() <= width {
        return cut(path, width);
    }
    let (mut from, mut used) = (path.len(), 0);
    for (at, grapheme) in path.grapheme_indices(true).rev() {
        used += grapheme.width();
        if used >= width {
            break;
        }
        from = at;
    }
    Cow::Owned(format!("…{}", &path[from..]))
}

#[cfg(test)]
mod tests;
