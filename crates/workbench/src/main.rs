//! The `alluvium-bench` command: see the library beside it.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

// The allocator is the system's, as in `alluvium`.
fn main() -> std::process::ExitCode {
    alluvium_workbench::main()
}
