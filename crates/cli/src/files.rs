//! Files outside of databases that the commands write: rejects, progress, generated data. Also opens any file as a
//! stream.

use crate::exit::{Failure, Outcome};
use crate::session;
use crate::text;
use alluvium_env::Env;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Creates a file, truncating an existing one.
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "output for the user, no part of a database: it streams, and needs no power cuts"
)]
pub fn create(path: &Path) -> Outcome<impl Write + Send + 'static> {
    std::fs::File::create(path).map_err(|error| Failure::io("create", path, &error))
}

/// Opens a file for appending; creates it if it does not exist.
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "output for the user, no part of a database: it streams, and needs no power cuts"
)]
pub(crate) fn append(path: &Path) -> Outcome<impl Write + Send + 'static> {
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true).open(path).map_err(|error| Failure::io("open", path, &error))
}

/// The text of a small file of the user; `None` if it does not exist.
#[allow(clippy::disallowed_methods, reason = "a file of the user, no part of a database")]
pub(crate) fn text_of(path: &Path) -> Outcome<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::io("read", path, &error)),
    }
}

/// Replaces a small file of the user as a whole: a crash leaves the former text or the new one.
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a file of the user, no part of a database: its sync and its rename are those of the system"
)]
pub(crate) fn replace(path: &Path, text: &str) -> Outcome {
    let mut name = path.to_owned().into_os_string();
    name.push(".new");
    let new = PathBuf::from(name);
    let write = || {
        let mut file = std::fs::File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&new, path)
    };
    write().map_err(|error| Failure::io("write", path, &error))
}

/// The file that identifies a directory as a database.
const SUPERBLOCK: &str = "ALLUVIUM";

/// The path of a file that may not exist, with symbolic links resolved.
#[allow(clippy::disallowed_methods, reason = "a file of the user, no part of a database")]
fn real(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = |above: &Path| {
        let real = std::fs::canonicalize(above).ok()?;
        let missing = whole.strip_prefix(above).ok()?;
        Some(if missing.as_os_str().is_empty() { real } else { real.join(missing) })
    };
    whole.ancestors().find_map(there).unwrap_or_else(|| whole.clone())
}

/// Refuses to write to a file or directory inside a database.
pub fn refuse_inside(env: &Env, path: &Path) -> Outcome {
    for above in real(path).ancestors().skip(1) {
        if env.fs.exists(&above.join(SUPERBLOCK))? {
            let (path, above) = (text::path(path), text::path(above));
            return Err(Failure::Usage(format!("{path} is inside the database {above}: choose another path")));
        }
    }
    Ok(())
}

/// Refuses to write to a file inside a database. Also refuses an existing file, unless `replace` is set. Existing pipes
/// and devices are allowed.
pub fn refuse_taken(env: &Env, path: &Path, replace: bool) -> Outcome {
    if is_stream(path) {
        return Ok(());
    }
    refuse_inside(env, path)?;
    if !env.fs.exists(path)? {
        return Ok(());
    }
    if env.fs.list(path).is_ok() {
        return Err(Failure::Usage(format!("{} is a directory: name a file", text::path(path))));
    }
    match replace {
        true => Ok(()),
        false => Err(Failure::Other(format!("{} exists: choose another name, or add --force", text::path(path)))),
    }
}

/// Refuses to write to one of the input files.
pub(crate) fn refuse_input(path: &Path, inputs: &[PathBuf]) -> Outcome {
    let written = real(path);
    match inputs.iter().any(|input| input != Path::new("-") && !is_stream(input) && real(input) == written) {
        true => Err(Failure::Usage(format!("{} is read, too: choose another name", text::path(path)))),
        false => Ok(()),
    }
}

/// Refuses standard input if the shell reads its commands from it.
pub(crate) fn not_the_shells(path: &Path) -> Outcome {
    match path == Path::new("-") && session::is_shell() {
        true => Err(Failure::Usage("standard input is the shell's own: name a file".to_owned())),
        false => Ok(()),
    }
}

/// True for a file that can be read only once and sequentially: a pipe, a device, a socket.
#[allow(clippy::disallowed_methods, reason = "an input of the user, no part of a database")]
pub(crate) fn is_stream(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Opens a stream, as in [`is_stream`].
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an input of the user, no part of a database; `env` reads at offsets, which a stream has not"
)]
pub(crate) fn open_stream(path: &Path) -> Outcome<impl Read + Send + 'static> {
    std::fs::File::open(path).map_err(|error| Failure::io("open", path, &error))
}

/// The total size of all files below a directory in bytes.
pub fn bytes_below(env: &Env, dir: &Path) -> Outcome<u64> {
    let mut bytes = 0;
    for entry in env.fs.list(dir)? {
        bytes += if entry.is_dir { bytes_below(env, &dir.join(&entry.name))? } else { entry.len };
    }
    Ok(bytes)
}

/// Removes a directory and its content.
pub fn remove_below(env: &Env, dir: &Path) -> Outcome {
    for entry in env.fs.list(dir)? {
        let path = dir.join(&entry.name);
        if entry.is_dir {
            remove_below(env, &path)?;
        } else {
            env.fs.remove(&path)?;
        }
    }
    Ok(env.fs.remove_dir(dir)?)
}
