use super::*;

#[test]
fn the_ticks_of_children_are_found_behind_any_name() {
    let stat = "17 (a (b) 1 2) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17";
    // Fields 16 and 17 of proc(5), of which `R` is the third.
    assert_eq!(child_ticks(stat), Some(13 + 14));
    assert_eq!(child_ticks("nonsense"), None);
}

#[test]
#[cfg(target_os = "linux")]
fn linux_tells() {
    assert!(children_cpu_time().is_some());
}
