//! Which names survive.

use super::*;

#[test]
fn a_new_name_needs_its_directory_synced_whatever_its_bytes() {
    let fs = MemFs::new();
    let file = create(&fs, "f");
    file.write_at(b"1", 0).unwrap();
    file.sync().unwrap();
    assert_eq!(trees(&fs), set(["", "/f=1"]));
    sync_dir(&fs, "/");
    assert_eq!(trees(&fs), set(["/f=1"]));
}

#[test]
fn a_synced_name_does_not_keep_the_bytes() {
    let fs = MemFs::new();
    create(&fs, "f").write_at(b"1", 0).unwrap();
    sync_dir(&fs, "/");
    let seen = outcomes(&fs, |fs| read(fs, "f"));
    assert_eq!(seen, [vec![], vec![0], vec![b'1']].into());
}

#[test]
fn operations_on_different_names_overtake_each_other() {
    let fs = MemFs::new();
    durable(&fs, "old", b"o");
    durable(&fs, "a", b"a");
    fs.remove(Path::new("old")).unwrap();
    fs.hard_link(Path::new("a"), Path::new("b")).unwrap();
    let wanted = set(["/a=a /old=o", "/a=a", "/a=a /b=a /old=o", "/a=a /b=a"]);
    assert_eq!(trees(&fs), wanted);
}

#[test]
fn a_rename_is_one_step() {
    let fs = MemFs::new();
    durable(&fs, "a", b"new");
    durable(&fs, "b", b"old");
    fs.rename(Path::new("a"), Path::new("b")).unwrap();
    assert_eq!(trees(&fs), set(["/a=new /b=old", "/b=new"]));
    sync_dir(&fs, "/");
    assert_eq!(trees(&fs), set(["/b=new"]));
}

#[test]
fn a_file_renamed_twice_has_one_name() {
    let fs = MemFs::new();
    durable(&fs, "a", b"1");
    fs.rename(Path::new("a"), Path::new("b")).unwrap();
    fs.rename(Path::new("b"), Path::new("c")).unwrap();
    assert_eq!(trees(&fs), set(["/a=1", "/b=1", "/c=1"]));
}

#[test]
fn a_new_file_renamed_is_nowhere_or_under_one_name() {
    let fs = MemFs::new();
    durable(&fs, "CURRENT", b"1");
    let file = create(&fs, "tmp");
    file.write_at(b"2", 0).unwrap();
    file.sync().unwrap();
    fs.rename(Path::new("tmp"), Path::new("CURRENT")).unwrap();
    assert_eq!(trees(&fs), set(["/CURRENT=1", "/CURRENT=1 /tmp=2", "/CURRENT=2"]));
}

#[test]
fn a_rename_before_the_sync_of_the_bytes_may_lose_them() {
    let fs = MemFs::new();
    durable(&fs, "CURRENT", b"1");
    create(&fs, "tmp").write_at(b"2", 0).unwrap();
    fs.rename(Path::new("tmp"), Path::new("CURRENT")).unwrap();
    sync_dir(&fs, "/");
    assert_eq!(trees(&fs), set(["/CURRENT=", "/CURRENT=\0", "/CURRENT=2"]));
}

#[test]
fn operations_on_one_name_keep_their_order() {
    let fs = MemFs::new();
    durable(&fs, "f", b"1");
    fs.remove(Path::new("f")).unwrap();
    let file = create(&fs, "f");
    file.write_at(b"2", 0).unwrap();
    file.sync().unwrap();
    assert_eq!(trees(&fs), set(["/f=1", "", "/f=2"]));
}

#[test]
fn a_directory_lost_takes_its_files() {
    let fs = MemFs::new();
    fs.create_dir_all(Path::new("a/b")).unwrap();
    let file = create(&fs, "a/b/f");
    file.write_at(b"1", 0).unwrap();
    file.sync().unwrap();
    sync_dir(&fs, "a/b");
    let wanted = set(["", "/a=(directory)", "/a=(directory) /a/b=(directory) /a/b/f=1"]);
    assert_eq!(trees(&fs), wanted);
    sync_dir(&fs, "/");
    sync_dir(&fs, "a");
    assert_eq!(trees(&fs), set(["/a=(directory) /a/b=(directory) /a/b/f=1"]));
}

#[test]
fn syncing_one_directory_covers_no_other() {
    let fs = MemFs::new();
    fs.create_dir_all(Path::new("a")).unwrap();
    fs.create_dir_all(Path::new("b")).unwrap();
    sync_dir(&fs, "/");
    create(&fs, "a/f");
    create(&fs, "b/g");
    sync_dir(&fs, "a");
    let both = "/a=(directory) /a/f= /b=(directory)";
    assert_eq!(trees(&fs), set([both, &format!("{both} /b/g=")]));
}

