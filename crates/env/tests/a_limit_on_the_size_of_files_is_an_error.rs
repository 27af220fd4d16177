//! A write beyond the process's limit on the size of files (RLIMIT_FSIZE) is an error. Without the
//! check, the system would send a signal for such a write, which would end this test.

use alluvium_env::{Env, OpenMode};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit in bytes.
const MAX: u64 = 64 << 10;

/// Sets the limit until this value is dropped, because the output of the test may go to a longer
/// file.
struct Limited(Rlimit);

impl Limited {
    fn to(bytes: u64) -> Self {
        let before = getrlimit(Resource::Fsize);
        setrlimit(Resource::Fsize, Rlimit { current: Some(bytes), ..before }).expect("a lower limit");
        Self(before)
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _as_before = setrlimit(Resource::Fsize, self.0);
    }
}

#[test]
fn a_write_beyond_the_limit_is_an_error_and_no_signal() {
    let dir = tempfile::tempdir().expect("a directory");
    let fs = Env::os().fs;
    let unlimited = fs.open(&dir.path().join("long"), OpenMode::CreateNew).expect("a file");
    unlimited.write_at(&[1; MAX as usize + 4096], 0).expect("no limit yet");
    let _limited = Limited::to(MAX);

    let path = dir.path().join("file");
    let file = fs.open(&path, OpenMode::CreateNew).expect("a file");
    file.write_at(&[1; MAX as usize], 0).expect("as much as is allowed");
    let piece = [2; 4096];
    for error in [
        file.write_at(&piece, MAX - 1).expect_err("beyond"),
        file.write_at(&piece, u64::MAX - 1).expect_err("beyond"),
        file.allocate(MAX + 1).expect_err("beyond"),
        file.set_len(MAX + 1).expect_err("beyond"),
    ] {
        assert!(error.is_too_large() && !error.is_no_space(), "{error}");
        let text = error.to_string();
        assert!(text.contains("file: a file of this process may have at most 65536 bytes"), "{text}");
        assert!(text.contains("raise the limit"), "{text}");
    }
    assert_eq!(file.len().expect("a length"), MAX);
    file.write_at(&piece, 0).expect("within the limit");
    // A file that is already longer can be written within the limit, and truncated.
    let long = fs.open(&dir.path().join("long"), OpenMode::ReadWrite).expect("a file");
    assert!(long.write_at(&piece, MAX).expect_err("beyond").is_too_large());
    long.set_len(MAX + 1).expect("shorter than it was");
    if let Ok(direct) = fs.open_direct(&dir.path().join("direct"), OpenMode::CreateNew) {
        assert!(direct.write_at(&piece, MAX).expect_err("beyond").is_too_large());
    }
}
