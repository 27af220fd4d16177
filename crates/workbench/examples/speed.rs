//! Loads generated comments, gets and updates some, and prints what each cost.
//!
//! `cargo run --release -p alluvium-workbench --example speed -- DIRECTORY DOCUMENTS MEMORY_MIB [THREADS [BLOCK_KIB]]`

use alluvium::Database;
use alluvium_cli::process::{Usage, peak_resident_bytes};
use alluvium_workbench::scenarios::documents::{self, Settings};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| arguments.get(at).and_then(|a| a.parse().ok()).unwrap_or(default);
    let path = arguments.first().map_or("speed.alluvium", String::as_str);
    let (count, memory, threads) = (number(1, 200_000), number(2, 512), number(3, 2));
    let db =
        Database::builder().memory((memory as usize) << 20).block_bytes((number(4, 4) as usize) << 10).open(path)?;
    let comments = db.collection("comments");
    let clock = alluvium_env::Env::os().clock;
    let (start, before) = (clock.now(), Usage::now());
    let report = documents::load(&comments, count, 1).readers(threads as usize).run()?;
    let loaded = clock.now() - start;
    db.wait_for_compaction()?;
    let usage = Usage::now().since(&before);
    let micros = |seconds: f64| seconds * 1e6 / count as f64;
    let stats = db.stats();
    println!(
        "load: {:.0} docs/s, settled after {:.1} s",
        count as f64 / loaded.as_secs_f64(),
        (clock.now() - start).as_secs_f64()
    );
    println!("  cpu {:.2} us/doc with the generator's 0.8", micros(usage.cpu_seconds));
    println!(
        "  written {:.3}, disk {:.3} of {} MB JSON",
        usage.written_bytes as f64 / report.bytes as f64,
        stats.disk_bytes as f64 / report.bytes as f64,
        report.bytes / 1_000_000
    );
    println!(
        "  log {} flushed {} compacted {} (MB), peak memory {} MiB, runs {:?}",
        stats.log_bytes_written / 1_000_000,
        stats.flushed_bytes / 1_000_000,
        stats.compacted_bytes / 1_000_000,
        peak_resident_bytes().unwrap_or(0) >> 20,
        stats.partitions.iter().map(|p| (p.runs, p.files, p.trivial_moves)).collect::<Vec<_>>()
    );
    println!("  waits {} for {:?}", stats.admission_waits, stats.admission_waited);
    let ids = documents::sample_ids(&comments, 1)?;
    let settings =
        Settings { threads: 1, operations: 200_000, duration: Duration::from_secs(20), ..Settings::default() };
    for round in ["get", "get again", "update"] {
        let outcome = match round {
            "update" => documents::update(&db, &comments, &ids, &settings)?,
            _ => documents::get(&db, &comments, &ids, &settings)?,
        };
        let stats = db.stats();
        println!(
            "{round}: {:.0}/s, cpu {:.2} us, p50 {:.1} p99 {:.1} us, hits {} misses {}",
            outcome.rate,
            outcome.cpu_us,
            outcome.latency.p50,
            outcome.latency.p99,
            stats.cache_hits,
            stats.cache_misses
        );
    }
    db.close()?;
    Ok(())
}
