#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cli::fuzz::shell(data));
