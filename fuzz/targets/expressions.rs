#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| alluvium_testkit::fuzz::run("expressions", data));
