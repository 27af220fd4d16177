//! `alluvium man`: writes the manual, one page per command.

use crate::context::Context;
use crate::exit::{Failure, Outcome};
use crate::files;
use crate::output::Output;
use crate::text;
use alluvium_env::Env;
use clap_mangen::Man;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  alluvium man ~/.local/share/man/man1
  man alluvium-load")]
pub(crate) struct Args {
    /// The directory to write the pages to; it is created if it does not exist
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Replace pages that exist
    #[arg(long)]
    force: bool,
}

/// A page of the manual, and its file.
struct Page {
    path: PathBuf,
    text: Vec<u8>,
}

impl Args {
    /// Writes the pages, and prints their number.
    pub(crate) fn run(&self, context: Context<'_>) -> Outcome {
        let env = Env::os();
        let mut definition = (context.definition)().disable_help_subcommand(true);
        definition.build();
        let pages = pages(&self.dir, definition)?;
        // Writes all pages or none.
        pages.iter().try_for_each(|page| files::refuse_taken(&env, &page.path, self.force))?;
        env.fs.create_dir_all(&self.dir)?;
        for Page { path, text } in &pages {
            files::create(path)?.write_all(text).map_err(|error| Failure::io("write", path, &error))?;
        }
        let mut out = Output::new();
        out.text(&format!("wrote {} to {}\n", text::counted(pages.len() as u64, "page"), text::path(&self.dir)))?;
        out.finish()
    }
}

/// The pages of a command and its subcommands.
fn pages(dir: &Path, command: clap::Command) -> Outcome<Vec<Page>> {
    let below: Vec<clap::Command> = command.get_subcommands().cloned().collect();
    let man = Man::new(command);
    let path = dir.join(man.get_filename());
    let mut text = Vec::new();
    man.render(&mut text).map_err(|error| Failure::io("write", &path, &error))?;
    let mut all = vec![Page { path, text }];
    for command in below {
        all.extend(pages(dir, command)?);
    }
    Ok(all)
}
