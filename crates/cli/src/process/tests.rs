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

#[test]
fn a_thread_counts_its_own_reads() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let before = thread_io(thread_id());
    alluvium_env::thread::scope(|scope| {
        scope.spawn(move || {
            let before = thread_io(thread_id());
            let _one = load_average();
            let after = thread_io(thread_id());
            sender.send((thread_id(), after.since(&before).read_calls)).unwrap();
        });
    });
    let (other, calls) = receiver.recv().unwrap();
    assert_ne!(other, thread_id());
    // Two reads for the file and two for the first read of the counters. It may be fewer, if the kernel needs no second
    // call.
    assert!((2..=4).contains(&calls), "{calls}");
    let own = thread_io(thread_id()).since(&before).read_calls;
    assert!(own <= 2, "the other thread's reads are not this one's: {own}");
}

#[test]
fn the_ticks_of_children_are_found_behind_any_name() {
    let stat = "17 (a (b) 1 2) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17";
    // Fields 16 and 17 of proc(5); `R` is field 3.
    assert_eq!(child_ticks(stat), Some(13 + 14));
    assert_eq!(child_ticks("nonsense"), None);
}

#[test]
#[cfg(target_os = "linux")]
fn linux_reports_the_time_of_children() {
    assert!(children_cpu_time().is_some());
}
