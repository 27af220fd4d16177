//! Measures the CPU time of the thread for appending to a log on this machine's disk, and for
//! replaying it. Run: `cargo run --release -p alluvium-wal --example wal_speed -- <empty
//! directory>`.

use alluvium_env::Env;
use alluvium_wal::{Options, Record, Wal};
use rustix::time::{ClockId, clock_gettime};
use std::path::{Path, PathBuf};

fn main() -> alluvium_env::Result<()> {
    let env = Env::os();
    let dir = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "wal-speed".to_owned()));
    for (records, len, groups) in [(1, 400, 200_000), (10, 400, 30_000), (100, 400, 3_000), (1000, 1000, 200)] {
        let dir = dir.join(format!("{records}x{len}"));
        env.fs.create_dir_all(&dir)?;
        run(&env, &dir, records, len, groups)?;
        for entry in env.fs.list(&dir)? {
            env.fs.remove(&dir.join(entry.name))?;
        }
        env.fs.remove_dir(&dir)?;
    }
    Ok(())
}

fn run(env: &Env, dir: &Path, records: u64, len: usize, groups: u64) -> alluvium_env::Result<()> {
    let (wal, _) = Wal::recover(env, dir, Options::new(1), &mut |_| Ok(()))?;
    let payload = vec![7; len];
    let mut next = 1;
    let mut slowest = 0;
    let start = cpu_nanos();
    for _ in 0..groups {
        let group: Vec<_> = (next..next + records).map(|seq| Record::new(seq, seq, &payload)).collect();
        let before = env.clock.now();
        wal.append(&group)?;
        slowest = slowest.max((env.clock.now() - before).as_micros());
        next += records;
    }
    let took = cpu_nanos() - start;
    let bytes = wal.bytes_written();
    let per = took / groups as f64;
    let rate = bytes as f64 / took;
    println!("{records:>5} records of {len} B: {per:>9.0} ns a group, {rate:.2} GB/s, slowest {slowest} µs");
    let start = env.clock.now();
    let before = wal.sync()?;
    println!("      a sync of what is left: {} µs", (env.clock.now() - start).as_micros());
    wal.close()?;
    drop(wal);
    let start = cpu_nanos();
    let (wal, recovery) = Wal::recover(env, dir, Options::new(1), &mut |_| Ok(()))?;
    let took = cpu_nanos() - start;
    let (records, rate) = (recovery.records, bytes as f64 / took);
    println!("      replay: {:.0} ns a record, {rate:.2} GB/s, up to {before:?}", took / records as f64);
    wal.close()
}

fn cpu_nanos() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}
