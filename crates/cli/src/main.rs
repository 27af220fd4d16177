//! The `alluvium` command: arguments become settings, and settings run one command of the library.

mod app;
mod commands;
mod exit;
mod files;
mod output;
mod process;
mod settings;
mod signals;
mod text;

fn main() -> std::process::ExitCode {
    app::main()
}
