use super::*;

fn write(env: &Env, path: &str, len: usize) {
    let path = Path::new(path);
    env.fs.create_dir_all(alluvium_env::parent_of(path)).unwrap();
    env.fs.open(path, OpenMode::CreateNew).unwrap().write_at(&vec![1; len], 0).unwrap();
}

fn settings() -> Settings {
    Settings { threads: 2, duration: Duration::from_secs(60), operations: 500, bytes: 4096, cached: false, seed: 1 }
}

#[test]
fn sorted_files_at_any_depth_and_named_files_are_read() {
    let env = Env::in_memory(1);
    write(&env, "db/p0/00000001.sst", 3 * 4096 + 1);
    write(&env, "db/p1/deep/00000002.sst", 4096);
    write(&env, "db/p1/00000003.sst", 4095);
    write(&env, "db/wal/wal-1.log", 1 << 20);
    let all = |paths: &[&str]| data_files(&env, &paths.iter().map(PathBuf::from).collect::<Vec<_>>(), 4096);
    let found = all(&["db"]).unwrap();
    assert_eq!(found.iter().map(|(_, len)| *len).collect::<Vec<_>>(), [3 * 4096 + 1, 4096]);
    assert_eq!(all(&["db/wal/wal-1.log", "db/p1"]).unwrap().len(), 2);
    assert_eq!(all(&["db/wal"]).unwrap(), []);
    assert!(all(&["nothing"]).is_err());
    for cached in [true, false] {
        let outcome = reads(&env, &found, &Settings { cached, ..settings() }).unwrap();
        assert_eq!((outcome.operations, outcome.scenario.as_str()), (500, "reads"));
    }
    assert_eq!(reads(&env, &[], &settings()).unwrap().operations, 0);
}
