//! `alluvium mv`: many sorted values under a key, as text.
//!
//! A named set of keys and values is a multivalue tree of the store. The directory may contain only such sets, or a
//! database with collections as well.

use super::load::open_unpacked;
use crate::exit::{Failure, Outcome};
use crate::files;
use crate::output::Output;
use crate::settings::access::{Access, Reading, Writing};
use crate::settings::database::DatabaseArgs;
use crate::signals::Stop;
use crate::text;
use alluvium_store::{Durability, Multivalue, Store, TreeId, ValuesOf};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

/// The first byte of the description of a named set; the name follows.
const VALUES: u8 = 3;
/// The number of values that `mv load` writes in one batch.
const BATCH: usize = 1000;

/// The names of the sets in a store.
pub(crate) fn sets(store: &Store) -> Vec<String> {
    let name =
        |description: &[u8]| description.strip_prefix(&[VALUES]).map(|name| String::from_utf8_lossy(name).into());
    store.trees().iter().filter_map(|(_, description)| name(description)).collect()
}

/// Subcommands of `mv`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Add values to a key; the database is created if it does not exist
    #[command(after_help = "Example: alluvium mv put ids.mv by_author some_author evn2i5p evn2j01\n\n\
                            When the command succeeds, the values are on the disk, in the shell as on the command line.")]
    Put {
        #[command(flatten)]
        set: Set,
        /// The key
        key: String,
        /// The values
        #[arg(required = true)]
        values: Vec<String>,
    },
    /// Print the values of a key in order, one per line
    #[command(after_help = "Example: alluvium mv get ids.mv by_author some_author --from evn2 --limit 10")]
    Get {
        #[command(flatten)]
        set: Set<Reading>,
        /// The key
        key: String,
        #[command(flatten)]
        range: Range,
    },
    /// Remove values of a key, or all of them
    #[command(after_help = "Examples: alluvium mv delete ids.mv by_author some_author evn2i5p\n          \
                            alluvium mv delete ids.mv by_author some_author --all\n\n\
                            When the command succeeds, the change is on the disk, in the shell as on the command line.")]
    Delete {
        #[command(flatten)]
        set: Set,
        /// The key
        key: String,
        /// The values
        #[arg(required_unless_present = "all")]
        values: Vec<String>,
        /// Remove all values of the key; this costs the same for one value and for millions
        #[arg(long, conflicts_with = "values")]
        all: bool,
    },
    /// Print the keys in order, one per line
    #[command(after_help = "Example: alluvium mv keys ids.mv by_author")]
    Keys {
        #[command(flatten)]
        set: Set<Reading>,
    },
    /// Print the names of the sets in order, one per line
    #[command(after_help = "Example: alluvium mv sets ids.mv")]
    Sets {
        #[command(flatten)]
        database: DatabaseArgs<Reading>,
    },
    /// Drop a set with all its keys and values; compactions free the space
    #[command(after_help = "Example: alluvium mv drop ids.mv by_author --yes\n\n\
                            When the command succeeds, the change is on the disk, in the shell as on the command line.")]
    Drop {
        #[command(flatten)]
        set: Set,
        /// Confirm that it is to be dropped
        #[arg(long)]
        yes: bool,
    },
    /// Add the pairs of a file (plain, .gz or .zst) of lines with key, tab, value
    #[command(after_help = "Example: alluvium mv load ids.mv by_author pairs.tsv --memory 64M\n\n\
                            When the command succeeds, the values are on the disk, in the shell as on the command line.")]
    Load {
        #[command(flatten)]
        set: Set,
        /// The file; `-` is standard input
        file: PathBuf,
        /// Print the figures as JSON
        #[arg(long)]
        json: bool,
    },
}

/// A set in a store.
#[derive(Debug, clap::Args)]
pub(crate) struct Set<A: Access = Writing> {
    #[command(flatten)]
    database: DatabaseArgs<A>,
    /// The name of the set
    #[arg(value_name = "SET")]
    name: String,
}

