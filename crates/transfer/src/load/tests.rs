use super::*;
use crate::testing::{all, database, load, text};
use alluvium_env::Env;
use alluvium_env::sync::Mutex;
use std::io::{self, Read};
use std::path::Path;

/// A source that returns an error after a number of bytes, like a failing disk.
struct Failing {
    text: io::Cursor<Vec<u8>>,
    left: usize,
}

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other("the disk fails"));
        }
        let most = buffer.len().min(self.left);
        let read = self.text.read(&mut buffer[..most])?;
        self.left -= read;
        Ok(read)
    }
}

/// The identity of a file. The content in a test need not be the content of that file.
fn identity() -> Identity {
    let env = Env::in_memory(1);
    env.fs.open(Path::new("input"), alluvium_env::OpenMode::CreateNew).unwrap();
    Identity::of_file_in(&env, "input").unwrap()
}

fn lines(count: usize) -> String {
    (0..count).map(|n| format!("{{\"_id\":{n},\"text\":\"{}\"}}\n", "x".repeat(1000))).collect()
}

#[test]
fn an_interrupted_load_continues_where_it_ended() {
    let (engine, identity, whole) = (database(), identity(), lines(20_000));
    let half = Failing { text: io::Cursor::new(whole.clone().into_bytes()), left: whole.len() / 2 };
    let failed = load(&engine, "c", Input::decoded("input", identity, half)).run();
    assert!(failed.unwrap_err().to_string().contains("the disk fails"));
    let before = all(&engine, "c").len() as u64;
    assert!(before > 0 && before < 20_000, "{before}: otherwise this proves nothing");
    let again = || Input::decoded("input", identity, io::Cursor::new(whole.clone()));
    let known = load(&engine, "c", again()).loaded_before().unwrap().expect("a mark");
    assert_eq!((known.documents, known.finished), (before, false));
    let report = load(&engine, "c", again()).run().unwrap();
    assert_eq!((report.outcome, report.documents, report.documents_before), (Outcome::Done, 20_000 - before, before));
    assert_eq!((report.resumed_at, report.duplicates), (known.bytes, 0));
    assert_eq!(all(&engine, "c").len(), 20_000);
    // A load that was completed before changes nothing.
    assert_eq!(load(&engine, "c", again()).run().unwrap().outcome, Outcome::AlreadyDone);
    // The mark belongs to the collection; another collection has none.
    assert_eq!(load(&engine, "other", again()).loaded_before().unwrap(), None);
}

#[test]
fn a_stopped_load_continues() {
    let (engine, identity) = (database(), identity());
    let input = || Input::decoded("input", identity, io::Cursor::new(lines(100)));
    let stop = Arc::new(AtomicBool::new(true));
    assert_eq!(load(&engine, "c", input()).stop_when(stop).run().unwrap().outcome, Outcome::Stopped);
    let report = load(&engine, "c", input()).run().unwrap();
    assert_eq!((report.outcome, report.documents + report.documents_before), (Outcome::Done, 100));
}

#[derive(Clone, Default)]
struct Rejects(Arc<Mutex<Vec<u8>>>);

impl Write for Rejects {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const BAD: &str = "{\"_id\":1}\n{\"_id\":2,\"a\":}\n{\"_id\":[3]}\n\n{\"_id\":4}\n";

#[test]
fn a_bad_line_ends_the_load_after_the_lines_before_it() {
    let engine = database();
    let message = load(&engine, "c", text(BAD)).run().unwrap_err().to_string();
    assert!(message.contains("line 2"), "{message}");
    assert_eq!(all(&engine, "c"), [r#"{"_id":1}"#]);
}

#[test]
fn skipped_lines_are_counted_and_written_apart() {
    let (engine, rejects) = (database(), Rejects::default());
    let report = load(&engine, "c", text(BAD)).on_bad(OnBad::Skip).rejects(rejects.clone()).run().unwrap();
    assert_eq!((report.documents, report.rejected), (2, 2));
    assert_eq!(all(&engine, "c"), [r#"{"_id":1}"#, r#"{"_id":4}"#]);
    let rejected = String::from_utf8(rejects.0.lock().clone()).unwrap();
    let places: Vec<u64> = rejected
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["line"].as_u64().unwrap())
        .collect();
    assert_eq!(places, [2, 3]);
}

#[test]
fn a_duplicate_is_what_the_options_say() {
    let twice = || text("{\"_id\":1,\"n\":1}\n{\"_id\":2}\n{\"_id\":1,\"n\":2}\n");
    let loaded = |choice: OnDuplicate| {
        let engine = database();
        let report = load(&engine, "c", twice()).on_duplicate(choice).run().map_err(|error| error.to_string());
        (report.map(|report| (report.documents, report.duplicates)), all(&engine, "c"))
    };
    let (report, documents) = loaded(OnDuplicate::Skip);
    assert_eq!((report, documents[0].as_str()), (Ok((2, 1)), r#"{"_id":1,"n":1}"#));
    let (report, documents) = loaded(OnDuplicate::Replace);
    assert_eq!((report.is_ok(), documents.len(), documents[0].as_str()), (true, 2, r#"{"_id":1,"n":2}"#));
    let (report, documents) = loaded(OnDuplicate::Error);
    assert!(report.unwrap_err().contains("line 3"));
    assert_eq!(documents[0], r#"{"_id":1,"n":1}"#, "the first one is not changed");
}
