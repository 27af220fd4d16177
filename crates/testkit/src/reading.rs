//! Databases that are opened for reading only, in directories where nothing can be written.

use crate::model::{State, read_state};
use crate::worlds::{UnwritableFs, World, contents_of};
use alluvium::{Database, ErrorKind, backup};
use alluvium_env::{Env, Fs};
use alluvium_store::Options;
use std::path::Path;
use std::sync::Arc;

/// The content that readers find in the database in `dir`, on a disk that refuses every change in this directory. Two
/// readers open the database at the same time, which must write nothing and keep writers out. They read and check
/// everything. With `copies`, a checkpoint that they make in another directory must have the same content. At the end
/// all files must be unchanged. `None` if the creation of the database is unfinished; opening it must then fail.
///
/// # Errors
/// A description of the violation.
pub fn read(world: &World, dir: &Path, options: &Options, copies: bool) -> Result<Option<State>, String> {
    let text = |what: &str, error: alluvium::Error| format!("reading only: {what}: {error}");
    let files = || contents_of(&*world.mem.clone(), dir);
    let before = files();
    let fs = UnwritableFs::new(world.mem.clone(), dir);
    let env = Env { fs: Arc::new(fs.clone()), ..world.env.clone() };
    let open = |env: &Env, options: Options| Database::builder().env(env.clone()).options(options).open(dir);
    let reading = Options { read_only: true, ..options.clone() };
    if !world.mem.exists(&dir.join("ALLUVIUM")).unwrap_or(true) {
        return match open(&env, reading).map_err(|error| error.kind()) {
            Err(ErrorKind::Open) if fs.attempts() == 0 && files() == before => Ok(None),
            other => {
                Err(format!("reading only: an unfinished creation: {other:?}, {} changes attempted", fs.attempts()))
            }
        };
    }
    let db = open(&env, reading.clone()).map_err(|e| text("it does not open", e))?;
    let second = open(&env, reading).map_err(|e| text("it does not open a second time", e))?;
    let found = read_state(&db).map_err(|e| text("it does not read", e))?;
    if read_state(&second).map_err(|e| text("the second does not read", e))? != found {
        return Err("reading only: two readers differ".to_owned());
    }
    let damage = db.verify().run().map_err(|e| text("verify", e))?.damage;
    if !damage.is_empty() {
        return Err(format!("reading only: verify finds {damage:?}"));
    }
    for refused in [
        db.collection("main.new").put("rex", "{}"),
        db.flush(),
        db.compact().run(),
        db.create_collection("x").run().map(drop),
    ] {
        if refused.as_ref().err().map(alluvium::Error::kind) != Some(ErrorKind::ReadOnly) {
            return Err(format!("reading only: a write is not refused: {refused:?}"));
        }
    }
    match open(&world.env, options.clone()).map_err(|error| error.kind()) {
        Err(ErrorKind::InUse) => {}
        other => return Err(format!("reading only: a writer beside readers: {other:?}")),
    }
    if copies {
        copy(&db, &env, options, &found)?;
    }
    db.close().map_err(|e| text("close", e))?;
    second.close().map_err(|e| text("close", e))?;
    match (fs.attempts(), files() == before) {
        (0, true) => Ok(Some(found)),
        (attempts, same) => Err(format!("reading only: {attempts} changes attempted; files unchanged: {same}")),
    }
}

/// Makes a checkpoint in another directory, and restores a database from it.
fn copy(db: &Database, env: &Env, options: &Options, expected: &State) -> Result<(), String> {
    let text = |what: &str, error: alluvium::Error| format!("a copy by a reader: {what}: {error}");
    let (dir, to) = (Path::new("copied"), Path::new("copied.db"));
    db.checkpoint(dir).run().map_err(|e| text("checkpoint", e))?;
    backup::restore(dir, to).env(env.clone()).run().map_err(|e| text("restore", e))?;
    let options = Options { partitions: None, ..options.clone() };
    let copied = Database::builder().env(env.clone()).options(options).open(to).map_err(|e| text("open", e))?;
    let found = read_state(&copied).map_err(|e| text("read", e))?;
    if found != *expected {
        return Err(format!("a copy by a reader differs:\n{}", expected.difference(&found)));
    }
    let damage = copied.verify().run().map_err(|e| text("verify", e))?.damage;
    copied.close().map_err(|e| text("close", e))?;
    if damage.is_empty() { Ok(()) } else { Err(format!("a copy by a reader is damaged: {damage:?}")) }
}
