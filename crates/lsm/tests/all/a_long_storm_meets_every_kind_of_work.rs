//! Long random loads over several trees, with every kind of compaction; all reads agree with the
//! model at the end of each stretch.

use crate::common::{Db, tiny_options, tree_key};
use alluvium_lsm::{Options, Outcome};
use std::collections::BTreeMap;

fn options(target_file_bytes: u64) -> Options {
    let mut options = Options {
        target_file_bytes,
        small_tree_bytes: 512,
        upper_floor_bytes: 3 << 10,
        max_job_bytes: 12 << 10,
        soft_upper_runs: 2,
        max_runs: 5,
        manifest_bytes: 1 << 10,
        ..tiny_options()
    };
    options.writer.compression = alluvium_sst::Compression::None;
    options
}

struct Storm {
    db: Db,
    rng: fastrand::Rng,
    met: BTreeMap<String, u32>,
    ascending: u32,
}

impl Storm {
    fn write(&mut self) {
        let rng = &mut self.rng;
        match rng.u32(..100) {
            // A large tree in random order.
            0..50 => {
                let key = tree_key(1, &format!("{:05}", rng.u32(..1500)));
                self.db.put(&key, &vec![rng.u8(..); rng.usize(..80)]);
            }
            50..62 => self.db.delete(&tree_key(1, &format!("{:05}", rng.u32(..1500)))),
            // Appends.
            62..85 => {
                self.ascending += 1;
                self.db.put(&tree_key(2, &format!("{:08}", self.ascending)), &[1; 60]);
            }
            // One hot key, and a few small trees.
            85..90 => self.db.put(&tree_key(3, "hot"), &[rng.u8(..); 40]),
            _ => {
                let key = tree_key(rng.u32(10..14), &format!("{:02}", rng.u32(..30)));
                self.db.put(&key, b"small");
            }
        }
    }

    /// Runs at most `most` jobs: a picker that is always behind meets other cases than a picker
    /// that is up to date.
    fn compact(&mut self, most: usize) {
        for _ in 0..most {
            let Some(job) = self.db.partition.pick_compaction() else { return };
            let kind = match job.reason() {
                Some(reason) => format!("{reason:?}"),
                None => format!("{job:?}").split('(').next().unwrap().to_owned(),
            };
            assert_eq!(self.db.partition.run_compaction(job, &|| false).unwrap(), Outcome::Done);
            *self.met.entry(kind).or_default() += 1;
        }
    }

    fn step(&mut self) {
        self.write();
        match self.rng.u32(..1200) {
            0..8 => {
                self.db.flush();
                let most = self.rng.usize(..4);
                self.compact(most);
            }
            8 => drop(self.db.snapshot()),
            9 => {
                let oldest = self.db.policy.snapshots.lock().first().copied();
                oldest.into_iter().for_each(|seq| self.db.end_snapshot(seq));
            }
            10 if self.rng.bool() => {
                let tree = self.rng.u32(10..14);
                self.db.policy.dead.lock().insert(tree);
                self.db.model.drop_tree(tree);
                self.db.drop_trees(&[tree]).unwrap();
                *self.met.entry("tree dropped".to_owned()).or_default() += 1;
            }
            _ => {}
        }
    }
}

/// Dropped trees stay dropped; later writes to them are not checked.
fn forget_dead(storm: &mut Storm) {
    let dead: Vec<u32> = storm.db.policy.dead.lock().iter().copied().collect();
    dead.into_iter().for_each(|tree| storm.db.model.drop_tree(tree));
}

#[test]
fn storm() {
    let mut met: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 1..=6 {
        println!("seed {seed}");
        let db = Db::new(options(if seed % 2 == 0 { 8 << 10 } else { 256 << 10 }));
        let mut storm = Storm { db, rng: fastrand::Rng::with_seed(seed), met, ascending: 0 };
        for stretch in 0..4 {
            for _ in 0..1500 {
                storm.step();
            }
            forget_dead(&mut storm);
            check(&storm.db);
            if stretch == 2 {
                let dead = storm.db.policy.dead.lock().clone();
                storm.db = storm.db.reopen();
                *storm.db.policy.dead.lock() = dead;
                check(&storm.db);
            }
        }
        storm.db.flush();
        storm.compact(200);
        storm.db.compact();
        check(&storm.db);
        storm.db.partition.compact_all().unwrap();
        check(&storm.db);
        met = storm.met;
    }
    println!("{met:?}");
    for kind in ["Base", "Gather", "Runs", "Tiers", "Garbage", "SmallFiles", "Move", "tree dropped"] {
        assert!(met.contains_key(kind), "{kind} was never met: {met:?}");
    }
}

/// As [`Db::check`], without point reads of dead trees, which a store never makes.
fn check(db: &Db) {
    let mut seqs = db.policy.snapshots.lock().clone();
    seqs.push(db.seq);
    for seq in seqs {
        let expected = db.model.scan(seq);
        assert_eq!(db.scan(seq), expected, "scan at {seq}");
        assert_eq!(db.scan_back(seq), expected, "scan back at {seq}");
        for key in db.model.keys() {
            assert_eq!(db.get(key, seq).as_deref(), db.model.get(key, seq), "get {key:?} at {seq}");
        }
    }
    let verified = db.partition.verify();
    assert!(verified.damage.is_empty(), "{:?}", verified.damage);
}
