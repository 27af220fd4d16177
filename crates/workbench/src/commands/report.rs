//! `alluvium-bench report`.

use crate::report::{Report, page, read, svg};
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::files;
use alluvium_cli::output::Output;
use alluvium_cli::signals::Stop;
use alluvium_cli::text;
use alluvium_env::Env;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Figures of other machines, versions and sizes are drawn as lines of their own. Records that cannot be read are skipped, \
with a note in the page.

Example: alluvium-bench report results -o report.html --svg charts")]
pub(crate) struct Args {
    /// Directories that `alluvium-bench run` wrote
    #[arg(value_name = "DIR", required = true)]
    dirs: Vec<PathBuf>,
    /// The page to write; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Write each chart as an SVG file into this folder, too
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,
    /// The title of the page; by default, that of the plan
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Replace the files if they exist
    #[arg(long)]
    force: bool,
}

impl Args {
    /// Reads the records, and writes the page and the charts.
    pub(super) fn run(&self) -> Outcome {
        Stop::at_once()?;
        let env = Env::os();
        let is_stdout = self.output == Path::new("-");
        if !is_stdout {
            files::refuse_taken(&env, &self.output, self.force)?;
        }
        let runs = self.dirs.iter().map(|dir| read::read(&env, dir)).collect::<Outcome<Vec<_>>>()?;
        let report = Report::of(&runs, self.title.clone());
        let charts = self.charts(&env, &report)?;
        let page = page::html(&report);
        charts.iter().try_for_each(|(path, svg)| write(path, svg))?;
        if is_stdout {
            let mut out = Output::new();
            out.text(&page)?;
            return out.finish();
        }
        write(&self.output, &page)?;
        let mut out = Output::new();
        out.text(&format!("wrote {}: {}\n", text::plain(&self.output.display().to_string()), report.summary()))?;
        out.finish()
    }

    /// Returns the SVG files to write. Creates their folder.
    fn charts(&self, env: &Env, report: &Report) -> Outcome<Vec<(PathBuf, String)>> {
        let Some(folder) = &self.svg else { return Ok(Vec::new()) };
        files::refuse_inside(env, folder)?;
        env.fs.create_dir_all(folder)?;
        let mut charts = Vec::new();
        for drawing in report.drawings() {
            let path = folder.join(format!("{}.svg", drawing.id()));
            files::refuse_taken(env, &path, self.force)?;
            charts.push((path, svg::file(drawing)));
        }
        Ok(charts)
    }
}

fn write(path: &Path, content: &str) -> Outcome {
    let mut file = files::create(path)?;
    file.write_all(content.as_bytes()).map_err(|error| Failure::io("write", path, &error))
}