/// A range of values.
#[derive(Debug, clap::Args)]
pub(crate) struct Range {
    /// Start at this value
    #[arg(long, value_name = "VALUE")]
    from: Option<String>,
    /// End before this value
    #[arg(long, value_name = "VALUE")]
    below: Option<String>,
    /// Print in descending order
    #[arg(long)]
    reverse: bool,
    /// Print at most N values; 0 means no limit, the default
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    limit: u64,
    /// Print an estimate of the number of values, without reading them
    #[arg(long)]
    estimate: bool,
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(&self) -> Outcome {
        match self {
            Self::Put { set, key, values } => set.named()?.change(true, |tree, batch| {
                values.iter().for_each(|value| batch.put_value(tree, key.as_bytes(), value.as_bytes()));
            }),
            Self::Delete { set, key, all: true, .. } => set.change(false, |tree, batch| {
                batch.delete_values(tree, key.as_bytes());
            }),
            Self::Delete { set, key, values, all: false } => set.change(false, |tree, batch| {
                values.iter().for_each(|value| batch.delete_value(tree, key.as_bytes(), value.as_bytes()));
            }),
            Self::Get { set, key, range } => set.read(|values| range.print(values, key)),
            Self::Keys { set } => set.read(print_keys),
            Self::Load { set, file, json } => set.named()?.load(file, *json),
            Self::Sets { database } => print_sets(database),
            Self::Drop { set, yes } => set.drop_all(*yes),
        }
    }
}

fn print_sets(database: &DatabaseArgs<Reading>) -> Outcome {
    let mut names = database.with(|database| Ok(sets(database.store())))?;
    names.sort();
    let mut out = Output::new();
    names.iter().try_for_each(|name| out.text(&(text::plain(name) + "\n")))?;
    out.finish()
}

fn failed(error: alluvium_store::Error) -> Failure {
    alluvium::Error::from(error).into()
}

impl<A: Access> Set<A> {
    /// Opens the store, runs the step, and closes the store.
    fn with<T>(&self, create: bool, step: impl FnOnce(&Store, TreeId) -> Outcome<T>) -> Outcome<T> {
        // The store is opened as a database even if it has no documents, because compactions may process trees of
        // collections.
        let builder = if create { self.database.creating()? } else { self.database.builder()? };
        self.database.with_builder(builder, |database| {
            let store = database.store();
            self.tree(store, create).and_then(|tree| step(store, tree))
        })
    }

    fn tree(&self, store: &Store, create: bool) -> Outcome<TreeId> {
        let description = [&[VALUES], self.name.as_bytes()].concat();
        let trees = store.trees();
        if let Some((tree, _)) = trees.iter().find(|(_, found)| *found == description) {
            return Ok(*tree);
        }
        if create {
            return store.create_multivalue_tree(&description).map_err(failed);
        }
        let names = sets(store);
        let there = match names.is_empty() {
            true => "there are no sets yet; `mv put` and `mv load` create them".to_owned(),
            false => format!("there is: {}", text::plain(&names.join(", "))),
        };
        Err(Failure::NotFound(format!("there is no set {}; {there}", text::plain(&self.name))))
    }

    /// Returns itself if the name is valid for a set.
    fn named(&self) -> Outcome<&Self> {
        if self.name.is_empty() { Err(Failure::Usage("a set needs a name".to_owned())) } else { Ok(self) }
    }

    fn drop_all(&self, yes: bool) -> Outcome {
        if !yes {
            let text =
                format!("this removes the set {} and all its values: say so with --yes", text::plain(&self.name));
            return Err(Failure::Usage(text));
        }
        self.with(false, |store, tree| store.drop_trees(&[tree]).and_then(|()| store.sync()).map_err(failed))
    }

    fn change(&self, create: bool, fill: impl FnOnce(TreeId, &mut alluvium_store::WriteBatch)) -> Outcome {
        self.with(create, |store, tree| {
            let mut batch = store.batch();
            fill(tree, &mut batch);
            store.write(batch, Durability::Sync).map_err(failed)?;
            Ok(())
        })
    }

