//! `checkpoint`, `restore` of a checkpoint, and `inspect`.

use crate::common::Place;

fn database() -> Place {
    let place = Place::new();
    place.comments("c.jsonl", 300);
    place.good(&["load", "db", "comments", "c.jsonl", "--id-field", "id"]);
    place.good(&["compact", "db"]);
    place.good(&["put", "db", "pets", "rex", "{\"kind\":\"dog\"}"]);
    place
}

#[test]
fn a_checkpoint_becomes_a_database() {
    let place = database();
    let made = place.good(&["checkpoint", "db", "one"]);
    assert!(made.contains("checkpoint one at sequence number"), "{made}");
    place.good(&["put", "db", "pets", "tom", "{\"kind\":\"cat\"}"]);
    let figures = place.json(&["checkpoint", "db", "two", "--base", "one", "--json"]);
    assert!(figures["files_in_base"].as_u64() > Some(0) && figures["files_copied"] == 0, "{figures}");
    let figures = place.json(&["checkpoint", "db", "three", "--copy", "--json"]);
    assert!(figures["bytes_copied"].as_u64() > Some(0), "{figures}");
    for (dir, pets) in [("one", "1\n"), ("two", "2\n"), ("three", "2\n")] {
        let to = format!("from-{dir}");
        let restored = place.good(&["restore", dir, &to]);
        assert!(restored.contains(&format!("restored {to} at sequence number")), "{restored}");
        assert_eq!(place.good(&["count", &to, "pets"]), pets);
        assert_eq!(place.good(&["count", &to, "comments"]), "300\n");
        place.good(&["verify", &to]);
    }
    let figures = place.json(&["restore", "one", "again", "--copy", "--quick", "--json"]);
    assert_eq!(figures["files"], figures["files_copied"]);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let place = database();
    place.good(&["checkpoint", "db", "one"]);
    place.good(&["restore", "one", "new"]);
    for (arguments, code, says) in [
        (&["checkpoint", "db", "one"][..], 1, "exists and is not empty"),
        (&["checkpoint", "db", "db/inside"], 2, "is inside db"),
        (&["checkpoint", "nothing", "two"], 3, "not an Alluvium database"),
        (&["checkpoint", "db", "two", "--base", "nothing"], 3, "not a checkpoint"),
        (&["checkpoint", "new", "two", "--base", "one"], 1, "another database"),
        (&["get", "one", "pets", "rex"], 1, "`alluvium restore CHECKPOINT NEW` makes a database from a checkpoint"),
        (&["restore", "one", "db"], 1, "exists and is not empty"),
        (&["restore", "one", "two", "--partitions", "3"], 2, "is a checkpoint"),
        (&["restore", "db", "two", "--quick"], 2, "for checkpoints"),
        (&["inspect", "nothing"], 3, "there is no file"),
        (&["inspect", "db"], 2, "is a directory"),
        (&["inspect", "c.jsonl"], 1, "not a file of an Alluvium database"),
    ] {
        let said = place.bad(code, arguments);
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
    // A damaged checkpoint is not restored, and the damage is reported.
    let manifest = place.path("one/p000/MANIFEST-1");
    let mut bytes = std::fs::read(&manifest).expect("a manifest");
    bytes[45] ^= 1;
    std::fs::write(&manifest, bytes).expect("a manifest");
    let said = place.bad(5, &["restore", "one", "two"]);
    assert!(
        said.contains("MANIFEST-1") && said.contains("restore another checkpoint") && !place.path("two").exists(),
        "{said}"
    );
}

#[test]
fn files_are_inspected() {
    let place = database();
    place.good(&["checkpoint", "db", "one"]);
    let said = place.good(&["inspect", "db/ALLUVIUM"]);
    assert!(said.contains("kind: superblock") && said.contains("partitions: 4"), "{said}");
    let said = place.good(&["inspect", "one/CHECKPOINT"]);
    assert!(said.contains("kind: checkpoint") && said.contains("file: path p000/MANIFEST-1"), "{said}");
    let of = |dir: &str, end: &str| {
        let mut names = std::fs::read_dir(place.path(dir)).expect("a directory").map(|e| e.expect("an entry").path());
        let found = names.find(|path| path.to_string_lossy().contains(end)).expect("a file");
        found.to_string_lossy().into_owned()
    };
    let said = place.good(&["inspect", &of("db/p000", "MANIFEST-"), "--json"]);
    assert!(said.lines().all(|line| line.starts_with('{')) && said.contains("\"row\":\"edit\""), "{said}");
    let said = place.good(&["inspect", &of("one/wal", ".log"), "--entries"]);
    assert!(said.contains("operation: ") && said.contains("key \"rex\""), "{said}");
    let sorted = of("db/p001", ".sst");
    let said = place.good(&["inspect", &sorted, "--entries"]);
    assert!(said.contains("entry: sequence") && said.contains("role index partition"), "{said}");
    assert!(said.contains("value {\"_id\":") && said.contains("shapes: tree "), "{said}");
    let said = place.good(&["inspect", &sorted, "--entries", "--json"]);
    assert!(said.contains("\"value\":{\"_id\":"), "{said}");
    let mut bytes = std::fs::read(&sorted).expect("a file");
    bytes[100] ^= 1;
    std::fs::write(place.path("damaged.sst"), bytes).expect("a file");
    let said = place.bad(5, &["inspect", "damaged.sst"]);
    assert!(said.contains("found damage"), "{said}");
}

#[test]
fn a_left_over_unfinished_checkpoint_is_named_as_such() {
    let place = Place::new();
    place.good(&["put", "db", "pets", "rex", "{}"]);
    place.good(&["checkpoint", "db", "cp1"]);
    // The state after a process was killed before it wrote the listing.
    std::fs::rename(place.path("cp1"), place.path("cp1.incomplete")).expect("a directory");
    std::fs::remove_file(place.path("cp1.incomplete/CHECKPOINT")).expect("a file");
    place.write("cp1.incomplete/LOCK", "");
    let commands: [&[&str]; 6] = [
        &["verify", "cp1.incomplete"],
        &["count", "cp1.incomplete", "pets"],
        &["put", "cp1.incomplete", "pets", "rex", "{}"],
        &["shell", "cp1.incomplete"],
        &["repair", "cp1.incomplete", "--to", "new"],
        &["restore", "cp1.incomplete", "new"],
    ];
    for command in commands {
        let said = place.bad(3, command);
        let expected = "cp1.incomplete is what an interrupted checkpoint or restore to cp1 left.";
        assert!(said.contains(expected) && said.contains("Delete it, or run the interrupted command"), "{said}");
    }
    // The same command starts over.
    place.good(&["checkpoint", "db", "cp1"]);
    assert!(!place.path("cp1.incomplete").exists());
    place.good(&["verify", "cp1"]);
}
