use super::*;
use crate::config::Config;
use alluvium_env::Env;
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
    let mut shell = Shell::new(Context { definition: counted, config: &config }, &database, stop);
    let mut run = |script: String| {
        shell.script(script.as_bytes(), true).expect("a script");
        BUILT.with(Cell::get)
    };
    assert_eq!(run("put pets a {}\nget pets a\ncount pets\n".repeat(3)), 1);
    assert_eq!(run(String::from("use pets\n") + &"get a\nuse pets\ncount\n".repeat(3)), 2);
    assert_eq!(run("use\nget pets a\n".repeat(3)), 3);
}
