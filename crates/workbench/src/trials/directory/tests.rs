use super::*;
use crate::plan::{Size, read as read_plan};
use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::MemFs;
use std::sync::Arc;

const TEXT: &str =
    "title = \"T\"\n[[experiment]]\nname = \"a\"\ntitle = \"A\"\ncommand = [\"get\", \"{n}\"]\ngrid.n = [1, 2]\n";

fn plan(env: &Env, text: &str) -> Plan {
    let path = Path::new("p.toml");
    if env.fs.exists(path).expect("a directory") {
        env.fs.remove(path).expect("a file");
    }
    env.fs.open(path, OpenMode::CreateNew).expect("a file").write_at(text.as_bytes(), 0).expect("space");
    read_plan(env, path, Size::Small, 1).expect("a plan")
}

fn opened(env: &Env, plan: &Plan) -> Result<(), String> {
    Directory::open(env, Path::new("out"), plan).map(|_| ()).map_err(|failure| failure.to_string())
}

#[test]
fn a_directory_belongs_to_one_plan_and_size() {
    let env = Env::in_memory(1);
    let first = plan(&env, TEXT);
    opened(&env, &first).expect("a directory");
    opened(&env, &first).expect("the same plan");
    let with_title = plan(&env, &TEXT.replace("\"A\"", "\"B\""));
    opened(&env, &with_title).expect("a title does not matter");
    let kept: Plan = read(&env, Path::new("out/plan.json")).expect("a file").expect("a plan");
    assert_eq!(kept, with_title);
    for (other, what) in [
        (Plan { size: Size::Machine, ..first.clone() }, "the size small"),
        (Plan { seed: 2, ..first.clone() }, "the seed 1"),
        (Plan { name: "q".to_owned(), ..first.clone() }, "the plan p"),
        (plan(&env, &TEXT.replace("[1, 2]", "[1, 3]")), "another p, in the experiment a"),
        (plan(&env, &TEXT.replace("\"a\"", "\"b\"")), "another p, in the experiment a"),
    ] {
        let refused = opened(&env, &other).expect_err("another plan");
        assert_eq!(refused, format!("out has records of {what}: name another directory, or remove this one"));
    }
}

#[test]
fn a_directory_with_something_else_is_refused() {
    let env = Env::in_memory(1);
    let first = plan(&env, TEXT);
    env.fs.create_dir_all(Path::new("out/trials")).expect("a directory");
    env.fs.create_dir_all(Path::new("out/photos")).expect("a directory");
    assert!(opened(&env, &first).expect_err("something else").contains("holds something else"));
    env.fs.remove_dir(Path::new("out/photos")).expect("a directory");
    opened(&env, &first).expect("a run that ended early");
}

#[test]
fn one_run_at_a_time_uses_a_directory() {
    let env = Env::in_memory(1);
    let first = plan(&env, TEXT);
    let held = Directory::open(&env, Path::new("out"), &first).expect("a directory");
    assert!(opened(&env, &first).expect_err("in use").contains("another run is writing"));
    drop(held);
    opened(&env, &first).expect("free again");
}

#[test]
fn a_store_that_a_killed_run_still_writes_to_is_removed_when_it_has_ended() {
    let faults = Arc::new(FaultFs::over(Arc::new(MemFs::new())));
    let env = Env { fs: faults.clone(), ..Env::in_memory(1) };
    let directory = Directory::open(&env, Path::new("out"), &plan(&env, TEXT)).expect("a directory");
    let store = directory.stores().join("a-0001");
    env.fs.create_dir_all(&store).expect("a directory");
    env.fs.open(&store.join("1.log"), OpenMode::CreateNew).expect("a file");
    // Simulates that a new file appears in the directory after each removal of the listed files.
    for n in [1, 2] {
        faults.inject(Fault::nth(n).of(OpKind::RemoveDir));
    }
    directory.remove_store(&store).expect("the third try");
    assert_eq!(faults.fired(), 2);
    assert!(!env.fs.exists(&store).expect("a disk"));
}
