//! Power cuts and failures at every step of a repair: if the new directory exists under its name,
//! the repaired copy is complete; the damaged database is unchanged; and the next attempt removes
//! the remains.

use alluvium::repair::{self, RepairReport};
use alluvium::{Database, Durability, Result};
use alluvium_env::fault::{Fault, FaultFs, Op};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::sync::Mutex;
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::Options;
use std::path::Path;
use std::sync::Arc;

fn env_of(mem: MemFs) -> (Arc<MemFs>, Arc<FaultFs>, Env) {
    let mem = Arc::new(mem);
    let faults = Arc::new(FaultFs::over(mem.clone()));
    let (clock, rng) = (Arc::new(ManualClock::new()), Arc::new(SeededRng::new(3)));
    (mem, faults.clone(), Env { fs: faults, clock, rng })
}

fn open(env: &Env, path: &str) -> Result<Database> {
    let options = Options { memory_bytes: 8 << 20, partitions: Some(2), background: false, ..Options::default() };
    Database::builder().env(env.clone()).options(options).open(path)
}

fn fill(env: &Env) {
    let db = open(env, "db").unwrap();
    let pets = db.collection("pets").with_durability(Durability::Sync);
    for n in 0..30 {
        pets.put(n, r#"{"kind":"dog"}"#).unwrap();
        if n == 20 {
            db.flush().unwrap();
        }
    }
    db.close().unwrap();
}

fn repair(env: &Env) -> Result<RepairReport> {
    repair::repair("db", "new").env(env.clone()).memory(8 << 20).run()
}

/// Checks that `new` is complete if it exists, and that otherwise a repair can create it.
fn check(env: &Env, what: &str) {
    assert_eq!(open(env, "db").unwrap().collection("pets").count().unwrap(), 30, "{what}");
    if !env.fs.exists(Path::new("new")).unwrap() {
        let report = repair(env).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(report.is_whole(), "{what}");
        assert!(!env.fs.exists(Path::new("new.incomplete")).unwrap(), "{what}");
    }
    assert_eq!(open(env, "new").unwrap().collection("pets").count().unwrap(), 30, "{what}");
}

#[test]
fn a_power_cut_at_any_step_of_a_repair() {
    let (mem, faults, env) = env_of(MemFs::new());
    fill(&env);
    let cuts = Arc::new(Mutex::new(Vec::new()));
    let seen = cuts.clone();
    faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
        for style in [CrashStyle::Any, CrashStyle::AllLost, CrashStyle::AllKept] {
            let what = format!("{style:?} before {:?} of {}", op.kind, op.path.display());
            seen.lock().push((mem.crash_clone(op.number, style), what));
        }
    })));
    repair(&env).unwrap();
    faults.set_hook(None);
    let cuts = std::mem::take(&mut *cuts.lock());
    assert!(cuts.len() > 100, "{}", cuts.len());
    for (mem, what) in cuts {
        check(&env_of(mem).2, &what);
    }
}

#[test]
fn an_error_at_any_step_of_a_repair() {
    let faults_of = [|nth| Fault::nth(nth), |nth| Fault::nth(nth).of_changes().no_space().from_then_on()];
    for fault in faults_of {
        let mut struck = 0;
        for nth in 1.. {
            let (_, faults, env) = env_of(MemFs::new());
            fill(&env);
            faults.inject(fault(nth));
            let made = repair(&env);
            faults.clear();
            if faults.fired() == 0 {
                assert!(made.unwrap().is_whole());
                break;
            }
            struck += 1;
            match made {
                // Everything unreadable is reported as lost.
                Ok(report) if !report.is_whole() => {
                    let struck = faults.struck();
                    assert!(!struck.iter().any(|kind| kind.changes()), "operation {nth}: {struck:?}: {report:?}");
                    let saved: u64 = report.collections.iter().map(|found| found.documents + found.doubtful).sum();
                    assert!(saved <= 30 && report.documents() <= saved, "operation {nth}: {report:?}");
                    assert!(env.fs.exists(Path::new("new")).unwrap(), "operation {nth}");
                }
                // If the repair reports success, nothing is missing.
                _ => check(&env, &format!("operation {nth}")),
            }
        }
        assert!(struck > 60, "{struck}");
    }
}
