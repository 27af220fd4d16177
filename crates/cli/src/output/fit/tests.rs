use super::*;

fn widths(columns: &[(usize, bool)], room: usize) -> Vec<usize> {
    let columns: Vec<Wanted> = columns.iter().map(|&(width, is_number)| Wanted { width, is_number }).collect();
    fit(&columns, room)
}

#[test]
fn columns_that_fit_are_not_cut() {
    assert_eq!(widths(&[(10, false), (3, true)], 15), [10, 3]);
    assert_eq!(widths(&[(10, false), (3, true)], 1000), [10, 3]);
    assert_eq!(widths(&[], 10), [0; 0]);
}

#[test]
fn the_widest_are_cut_first_and_equally() {
    assert_eq!(widths(&[(100, false), (5, false), (100, false)], 49), [20, 5, 20]);
    assert_eq!(widths(&[(100, false), (12, false), (100, false)], 56), [20, 12, 20]);
    // If one cell is left over, the first column gets it.
    assert_eq!(widths(&[(100, false), (100, false)], 43), [21, 20]);
}

#[test]
fn numbers_are_cut_last() {
    assert_eq!(widths(&[(100, false), (20, true)], 40), [18, 20]);
    assert_eq!(widths(&[(100, false), (400, true)], 40), [11, 27]);
}

#[test]
fn columns_without_room_are_left_out_at_the_right() {
    assert_eq!(widths(&[(30, false), (30, false), (30, false)], 19), [9, 8]);
    assert_eq!(widths(&[(30, false), (30, false)], 17), [17]);
    assert_eq!(widths(&[(30, false), (30, false)], 3), [3]);
    assert_eq!(widths(&[(30, false)], 0), [1]);
}

#[test]
fn the_sum_never_exceeds_the_room() {
    let mut rng = fastrand::Rng::with_seed(1);
    for _ in 0..2000 {
        let columns: Vec<(usize, bool)> = (0..rng.usize(1..12)).map(|_| (rng.usize(0..60), rng.bool())).collect();
        let room = rng.usize(1..200);
        let fitted = widths(&columns, room);
        assert!(!fitted.is_empty() && fitted.len() <= columns.len());
        let sum: usize = fitted.iter().sum::<usize>() + GAP * (fitted.len() - 1);
        assert!(sum <= room, "{columns:?} in {room}: {fitted:?}");
        let all: usize = columns.iter().map(|(width, _)| width).sum::<usize>() + GAP * (columns.len() - 1);
        assert!(all > room || fitted.len() == columns.len(), "{columns:?} in {room}: {fitted:?}");
        for (fitted, (wanted, _)) in fitted.iter().zip(&columns) {
            assert!(fitted <= wanted);
        }
    }
}

#[test]
fn texts_are_cut_at_the_borders_of_what_is_seen_as_a_character() {
    assert_eq!(cut("abc", 3), "abc");
    assert_eq!(cut("abcd", 3), "ab…");
    assert_eq!(cut("äöü", 3), "äöü");
    // Each character is two cells wide.
    assert_eq!(cut("日本語", 6), "日本語");
    assert_eq!(cut("日本語", 5), "日本…");
    assert_eq!(cut("日本語", 4), "日…");
    assert_eq!(cut("日本語", 1), "…");
    // A letter with a combining accent, and a family that is one emoji.
    assert_eq!(cut("e\u{301}xyz", 2), "e\u{301}…");
    let family = "👨\u{200d}👩\u{200d}👧";
    assert_eq!(cut(&format!("{family}abc"), 3), format!("{family}…"));
    assert_eq!(cut("abcd", 0), "…");
}

#[test]
fn paths_keep_their_last_names() {
    assert_eq!(cut_path("name.native.common", 18), "name.native.common");
    assert_eq!(cut_path("name.native.common", 10), "…ve.common");
    assert_eq!(cut_path("name.日本語", 5), "…本語");
    assert_eq!(cut_path("name", 3), "na…");
    assert_eq!(cut_path("a.bc", 1), "…");
}
