//! A load whose source panics ends with an error; documents written before remain.

use alluvium::Database;
use alluvium::load::Input;
use std::io::Read;
use std::time::Duration;

struct Breaks {
    lines: usize,
}

impl Read for Breaks {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        assert!(self.lines < 40_000, "the source breaks");
        let line = format!("{{\"_id\":{}}}\n", self.lines);
        self.lines += 1;
        buffer[..line.len()].copy_from_slice(line.as_bytes());
        Ok(line.len())
    }
}

#[test]
fn no_thread_waits_for_one_that_has_panicked() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::builder().memory(8 << 20).open(dir.path().join("db")).unwrap();
    let (sender, ended) = std::sync::mpsc::channel();
    let loading = db.clone();
    std::thread::spawn(move || {
        let input = Input::stream("breaking", Breaks { lines: 0 });
        sender.send(loading.collection("c").load(input).readers(3).writers(2).run()).unwrap();
    });
    let result = ended.recv_timeout(Duration::from_secs(30)).expect("the load hangs");
    let error = result.expect_err("the source broke");
    assert!(error.to_string().contains("breaking"), "{error}");
    db.collection("c").insert_one(r#"{"_id": "goes on"}"#).unwrap();
}