    fn read(&self, step: impl FnOnce(&Multivalue<'_>) -> Outcome) -> Outcome {
        self.with(false, |store, tree| step(&store.multivalue(tree).map_err(failed)?))
    }

    fn load(&self, file: &std::path::Path, json: bool) -> Outcome {
        let stop = Stop::on_signals()?;
        let loaded = self.with(true, |store, tree| {
            files::not_the_shells(file)?;
            let lines = BufReader::with_capacity(1 << 18, open_unpacked(file, &stop)?);
            let mut loaded = 0;
            let read = load_lines(store, tree, lines, &mut loaded, &stop);
            // The values are synced even after a failure, because those written before remain.
            store.sync().map_err(failed)?;
            read.map_err(|why| match why {
                Broken::Stopped => Failure::Interrupted(format!("stopped; {}", stay(loaded, "loaded"))),
                Broken::Line(what) => {
                    let stay = stay(loaded, "before that");
                    Failure::Other(format!("{} line {}: {what}\n{stay}", text::path(file), loaded + 1))
                }
                Broken::Store(failure) => failure,
            })?;
            Ok(loaded)
        })?;
        let mut out = Output::new();
        if json {
            out.json(&serde_json::json!({ "values": loaded }))?;
        } else {
            out.text(&format!("loaded {}\n", text::counted(loaded, "value")))?;
        }
        out.finish()
    }
}

/// The text about the number of loaded values that remain.
fn stay(loaded: u64, which: &str) -> String {
    let verb = if loaded == 1 { "stays" } else { "stay" };
    format!("{} {which} {verb}", text::counted(loaded, "value"))
}

/// The reason why a load ended early.
enum Broken {
    Stopped,
    Line(String),
    Store(Failure),
}

/// Writes the pairs of all lines; `loaded` counts the pairs written.
fn load_lines(
    store: &Store,
    tree: TreeId,
    mut lines: impl BufRead,
    loaded: &mut u64,
    stop: &Stop,
) -> Result<(), Broken> {
    let mut line = Vec::new();
    loop {
        let mut batch = store.batch();
        let mut ended = None;
        while batch.len() < BATCH && ended.is_none() {
            line.clear();
            match lines.read_until(b'\n', &mut line) {
                Ok(0) => ended = Some(Ok(())),
                Ok(_) if stop.is_set() => ended = Some(Err(Broken::Stopped)),
                Ok(_) => match pair(&line) {
                    Some((key, value)) => batch.put_value(tree, key, value),
                    None => ended = Some(Err(Broken::Line("there is no tab between key and value".to_owned()))),
                },
                Err(_) if stop.is_set() => ended = Some(Err(Broken::Stopped)),
                Err(error) => ended = Some(Err(Broken::Line(format!("cannot read it: {error}")))),
            }
        }
        let count = batch.len() as u64;
        store.write(batch, Durability::Bulk).map_err(|error| Broken::Store(failed(error)))?;
        *loaded += count;
        if let Some(ended) = ended {
            return ended;
        }
    }
}

/// The key and the value of a line.
fn pair(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    Some((&line[..tab], &line[tab + 1..]))
}

impl Range {
    fn print(&self, values: &Multivalue<'_>, key: &str) -> Outcome {
        let mut out = Output::new();
        let mut wanted = ValuesOf::key(key.as_bytes());
        if let Some(from) = &self.from {
            wanted = wanted.from(from.as_bytes());
        }
        if let Some(below) = &self.below {
            wanted = wanted.below(below.as_bytes());
        }
        if self.reverse {
            wanted = wanted.reverse();
        }
        let mut stream = values.values(wanted).map_err(failed)?;
        let limit = if self.limit == 0 { u64::MAX } else { self.limit };
        if self.estimate {
            out.text(&format!("{}\n", stream.estimate().min(limit)))?;
            return out.finish();
        }
        let mut left = limit;
        while left > 0
            && let Some(value) = stream.next().map_err(failed)?
        {
            out.bytes(value)?;
            out.text("\n")?;
            left -= 1;
        }
        out.finish()?;
        // A key without any values is an error. A key that merely has no values in the range is not.
        if left == limit
            && values.values(ValuesOf::key(key.as_bytes())).map_err(failed)?.next().map_err(failed)?.is_none()
        {
            return Err(Failure::NotFound(format!("not found: {}", text::plain(key))));
        }
        Ok(())
    }
}

fn print_keys(values: &Multivalue<'_>) -> Outcome {
    let mut out = Output::new();
    let mut keys = values.keys(None).map_err(failed)?;
    while let Some(key) = keys.next().map_err(failed)? {
        out.bytes(key)?;
        out.text("\n")?;
    }
    out.finish()
}