#[test]
fn a_rename_over_directories_is_durable_in_both_or_neither() {
    for synced in ["a", "b"] {
        let fs = MemFs::new();
        fs.create_dir_all(Path::new("a")).unwrap();
        fs.create_dir_all(Path::new("b")).unwrap();
        durable(&fs, "a/f", b"1");
        sync_dir(&fs, "a");
        fs.rename(Path::new("a/f"), Path::new("b/g")).unwrap();
        let before = "/a=(directory) /a/f=1 /b=(directory)";
        let after = "/a=(directory) /b=(directory) /b/g=1";
        assert_eq!(trees(&fs), set([before, after]));
        sync_dir(&fs, synced);
        assert_eq!(trees(&fs), set([after]), "after the sync of {synced}");
    }
}

/// The rename depends on the creation of the moved file, which was in another directory.
#[test]
fn a_sync_brings_what_its_operations_stand_on() {
    let fs = MemFs::new();
    fs.create_dir_all(Path::new("a")).unwrap();
    fs.create_dir_all(Path::new("b")).unwrap();
    sync_dir(&fs, "/");
    create(&fs, "a/f");
    create(&fs, "a/other");
    fs.rename(Path::new("a/f"), Path::new("b/f")).unwrap();
    sync_dir(&fs, "b");
    let kept = "/a=(directory) /b=(directory) /b/f=";
    assert_eq!(trees(&fs), set([kept, "/a=(directory) /a/other= /b=(directory) /b/f="]));
}

#[test]
fn a_removed_directory_may_come_back_empty_or_full() {
    let fs = MemFs::new();
    fs.create_dir_all(Path::new("d")).unwrap();
    create(&fs, "d/f");
    sync_dir(&fs, "/");
    sync_dir(&fs, "d");
    fs.remove(Path::new("d/f")).unwrap();
    fs.remove_dir(Path::new("d")).unwrap();
    assert_eq!(trees(&fs), set(["", "/d=(directory)", "/d=(directory) /d/f="]));
    sync_dir(&fs, "/");
    assert_eq!(trees(&fs), set([""]));
}

#[test]
fn both_names_of_a_link_lead_to_one_file() {
    let fs = MemFs::new();
    durable(&fs, "a", b"1");
    fs.hard_link(Path::new("a"), Path::new("b")).unwrap();
    sync_dir(&fs, "/");
    let clone = fs.crash_clone(1, CrashStyle::Any);
    open(&clone, "a").write_at(b"2", 0).unwrap();
    assert_eq!(read(&clone, "b"), b"2");
    assert_eq!(clone.used_bytes(), 4096);
    clone.remove(Path::new("a")).unwrap();
    clone.remove(Path::new("b")).unwrap();
    assert_eq!(clone.used_bytes(), 0);
}

#[test]
fn what_a_failed_sync_forgot_of_a_directory_is_seen_and_gone_after_a_crash() {
    let fs = MemFs::new();
    durable(&fs, "kept", b"k");
    durable(&fs, "removed", b"r");
    durable(&fs, "renamed", b"n");
    create(&fs, "new").sync().unwrap();
    fs.remove(Path::new("removed")).unwrap();
    fs.rename(Path::new("renamed"), Path::new("to")).unwrap();
    fs.forget_dir(Path::new("/")).unwrap();
    assert_eq!(trees(&fs), set(["/kept=k /removed=r /renamed=n", "/kept=k /renamed=n"]));
    sync_dir(&fs, "/");
    let names = |fs: &MemFs| tree(fs).into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ");
    assert_eq!(names(&fs), "/kept /new /to");
    assert_eq!(trees(&fs), set(["/kept=k /renamed=n"]), "a removal is made durable by a later sync");
    // After the death of the process, the lost entries stay lost, even if the next process syncs.
    let killed = fs.kill_clone();
    sync_dir(&killed, "/");
    assert_eq!(names(&killed), "/kept /new /to");
    assert_eq!(trees(&killed), set(["/kept=k /renamed=n"]));
}

#[test]
fn what_is_done_to_names_that_were_forgotten_counts_again() {
    let fs = MemFs::new();
    durable(&fs, "old", b"o");
    create(&fs, "new").sync().unwrap();
    fs.forget_dir(Path::new("/")).unwrap();
    fs.hard_link(Path::new("new"), Path::new("linked")).unwrap();
    fs.remove(Path::new("new")).unwrap();
    let again = create(&fs, "new");
    again.write_at(b"2", 0).unwrap();
    again.sync().unwrap();
    assert!(trees(&fs).contains("/old=o"), "it may all be lost still");
    sync_dir(&fs, "/");
    assert_eq!(trees(&fs), set(["/linked= /new=2 /old=o"]));
}

#[test]
fn a_rename_over_directories_is_forgotten_in_both_and_what_comes_before_it_in_neither() {
    let fs = MemFs::new();
    fs.create_dir_all(Path::new("a")).unwrap();
    fs.create_dir_all(Path::new("b")).unwrap();
    sync_dir(&fs, "/");
    create(&fs, "a/f");
    fs.rename(Path::new("a/f"), Path::new("b/f")).unwrap();
    create(&fs, "a/other");
    fs.forget_dir(Path::new("b")).unwrap();
    sync_dir(&fs, "b");
    sync_dir(&fs, "a");
    assert_eq!(trees(&fs), set(["/a=(directory) /a/f= /a/other= /b=(directory)"]));
}
