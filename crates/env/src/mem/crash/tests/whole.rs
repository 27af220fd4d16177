//! The styles that are not random, the death of the process, and the independence of clones.

use super::*;

fn busy() -> MemFs {
    let fs = MemFs::new();
    durable(&fs, "a", b"old").write_at(b"new!", 0).unwrap();
    create(&fs, "b").write_at(b"b", 0).unwrap();
    durable(&fs, "c", b"c");
    fs.remove(Path::new("c")).unwrap();
    fs
}

fn text(fs: &MemFs) -> String {
    let line = |(name, text)| format!("{name}={text}");
    tree(fs).into_iter().map(line).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_calm_styles_lose_all_or_nothing() {
    let fs = busy();
    // The sync of the directory for `c` also made the name of `b` durable, but not the bytes of
    // `b`.
    assert_eq!(text(&fs.crash_clone(3, CrashStyle::AllLost)), "/a=old /b= /c=c");
    assert_eq!(text(&fs.crash_clone(3, CrashStyle::AllKept)), "/a=new! /b=b");
    assert_eq!(text(&fs), "/a=new! /b=b", "the original is unchanged");
}

#[test]
fn what_a_clone_holds_is_durable() {
    let fs = busy();
    for seed in 0..100 {
        let once = fs.crash_clone(seed, CrashStyle::Any);
        let twice = once.crash_clone(seed + 1, CrashStyle::Any);
        assert_eq!(text(&once), text(&twice), "seed {seed}");
    }
}

#[test]
fn the_same_seed_gives_the_same_disk() {
    let fs = busy();
    for seed in 0..100 {
        let clone = || text(&fs.crash_clone(seed, CrashStyle::Any));
        assert_eq!(clone(), clone(), "seed {seed}");
    }
    assert!(outcomes(&fs, text).len() > 4);
}

#[test]
fn a_clone_and_its_original_go_their_own_ways() {
    let fs = busy();
    let clone = fs.crash_clone(0, CrashStyle::AllKept);
    open(&clone, "a").write_at(b"clone", 0).unwrap();
    open(&fs, "a").write_at(b"first", 0).unwrap();
    create(&clone, "only");
    assert_eq!(text(&clone), "/a=clone /b=b /only=");
    assert_eq!(text(&fs), "/a=first /b=b");
}

#[test]
fn the_death_of_the_process_loses_nothing_and_makes_nothing_durable() {
    let fs = busy();
    let dead = fs.kill_clone();
    assert_eq!(text(&dead), "/a=new! /b=b");
    for seed in 0..300 {
        let (a, b) = (fs.crash_clone(seed, CrashStyle::AllLost), dead.crash_clone(seed, CrashStyle::AllLost));
        assert_eq!(text(&a), text(&b));
    }
    assert_eq!(outcomes(&dead, text), outcomes(&fs, text));
    open(&dead, "a").write_at(b"dead", 0).unwrap();
    assert_eq!(text(&fs), "/a=new! /b=b");
}

#[test]
fn what_was_pending_at_the_death_belongs_to_the_clone() {
    let fs = MemFs::new();
    durable(&fs, "old", &[1; 4096]);
    fs.remove(Path::new("old")).unwrap();
    create(&fs, "new").write_at(b"1", 0).unwrap();
    let dead = fs.kill_clone();
    assert_eq!(dead.used_bytes(), 4096, "the removed file takes nothing");
    let file = open(&dead, "new");
    file.write_at(b"2", 0).unwrap();
    file.sync().unwrap();
    assert_eq!(text(&dead.crash_clone(0, CrashStyle::AllKept)), "/new=2");
    sync_dir(&dead, "/");
    assert_eq!(text(&dead.crash_clone(0, CrashStyle::AllLost)), "/new=2");
}

#[test]
fn locks_die_with_the_process() {
    let fs = MemFs::new();
    let held = fs.try_lock(Path::new("LOCK")).unwrap();
    assert!(held.is_some());
    sync_dir(&fs, "/");
    for clone in [fs.kill_clone(), fs.crash_clone(0, CrashStyle::Any)] {
        assert!(clone.try_lock(Path::new("LOCK")).unwrap().is_some());
    }
    assert!(fs.try_lock(Path::new("LOCK")).unwrap().is_none());
}

#[test]
fn a_clone_has_the_capacity_and_counts_anew() {
    let fs = MemFs::with_capacity(10 * 4096);
    let file = durable(&fs, "kept", &[1; 2 * 4096]);
    file.write_at(&[1; 4096], 2 * 4096).unwrap();
    durable(&fs, "gone", &[1; 4096]);
    let handle = open(&fs, "gone");
    fs.remove(Path::new("gone")).unwrap();
    sync_dir(&fs, "/");
    assert_eq!(fs.used_bytes(), 4 * 4096, "an open file has no name, but its space");
    let clone = fs.crash_clone(0, CrashStyle::AllLost);
    assert_eq!(clone.used_bytes(), 2 * 4096);
    assert_eq!(clone.available_bytes(Path::new("/")).unwrap(), 8 * 4096);
    let clone = fs.kill_clone();
    assert_eq!(clone.used_bytes(), 3 * 4096);
    drop(handle);
    assert_eq!(fs.used_bytes(), 3 * 4096);
    open(&clone, "kept").set_len(0).unwrap();
    assert_eq!(clone.used_bytes(), 0);
}

#[test]
fn a_lost_removal_brings_the_bytes_and_their_space_back() {
    let fs = MemFs::new();
    durable(&fs, "f", &[1; 4096]);
    fs.remove(Path::new("f")).unwrap();
    assert_eq!(fs.used_bytes(), 0);
    let clone = fs.crash_clone(0, CrashStyle::AllLost);
    assert_eq!((clone.used_bytes(), read(&clone, "f")), (4096, vec![1; 4096]));
}
