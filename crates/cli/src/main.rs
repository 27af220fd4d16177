//! The `alluvium` command; the library in this crate contains the code.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

// The program uses the system's allocator. With mimalloc, a load of a million comments took 5 to 15% more processor
// time, and 25% (budget 512 MB) to 100% (64 MB) more memory.
fn main() -> std::process::ExitCode {
    alluvium_cli::main()
}
