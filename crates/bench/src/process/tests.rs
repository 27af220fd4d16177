use super::*;

#[test]
fn a_field_is_found_at_the_beginning_of_its_line_only() {
    let text = "rchar: 1\nwrite_bytes: 4096\ncancelled_write_bytes: 7\n";
    assert_eq!(field(text, "write_bytes:"), Some(4096));
    assert_eq!(field(text, "bytes:"), None);
}

#[test]
fn work_takes_processor_time() {
    let before = Usage::now();
    let mut sum = 0_u64;
    while Usage::now().since(&before).cpu_seconds < 0.005 {
        sum = sum.wrapping_mul(31).wrapping_add(1);
    }
    assert!(Usage::now().cpu_seconds > before.cpu_seconds, "{sum}");
}
