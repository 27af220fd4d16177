//! The `alluvium-bench` command: see the library of this crate.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

// The program uses the allocator of the system, like `alluvium`.
fn main() -> std::process::ExitCode {
    alluvium_workbench::main()
}
