//! `alluvium completions`: completion scripts for shells.

use crate::context::Context;
use crate::exit::Outcome;
use crate::output::Output;
use clap_complete::Shell;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  alluvium completions bash > ~/.local/share/bash-completion/completions/alluvium
  alluvium completions zsh > ~/.zfunc/_alluvium          (with ~/.zfunc in fpath)
  alluvium completions fish > ~/.config/fish/completions/alluvium.fish")]
pub(crate) struct Args {
    /// The shell that the script is for
    #[arg(value_enum)]
    shell: Shell,
}

impl Args {
    /// Prints the script.
    pub(crate) fn run(&self, context: Context<'_>) -> Outcome {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut (context.definition)(), "alluvium", &mut script);
        let mut out = Output::new();
        out.bytes(&script)?;
        out.finish()
    }
}
