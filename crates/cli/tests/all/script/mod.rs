//! A script of the shell with writes of all kinds, and the documents after each of its commands.

use super::common::Place;
use alluvium::{Database, Value};
use alluvium_env::Env;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::path::Path;

/// The documents of the collection: each `_id` with its value.
pub type Documents = BTreeMap<String, i64>;

/// Commands of the shell, and the documents after each of them.
pub struct Script {
    rng: fastrand::Rng,
    pub text: String,
    /// The documents before the first command, and after each command.
    states: Vec<Documents>,
    files: usize,
    indexed: bool,
    others: bool,
}

impl Script {
    /// A script of random commands; the files that they load are written to `place`.
    pub fn new(seed: u64, place: &Place) -> Self {
        let (rng, states) = (fastrand::Rng::with_seed(seed), vec![Documents::new()]);
        let mut script = Self { rng, text: String::new(), states, files: 0, indexed: false, others: false };
        script.load(place);
        (0..script.rng.usize(20..60)).for_each(|_| script.any(place));
        script
    }

    /// The number of commands in the script.
    pub fn commands(&self) -> usize {
        self.states.len() - 1
    }

    /// Adds a command with its effect. A second command after it prints one number, which acknowledges the first.
    fn push(&mut self, command: &str, effect: impl FnOnce(&mut Documents)) {
        let mut after = self.states.last().expect("a state").clone();
        effect(&mut after);
        self.states.push(after);
        writeln!(self.text, "{command}\ncount docs").expect("a string");
    }

    fn load(&mut self, place: &Place) {
        let (file, value) = (format!("in{}.jsonl", self.files), self.states.len() as i64);
        self.files += 1;
        let first = self.rng.usize(0..2000);
        let keys: Vec<String> = (first..first + self.rng.usize(1..2500)).map(|n| format!("k{n:04}")).collect();
        let mut lines = String::new();
        for key in &keys {
            let filler: String = std::iter::repeat_with(|| self.rng.alphanumeric()).take(150).collect();
            writeln!(lines, "{{\"_id\":\"{key}\",\"v\":{value},\"filler\":\"{filler}\"}}").expect("a string");
        }
        place.write(&file, lines);
        self.push(&format!("load docs {} --on-duplicate replace", place.path(&file).display()), |documents| {
            documents.extend(keys.into_iter().map(|key| (key, value)));
        });
    }

    fn any(&mut self, place: &Place) {
        let (key, value) = (format!("k{:04}", self.rng.usize(0..2000)), self.states.len() as i64);
        match self.rng.usize(0..20) {
            0..=2 => self.load(place),
            3..=8 => self.push(&format!("put docs {key} {{\"v\":{value}}}"), |documents| {
                documents.insert(key, value);
            }),
            9..=11 => self.push(&format!("update docs {key} {{\"$set\":{{\"v\":{value}}}}} --upsert"), |documents| {
                documents.insert(key, value);
            }),
            12..=13 => {
                let Some(key) = self.rng.choice(self.states.last().expect("a state").keys()).cloned() else { return };
                self.push(&format!("delete docs {key}"), |documents| {
                    documents.remove(&key);
                });
            }
            14 => {
                let below = self.rng.i64(0..=value);
                self.push(&format!("delete docs --where {{\"v\":{{\"$lt\":{below}}}}} --many"), |documents| {
                    documents.retain(|_, value| *value >= below);
                });
            }
            15..=16 => {
                self.indexed = !self.indexed;
                let command = if self.indexed { "index create docs {\"v\":1}" } else { "index drop docs v_1" };
                self.push(command, |_| {});
            }
            17 => self.push("compact", |_| {}),
            _ => {
                self.others = !self.others;
                let command = if self.others { "put others 1 {\"a\":1}" } else { "drop others --yes" };
                self.push(command, |_| {});
            }
        }
    }
}

/// The number of acknowledged commands: the number of complete lines with a number in the output of the script.
pub fn acknowledged(printed: &[u8]) -> usize {
    let whole = printed.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
    whole.filter(|line| !line.is_empty() && line.iter().all(u8::is_ascii_digit)).count()
}

/// Checks the database after a run that ended early. `at` contains the smallest and the largest possible number of
/// acknowledged commands; one more command may have been executed.
pub fn check(env: Env, path: &Path, script: &Script, at: RangeInclusive<usize>) {
    if *at.start() == 0 && !env.fs.exists(&path.join("ALLUVIUM")).expect("a disk") {
        return;
    }
    let db = Database::builder().env(env).memory(8 << 20).open(path).expect("it opens");
    let damage = db.verify().run().expect("a check").damage;
    assert!(damage.is_empty(), "{damage:?}");
    let mut found = Documents::new();
    for document in db.collection("docs").scan().run().expect("a scan") {
        let document = document.expect("a document");
        let map = document.to_map().expect("a row");
        let value = map.get("v").and_then(Value::as_i64).expect("a number");
        found.insert(document.id().as_str().expect("text").to_owned(), value);
    }
    let last = (at.end() + 1).min(script.commands());
    let allowed = &script.states[*at.start()..=last];
    for key in allowed.iter().flat_map(BTreeMap::keys).chain(found.keys()) {
        let (is, allowed) = (found.get(key), allowed.iter().map(|documents| documents.get(key)).collect::<Vec<_>>());
        assert!(allowed.contains(&is), "{key}: {is:?} and none of {allowed:?} after commands {at:?}");
    }
    db.collection("docs").put("after", r#"{"v":0}"#).expect("a write");
    db.close().expect("closed");
}
