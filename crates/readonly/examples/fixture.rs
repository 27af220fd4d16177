//! Creates the fixture of the format again: `cargo run -p alluvium-readonly --example fixture --
//! crates/readonly/tests/fixtures/v1`. The folder must not contain a store. Needed as long as
//! version 1 may change.

#[path = "../tests/common/fixture.rs"]
mod fixture;

use alluvium_env::Env;
use std::path::PathBuf;

fn main() -> alluvium_readonly::Result<()> {
    let Some(dir) = std::env::args().nth(1).map(PathBuf::from) else {
        eprintln!("usage: fixture DIR");
        return Ok(());
    };
    fixture::build(Env { rng: Env::in_memory(1).rng, ..Env::os() }, &dir)
}
