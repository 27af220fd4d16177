//! `cargo xtask counts`: runs the hot paths under callgrind, and compares their instruction counts with a table.

mod build;
mod table;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use table::{Count, Difference, Table};

/// The table, from the root of the repository.
const TABLE: &str = "crates/counts/table.txt";

/// The function of `alluvium-counts` that encloses each path, as callgrind prints it.
const MEASURED: &str = "alluvium_counts::measured";

/// Compares the counts of this build with the counts in the table. With `update`, writes them to the table instead.
pub(crate) fn run(root: &Path, update: bool) -> ExitCode {
    match count(root) {
        Ok(Some(now)) => match finish(&root.join(TABLE), &now, update) {
            Ok(code) => code,
            Err(error) => fail(&format!("{TABLE}: {error}")),
        },
        Ok(None) => ExitCode::SUCCESS,
        Err(error) => fail(&format!("cannot count instructions: {error}")),
    }
}

fn fail(what: &str) -> ExitCode {
    eprintln!("counts: {what}");
    ExitCode::from(2)
}

/// The counts of this build. Without valgrind, prints a note and returns `None`.
fn count(root: &Path) -> io::Result<Option<Table>> {
    let Some(valgrind) = words(Command::new("valgrind").arg("--version")) else {
        println!("counts: NOT COMPARED: valgrind is missing (`make setup` installs it)");
        return Ok(None);
    };
    let binary = build::binary(root)?;
    let folder = binary.with_file_name("counts");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "-q"])
        .arg(format!("--callgrind-out-file={}", folder.join("out").display()))
        .args([format!("--zero-before={MEASURED}"), format!("--dump-after={MEASURED}")])
        .arg(&binary)
        .arg(folder.join("database"))
        .output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("{} ended with {}\n{printed}{said}", binary.display(), output.status)));
    }
    let counts = printed.lines().enumerate().map(|(at, line)| of_path(&folder, at + 1, line));
    let table = Table { made_with: made_with(&valgrind), counts: counts.collect::<io::Result<_>>()? };
    fs::remove_dir_all(&folder)?;
    Ok(Some(table))
}

/// The count of one path. `line` is the path's line of the output, and `at` is the number of the file that callgrind
/// wrote.
fn of_path(folder: &Path, at: usize, line: &str) -> io::Result<Count> {
    let file = folder.join(format!("out.{at}"));
    let wrong = |what: &str| io::Error::other(format!("{line}: {what} ({})", file.display()));
    let (path, operations) = line.split_once(' ').ok_or_else(|| wrong("no number of operations"))?;
    let operations: u64 = operations.parse().map_err(|_| wrong("no number of operations"))?;
    let text = fs::read_to_string(&file).map_err(|error| wrong(&format!("callgrind counted nothing: {error}")))?;
    let total = table::total(&text).ok_or_else(|| wrong("callgrind wrote no totals"))?;
    Ok(Count { path: path.to_owned(), instructions: total / operations.max(1) })
}

/// The inputs of the counts, except the sources.
fn made_with(valgrind: &str) -> Vec<String> {
    let rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let say = |command: &mut Command| words(command).unwrap_or_else(|| "unknown".to_owned());
    let mut rustc = rustc;
    // Valgrind reports some features of the processor to programs, and libraries choose their code by them.
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let wide = info.lines().any(|line| line.starts_with("flags") && line.split(' ').any(|flag| flag == "avx2"));
    vec![
        say(rustc.arg("--version")),
        say(Command::new("getconf").arg("GNU_LIBC_VERSION")),
        valgrind.to_owned(),
        format!("{}{}", std::env::consts::ARCH, if wide { " with avx2" } else { "" }),
    ]
}

/// The output of a command, without the line break at its end; `None` if the command fails.
fn words(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn finish(path: &PathBuf, now: &Table, update: bool) -> io::Result<ExitCode> {
    if update {
        fs::write(path, now.to_string())?;
        println!("counts: wrote {TABLE}\n{now}");
        return Ok(ExitCode::SUCCESS);
    }
    let before = Table::parse(&fs::read_to_string(path)?).map_err(io::Error::other)?;
    if before.made_with != now.made_with {
        println!("counts: NOT COMPARED: {TABLE} was made with another compiler, library, valgrind or processor");
        println!("  the table: {}\n  here:      {}", before.made_with.join(", "), now.made_with.join(", "));
        return Ok(ExitCode::SUCCESS);
    }
    let differences = table::differences(&before, now);
    differences.iter().for_each(|difference| println!("counts: {difference}"));
    if differences.iter().any(Difference::is_beyond_tolerance) {
        println!(
            "counts: instructions for each operation differ from {TABLE} by more than {} in 100; if that is meant, \
             run `make counts-update`, and give the reason in the commit",
            table::TOLERANCE_PERCENT
        );
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
