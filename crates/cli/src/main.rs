//! The `alluvium` command: arguments become settings, and settings run one command of the library.

mod allocator;
mod app;
mod commands;
mod config;
mod exit;
mod files;
mod logging;
mod output;
mod process;
mod progress;
mod session;
mod settings;
mod signals;
mod text;

// The system's allocator: with mimalloc, a load of a million comments took 5 to 15% more processor
// time, and 25% (budget 512 MB) to 100% (64 MB) more memory.
fn main() -> std::process::ExitCode {
    app::main()
}
