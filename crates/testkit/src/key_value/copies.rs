//! Copies of the store between operations: checkpoints, including incremental ones, databases restored from them, and
//! repaired databases. Each copy has the content of the store at the time when it was created. A copy gets its name
//! only when it is complete, even if the power is cut during its creation.

use super::{Beside, Cut, KvRunner, State, open_at, options, read};
use crate::worlds::{PATH, remove_dir};
use alluvium_store::{CheckpointOptions, RestoreOptions, Store, restore_checkpoint};
use std::path::{Path, PathBuf};

/// The maximum number of checkpoints kept.
const MOST: usize = 3;
const RESTORED: &str = "restored";

impl KvRunner {
    pub(super) fn copies(&mut self) {
        let kept = self.kept();
        match self.rng.u32(0..10) {
            _ if kept == 0 => self.make_checkpoint(),
            0..=4 => self.make_checkpoint(),
            _ => self.look_at_checkpoint(),
        }
    }

    fn kept(&self) -> usize {
        self.timeline.lock().beside.len()
    }

    fn any_kept(&mut self) -> Beside {
        let at = self.rng.usize(0..self.kept());
        self.timeline.lock().beside[at].clone()
    }

    fn begin(&mut self, dir: &Path, state: &State, checkpoint: bool) {
        let (dir, state) = (dir.to_owned(), state.clone());
        self.timeline.lock().beside.push(Beside { dir, state, done: false, checkpoint });
    }

    fn ended(&mut self) {
        self.timeline.lock().beside.last_mut().expect("it was begun").done = true;
    }

    fn make_checkpoint(&mut self) {
        let base = (self.kept() > 0 && self.rng.u8(0..3) > 0).then(|| self.any_kept().dir);
        let options = CheckpointOptions { base, copy: self.rng.bool(), ..CheckpointOptions::default() };
        let dir = PathBuf::from(format!("checkpoint-{}", self.made));
        self.made += 1;
        self.note(format!("checkpoint {} {options:?}", dir.display()));
        let state = self.state.clone();
        self.begin(&dir, &state, true);
        self.store().checkpoint(&dir, &options).expect("checkpoint");
        // The note of the checkpoint was synced, and so were all earlier writes.
        self.durable();
        self.ended();
        if self.kept() > MOST {
            let at = self.rng.usize(0..MOST);
            let gone = self.timeline.lock().beside.remove(at);
            remove_dir(&self.world.env, &gone.dir);
        }
    }

    /// Restores a checkpoint next to the store, and checks that it has the content from the time of the checkpoint.
    fn look_at_checkpoint(&mut self) {
        let kept = self.any_kept();
        self.note(format!("look at {}", kept.dir.display()));
        let to = Path::new(RESTORED);
        let how = RestoreOptions { copy: self.rng.bool(), quick: self.rng.bool(), ..RestoreOptions::default() };
        self.begin(to, &kept.state, false);
        restore_checkpoint(&self.world.env, &kept.dir, to, how).expect("restore");
        self.ended();
        let options = options(&mut self.rng, self.partitions, false);
        let store = open_at(&self.world, to, &options);
        assert!(read(&store, &store.snapshot()) == kept.state, "{} and the model differ", kept.dir.display());
        let damage = store.verify().expect("verify");
        assert!(damage.is_empty(), "{}: {damage:?}", kept.dir.display());
        drop(store);
        self.timeline.lock().beside.pop();
        remove_dir(&self.world.env, to);
    }

    /// Checks the copies next to a store after a power cut: a finished copy is complete; an unfinished copy is complete
    /// or absent.
    pub(super) fn check_beside(&mut self, cut: &Cut) {
        for beside in &cut.beside {
            let env = &cut.disk.env;
            let there = env.fs.exists(&beside.dir).expect("exists");
            assert!(there || !beside.done, "{}: {} is gone", cut.words, beside.dir.display());
            if !there {
                continue;
            }
            let mut dir = beside.dir.clone();
            if beside.checkpoint {
                dir = PathBuf::from("out");
                let how = RestoreOptions { copy: self.rng.bool(), ..RestoreOptions::default() };
                restore_checkpoint(env, &beside.dir, &dir, how)
                    .unwrap_or_else(|e| panic!("{}: {} is not whole: {e}", cut.words, beside.dir.display()));
            }
            let options = options(&mut self.rng, self.partitions, false);
            let store = Store::open(env.clone(), &dir, options)
                .unwrap_or_else(|e| panic!("{}: {} does not open: {e}", cut.words, beside.dir.display()));
            let found = read(&store, &store.snapshot());
            assert!(found == beside.state, "{}: {} holds something else", cut.words, beside.dir.display());
            drop(store);
            if beside.checkpoint {
                remove_dir(env, &dir);
            }
        }
        // An interrupted copy must not prevent the next attempt.
        if let Some(begun) = cut.beside.iter().find(|beside| beside.checkpoint && !beside.done)
            && !cut.disk.env.fs.exists(&begun.dir).expect("exists")
        {
            let options = options(&mut self.rng, self.partitions, false);
            let store = open_at(&cut.disk, PATH.as_ref(), &options);
            store.checkpoint(&begun.dir, &CheckpointOptions::default()).expect("a checkpoint after the cut");
        }
    }
}
