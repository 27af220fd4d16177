//! Compresses the records of a segment of the log, cut into pieces of several lengths, and prints the ratio and the
//! speed by level. A load that is killed leaves segments.
//! Run: `cargo run --release -p alluvium-wal --example log_compression -- <segment>`.

use alluvium_env::{Env, Error};
use alluvium_wal::{Walk, segment_number, walk_segment};
use std::io;
use std::path::PathBuf;
use zstd_safe::{CCtx, CParameter, compress_bound};

fn main() -> alluvium_env::Result<()> {
    let env = Env::os();
    let path = PathBuf::from(std::env::args().nth(1).unwrap_or_default());
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let other = || Error::io("read", &path, io::Error::other("it is not a segment of a log"));
    let walk = Walk { number: segment_number(&name).ok_or_else(other)?, ..Walk::default() };
    let mut records = Vec::new();
    walk_segment(&env, &path, walk, &mut |group| {
        records.extend(group.records.iter().map(|record| record.payload.to_vec()));
        Ok(())
    })?;
    for bytes in [2_000, 4_000, 16_000, 64_000, 1 << 20] {
        for level in [1, -1, -5] {
            let (mut raw, mut short) = (0, 0);
            let mut context = CCtx::create();
            let mut out = vec![0; compress_bound(bytes)];
            let started = env.clock.now();
            for piece in records.iter().flat_map(|record| record.chunks(bytes)) {
                let failed = |_| Error::io("compress", &path, io::Error::other("zstd fails"));
                context.set_parameter(CParameter::CompressionLevel(level)).map_err(failed)?;
                short += context.compress2(&mut out[..], piece).map_err(failed)?;
                raw += piece.len();
            }
            let seconds = (env.clock.now() - started).as_secs_f64();
            println!(
                "{bytes} bytes, level {level}: {:.2}, {:.0} MB/s",
                raw as f64 / short as f64,
                raw as f64 / 1e6 / seconds
            );
        }
    }
    Ok(())
}
