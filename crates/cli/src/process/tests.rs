use super::*;

#[test]
fn a_field_is_found_at_the_beginning_of_its_line_only() {
    let text = "rchar: 1\nwrite_bytes: 4096\ncancelled_write_bytes: 7\n";
    assert_eq!(field(text, "write_bytes:"), Some(4096));
    assert_eq!(field(text, "bytes:"), None);
}

#[test]
fn work_takes_processor_time() {
    let before = cpu_time();
    let mut sum = 0_u64;
    while cpu_time() - before < Duration::from_millis(5) {
        sum = sum.wrapping_mul(31).wrapping_add(1);
    }
    assert!(cpu_time() > before, "{sum}");
}

#[test]
#[cfg(target_os = "linux")]
fn the_peak_is_not_below_what_is_resident() {
    let resident = resident_bytes().expect("Linux tells");
    assert!(resident > 100 << 10);
    assert!(peak_resident_bytes().expect("Linux tells") >= resident);
    assert!(children_cpu_time().is_some());
}
