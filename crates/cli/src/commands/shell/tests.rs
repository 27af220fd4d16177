use super::*;
use crate::config::Config;
use alluvium_env::Env;
use alluvium_env::mem::{CrashStyle, MemFs};
use std::cell::Cell;

thread_local! {
    static BUILT: Cell<u64> = const { Cell::new(0) };
}

/// Counts how often the definition of all arguments is built.
fn counted() -> clap::Command {
    BUILT.with(|built| built.set(built.get() + 1));
    crate::app::definition()
}

#[test]
fn the_commands_are_built_once_for_a_session_and_for_each_collection_in_use() {
    let options = alluvium_store::Options { background: false, ..alluvium_store::Options::default() };
    let database = Database::builder().env(Env::in_memory(1)).options(options).open("my.db").expect("a database");
    let stop = Stop::never();
    let _until_the_end = session::enter(&database, &stop, false);
    let config = Config::default();
    let mut shell =
        Shell::new(Context { definition: counted, config: &config, run_for_visitor: |_| 0 }, &database, stop);
    let mut run = |script: String| {
        shell.script(script.as_bytes(), true).expect("a script");
        BUILT.with(Cell::get)
    };
    assert_eq!(run("put pets a {}\nget pets a\ncount pets\n".repeat(3)), 1);
    assert_eq!(run(String::from("use pets\n") + &"get a\nuse pets\ncount\n".repeat(3)), 2);
    assert_eq!(run("use\nget pets a\n".repeat(3)), 3);
}

#[test]
fn what_is_between_begin_and_commit_is_written_together() {
    let database = quiet(&Arc::new(MemFs::new()));
    let stop = Stop::never();
    let _until_the_end = session::enter(&database, &stop, false);
    let config = Config::default();
    let mut shell =
        Shell::new(Context { definition: counted, config: &config, run_for_visitor: |_| 0 }, &database, stop);
    let count = || database.collection("pets").count().expect("a count");
    let mut run =
        |script: &str, strict: bool| shell.script(script.as_bytes(), strict).map_err(|failure| failure.exit_code());

    run("put pets rex {a: 1}\nbegin\nput pets tom {}\nput new ada {}\nget pets tom\nget new ada", true)
        .expect_err("it ends within a transaction");
    assert!(count() == 1 && session::transaction().is_none());
    run("begin\nput pets tom {}\nupdate pets rex {$inc: {a: 1}}\ncommit\nget pets tom", true).expect("a script");
    assert_eq!(count(), 2);
    run("begin\ndelete pets tom\nabort\nget pets tom", true).expect("a script");

    // After a failure nothing of the transaction is written, also if the script goes on.
    for strict in [false, true] {
        run("begin\nput pets ada {}\nupdate pets rex {$inc: {a: \"x\"}}\nput pets bob {}\ncommit", strict)
            .expect_err("a wrong update");
        assert!(count() == 2 && session::transaction().is_none());
    }
    // Commands that change collections do not belong to it.
    run("begin\nput pets ada {}\nrename pets dogs\nput pets bob {}\ncommit", false).expect_err("a rename");
    run("begin\nput pets ada {}\nbegin\ncommit", false).expect_err("two transactions");
    assert_eq!(count(), 2);
    run("commit", true).expect_err("none is open");
    run("abort", true).expect_err("none is open");
    run("begin now", true).expect_err("an argument");
}

/// A database in memory without background threads, so that nothing syncs its log but the commands.
fn quiet(fs: &Arc<MemFs>) -> Database {
    let env = Env { fs: fs.clone(), ..Env::in_memory(1) };
    let options = alluvium_store::Options { background: false, ..alluvium_store::Options::default() };
    Database::builder().env(env).options(options).open("my.db").expect("a database")
}

/// All collections, indexes, documents and sets of values, as text.
fn content(database: &Database) -> String {
    let mut shown = format!("{:?}\n", crate::commands::multivalue::sets(database.store()));
    for info in database.collections() {
        let collection = database.collection(&info.full_name());
        let indexes: Vec<String> = collection.indexes().expect("indexes").into_iter().map(|index| index.name).collect();
        let documents = collection.scan().run().expect("a scan").map(|document| document.expect("whole").to_string());
        shown += &format!("{} {indexes:?} {:?}\n", info.full_name(), documents.collect::<Vec<_>>());
    }
    shown
}

#[test]
fn what_a_command_has_written_survives_a_power_cut() {
    let fs = Arc::new(MemFs::new());
    let database = quiet(&fs);
    let stop = Stop::never();
    let _until_the_end = session::enter(&database, &stop, false);
    let config = Config::default();
    let mut shell =
        Shell::new(Context { definition: counted, config: &config, run_for_visitor: |_| 0 }, &database, stop);
    for line in [
        "put pets rex {a: 1, b: 1}",
        "put pets tom {a: 2}",
        "put pets ada {a: 3}",
        "update pets rex {$inc: {a: 1}}",
        "update pets rex {$inc: {a: 1}} --blind",
        "update pets new {$set: {a: 7}} --upsert",
        "update pets --where {} {$inc: {a: 1}} --many",
        "update pets --where {b: 1} {$set: {b: 2}} --sync sync",
        "delete pets tom",
        "delete pets --where {a: 4}",
        "index create pets {a: 1}",
        "index create pets {b: 1}",
        "index drop pets a_1",
        "put cats tom {}",
        "rename cats tigers",
        "drop tigers --yes",
        "mv put by_kind dog rex",
        "mv delete by_kind dog rex",
        "mv put by_age old rex",
        "mv drop by_age --yes",
    ] {
        shell.script(line.as_bytes(), true).expect(line);
        let after_a_power_cut = quiet(&Arc::new(fs.crash_clone(1, CrashStyle::AllLost)));
        assert_eq!(content(&after_a_power_cut), content(&database), "{line}");
    }
}
