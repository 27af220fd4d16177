//! The server process, which is started, measured and killed.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The value of `--memory`.
const MEMORY: &str = "64M";
/// The limit of resident memory: one and a half times [`MEMORY`], and 200 MB.
pub const MEMORY_BYTES_MAX: u64 = (96 << 20) + (200 << 20);
/// The time that a server has to end after SIGTERM.
const END_MAX: Duration = Duration::from_secs(30);

/// The server.
pub struct Target {
    program: PathBuf,
    dir: tempfile::TempDir,
    child: Option<Child>,
    /// The highest resident memory of any process of this server, in bytes.
    pub peak: u64,
    /// The number of kills.
    pub kills: u32,
}

impl Target {
    pub fn new(program: &Path) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let program = program.canonicalize().expect("the program exists");
        Self { program, dir, child: None, peak: 0, kills: 0 }
    }

    /// Starts the server, and returns its address.
    pub fn start(&mut self) -> SocketAddr {
        let log = File::options().create(true).append(true).open(self.dir.path().join("log")).expect("a file");
        let mut child = Command::new(&self.program)
            .args(["serve", "db", "--listen", "127.0.0.1:0", "--memory", MEMORY])
            .current_dir(self.dir.path())
            .env("XDG_CONFIG_HOME", self.dir.path())
            .env("XDG_STATE_HOME", self.dir.path())
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the program");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
        self.child = Some(child);
        loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).expect("text") > 0, "the server ended: {}", self.log());
            if let Some(address) = line.strip_prefix("listening at ") {
                return address.trim().parse().expect("an address");
            }
        }
    }

    fn log(&self) -> String {
        let bytes = std::fs::read(self.dir.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Measures the running process. Returns the failed checks.
    fn measure(&mut self) -> Vec<String> {
        let Some(child) = &mut self.child else { return Vec::new() };
        if let Ok(Some(status)) = child.try_wait() {
            return vec![format!("the server ended by itself: {status}: {}", self.log())];
        }
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
        let bytes = line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).expect("a number") << 10;
        self.peak = self.peak.max(bytes);
        match bytes > MEMORY_BYTES_MAX {
            true => vec![format!("the server had {} MB, and may have {}", bytes >> 20, MEMORY_BYTES_MAX >> 20)],
            false => Vec::new(),
        }
    }

    /// Kills the server with -9. Returns the checks that failed before.
    pub fn kill(&mut self) -> Vec<String> {
        let failures = self.measure();
        if let Some(mut child) = self.child.take() {
            let _it_may_have_ended = child.kill();
            child.wait().expect("a child");
            self.kills += 1;
        }
        failures
    }

    /// Ends the server with SIGTERM. Returns the failed checks.
    pub fn stop(&mut self) -> Vec<String> {
        let mut failures = self.measure();
        if let Some(mut child) = self.child.take() {
            let sent = Command::new("kill").arg("-TERM").arg(child.id().to_string()).status();
            assert!(sent.expect("kill").success());
            let began = Instant::now();
            while child.try_wait().expect("a child").is_none() {
                if began.elapsed() > END_MAX {
                    failures.push("the server does not end after SIGTERM".to_owned());
                    child.kill().expect("a child");
                    child.wait().expect("a child");
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        let log = self.log();
        let is_fault = |line: &&str| line.contains("panicked") || line.contains("fault of this program");
        failures.extend(log.lines().filter(is_fault).take(3).map(|line| format!("the log has: {line}")));
        failures
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.kill();
    }
}
