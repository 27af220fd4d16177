#![cfg(not(feature = "shuttle"))]

use super::*;

#[test]
fn a_thread_has_its_name_and_gives_its_result() {
    let handle = spawn("flusher", || std::thread::current().name().map(str::to_owned));
    assert_eq!(handle.name(), "flusher");
    assert_eq!(handle.join().unwrap().as_deref(), Some("flusher"));
}

#[test]
fn a_panic_comes_back_as_an_error_with_its_message() {
    let error = spawn("worker", || panic!("plain")).join().map(|(): ()| ()).unwrap_err();
    assert_eq!(error.to_string(), "the thread worker panicked: plain");
    let error = spawn("worker", || panic!("with {}", 1)).join().map(|(): ()| ()).unwrap_err();
    assert_eq!(error.message, "with 1");
    let payload = || std::panic::panic_any(7);
    assert_eq!(spawn("worker", payload).join().map(|(): ()| ()).unwrap_err().message, "(no message)");
}

#[test]
fn there_is_at_least_one_processor() {
    assert!(available_parallelism() >= 1);
    yield_now();
}
