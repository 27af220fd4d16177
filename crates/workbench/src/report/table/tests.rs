use super::*;

#[test]
fn columns_are_named_by_their_paths() {
    for (path, name, unit) in [
        ("outcome.rate", "rate", ""),
        ("outcome.latency.p99", "latency p99", "µs"),
        ("outcome.cpu_us_per_document", "cpu per document", "µs"),
        ("outcome.found.0.cpu_us.median", "cpu median", "µs"),
        ("outcome.figures.per_200k.cpu_seconds", "per 200k cpu", "s"),
        ("outcome.0.figures.bytes_per_row", "bytes per row", ""),
        ("device.read_bytes", "device read", "bytes"),
        ("process.peak_memory_bytes", "peak memory", "bytes"),
        ("outcome.samples.last.file_bytes", "samples last file", "bytes"),
    ] {
        assert_eq!(named(path), (name.to_owned(), unit), "{path}");
    }
}
