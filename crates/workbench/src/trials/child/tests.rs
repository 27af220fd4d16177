use super::*;

#[test]
fn the_end_of_what_a_failed_process_wrote_is_kept() {
    use std::os::unix::process::ExitStatusExt;
    let failed = |err: &str| result_of(ExitStatus::from_raw(7 << 8), b"", err.as_bytes()).expect_err("a failure");
    assert_eq!(failed("no space\n"), "exit status: 7: no space");
    assert_eq!(failed(""), "exit status: 7");
    let long = failed(&format!("first{}last", "é".repeat(3000)));
    assert!(long.ends_with("élast") && !long.contains("first"), "{long}");
    let cut = result_of(ExitStatus::from_raw(0), b"{\"a\": ", b"").expect_err("a failure");
    assert!(cut.starts_with("what it printed is not JSON"), "{cut}");
    assert_eq!(result_of(ExitStatus::from_raw(0), b"{}\n", b"noise"), Ok(serde_json::json!({})));
}
