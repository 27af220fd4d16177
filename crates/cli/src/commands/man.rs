//! `alluvium man`: the manual, a page a command.

use crate::exit::{Failure, Outcome};
use crate::files;
use crate::output::Output;
use crate::text;
use clap_mangen::Man;
use env::Env;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  alluvium man ~/.local/share/man/man1
  man alluvium-load")]
pub(crate) struct Args {
    /// The directory to write the pages to; it is made if it is not there
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

impl Args {
    /// Writes the pages, and says how many.
    pub(crate) fn run(&self) -> Outcome {
        Env::os().fs.create_dir_all(&self.dir)?;
        let mut definition = crate::app::definition().disable_help_subcommand(true);
        definition.build();
        let pages = write_pages(&self.dir, &definition)?;
        let mut out = Output::new();
        out.text(&format!("wrote {} to {}\n", text::counted(pages, "page"), self.dir.display()))?;
        out.finish()
    }
}

/// The page of a command, and those of the commands below it.
fn write_pages(dir: &Path, command: &clap::Command) -> Outcome<u64> {
    let man = Man::new(command.clone());
    let path = dir.join(man.get_filename());
    let mut page = Vec::new();
    man.render(&mut page).map_err(|error| Failure::io("write", &path, &error))?;
    files::create(&path)?.write_all(&page).map_err(|error| Failure::io("write", &path, &error))?;
    let below: Outcome<Vec<u64>> = command.get_subcommands().map(|sub| write_pages(dir, sub)).collect();
    Ok(1 + below?.iter().sum::<u64>())
}
