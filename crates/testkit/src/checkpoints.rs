//! Copies among the operations: checkpoints made, kept while others go on, restored, compared, and gone on from; and
//! repaired copies.

use crate::indexes;
use crate::runner::Runner;
use crate::state::{State, read_state};
use crate::world::PATH;
use alluvium::backup::{self, CheckpointOptions, RestoreOptions};
use alluvium::repair::{self, RepairOptions};
use alluvium::{Database, ErrorKind};
use alluvium_env::Env;
use alluvium_store::Options;
use std::path::{Path, PathBuf};

/// So many checkpoints are kept at most.
const MOST: usize = 3;

/// The checkpoints of a runner.
#[derive(Default)]
pub(crate) struct Checkpoints {
    kept: Vec<Kept>,
    made: u32,
    /// Rises when the database is replaced by a restored one.
    generation: u32,
}

struct Kept {
    dir: PathBuf,
    state: State,
    generation: u32,
}

impl Runner {
    pub(crate) fn checkpoints(&mut self) {
        match self.rng.u32(0..12) {
            10.. => self.look_at_repaired(),
            _ if self.checkpoints.kept.is_empty() => self.make_checkpoint(),
            0..=4 => self.make_checkpoint(),
            5..=7 => self.look_at_checkpoint(),
            _ => self.go_on_from_checkpoint(),
        }
    }

    fn any_checkpoint(&mut self) -> usize {
        self.rng.usize(0..self.checkpoints.kept.len())
    }

    fn make_checkpoint(&mut self) {
        let base = match self.checkpoints.kept.len() {
            0 => None,
            count => Some(self.rng.usize(0..count)).filter(|_| self.rng.u8(0..3) > 0),
        };
        let base = base.map(|at| &self.checkpoints.kept[at]);
        let foreign = base.is_some_and(|base| base.generation != self.checkpoints.generation);
        let options = CheckpointOptions {
            base: base.map(|base| base.dir.clone()),
            copy: self.rng.bool(),
            ..CheckpointOptions::default()
        };
        let dir = PathBuf::from(format!("checkpoint-{}", self.checkpoints.made));
        self.note(format!("checkpoint {} {options:?}", dir.display()));
        match self.db().checkpoint(&dir, &options) {
            Ok(_) => assert!(!foreign, "a base of another database was taken"),
            Err(error) => return assert!(foreign && error.kind() == ErrorKind::Open, "checkpoint: {error}"),
        }
        self.effect("checkpoint", !self.state.collections.is_empty());
        self.checkpoints.made += 1;
        let generation = self.checkpoints.generation;
        self.checkpoints.kept.push(Kept { dir, state: self.state.clone(), generation });
        if self.checkpoints.kept.len() > MOST {
            let gone = self.any_checkpoint();
            let gone = self.checkpoints.kept.swap_remove(gone);
            remove(&self.world.env, &gone.dir);
        }
    }

    /// Restores a checkpoint beside the database; it holds what the database held.
    fn look_at_checkpoint(&mut self) {
        let at = self.any_checkpoint();
        let kept = &self.checkpoints.kept[at];
        let (dir, expected) = (kept.dir.clone(), kept.state.clone());
        self.note(format!("look at {}", dir.display()));
        let to = Path::new("restored");
        self.restore(&dir, to);
        let db = Database::builder().env(self.world.env.clone()).options(self.options.clone()).open(to);
        let db = db.unwrap_or_else(|e| panic!("the restored database does not open: {e}"));
        let found = read_state(&db).unwrap_or_else(|e| panic!("reading a restored database: {e}"));
        assert!(found == expected, "checkpoint and model differ:\n{}", expected.difference(&found));
        assert!(db.verify().is_ok_and(|damage| damage.is_empty()));
        self.effect("look at a checkpoint", expected.collections.values().any(|c| !c.documents.is_empty()));
        db.close().expect("close");
        remove(&self.world.env, to);
    }

    /// Repairs a copy of the database, as a kill would leave it: nothing is lost, and nothing comes back.
    fn look_at_repaired(&mut self) {
        self.note("repair a copy".to_owned());
        let copy = self.world.killed();
        let to = Path::new("repaired");
        let options = RepairOptions { memory_bytes: Some(8 << 20), ..RepairOptions::default() };
        let report = repair::repair(&copy.env, Path::new(PATH), to, &options).unwrap_or_else(|e| panic!("repair: {e}"));
        assert!(report.is_whole() && report.doubtful() == 0, "repair of a whole database: {report:?}");
        let options = Options { partitions: None, ..self.options.clone() };
        let db = Database::builder().env(copy.env.clone()).options(options).open(to);
        let db = db.unwrap_or_else(|e| panic!("the repaired database does not open: {e}"));
        let mut found = read_state(&db).unwrap_or_else(|e| panic!("reading a repaired database: {e}"));
        indexes::check_now(&db).unwrap_or_else(|broken| panic!("a repaired database: {broken}"));
        // A collection without documents is nothing that could be saved.
        let mut expected = self.state.clone();
        for state in [&mut found, &mut expected] {
            state.collections.retain(|_, contents| !contents.documents.is_empty());
        }
        // An index that was not ready is built, or comes to nothing.
        for (name, contents) in &mut expected.collections {
            let Some(found) = found.collections.get_mut(name) else { continue };
            let unready = contents.indexes.iter().filter(|(_, index)| !index.ready);
            for index in unready.map(|(index, _)| index.clone()).collect::<Vec<_>>() {
                contents.indexes.remove(&index);
                found.indexes.remove(&index);
            }
        }
        let mut made = found.collections.values().flat_map(|contents| contents.indexes.values());
        assert!(made.all(|index| index.ready), "an index of a repaired database is not ready");
        assert!(found == expected, "repaired copy and model differ:\n{}", expected.difference(&found));
        self.effect("repair", !found.collections.is_empty());
    }

    /// The database is lost, and a checkpoint takes its place.
    fn go_on_from_checkpoint(&mut self) {
        let at = self.any_checkpoint();
        let (dir, state) = (self.checkpoints.kept[at].dir.clone(), self.checkpoints.kept[at].state.clone());
        self.note(format!("go on from {}", dir.display()));
        self.close();
        remove(&self.world.env, Path::new(PATH));
        self.restore(&dir, Path::new(PATH));
        self.checkpoints.generation += 1;
        self.timeline.lock().push(&state);
        // Numbers that were given since the checkpoint are given again.
        self.versions.clear();
        self.effect("go on from a checkpoint", state != self.state);
        self.state = state;
        self.open();
    }

    fn restore(&mut self, from: &Path, to: &Path) {
        let options = RestoreOptions { copy: self.rng.bool(), quick: self.rng.bool(), ..RestoreOptions::default() };
        backup::restore(&self.world.env, from, to, options).unwrap_or_else(|e| panic!("restore: {e}"));
    }
}

/// Removes a directory and all that is in it.
pub(crate) fn remove(env: &Env, dir: &Path) {
    remove_all(env, dir);
    // What is left of it after a power cut would be taken for damage of what is made there next.
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
    env.fs.sync_dir(parent.unwrap_or(Path::new("."))).expect("sync");
}

fn remove_all(env: &Env, dir: &Path) {
    for entry in env.fs.list(dir).expect("list") {
        let path = dir.join(&entry.name);
        if entry.is_dir { remove_all(env, &path) } else { env.fs.remove(&path).expect("remove") }
    }
    env.fs.remove_dir(dir).expect("remove");
}
