//! If the program is called by the name `mongod`, it prints the lines that launchers wait for, takes their arguments,
//! and keeps the data in the directory that they name.

use crate::common::Place;
use crate::served::run;
use alluvium::{Value, doc};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The command that runs the program under the name `mongod`.
fn mongod(place: &Place, arguments: &[&str]) -> Command {
    let link = place.path("mongod");
    if !link.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_alluvium"), &link).expect("a link");
    }
    let mut command = Command::new(link);
    command.args(arguments).current_dir(place.path("")).stdin(Stdio::null()).stdout(Stdio::piped());
    command.env("XDG_CONFIG_HOME", place.path("")).stderr(Stdio::piped());
    command
}

/// The lines of the log up to the line that a launcher waits for.
fn until(child: &mut Child, text: &str) -> Vec<serde_json::Value> {
    let mut lines = Vec::new();
    for line in BufReader::new(child.stdout.as_mut().expect("a pipe")).lines() {
        let line = line.expect("text");
        lines.push(serde_json::from_str(&line).expect("JSON"));
        if line.contains(text) {
            return lines;
        }
    }
    panic!("no {text:?} in {lines:?}")
}

fn end(mut child: Child) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
    assert_eq!(child.wait().expect("an end").code(), Some(0));
}

#[test]
fn a_server_says_that_it_waits() {
    let place = Place::new();
    std::fs::create_dir(place.path("data")).expect("a directory");
    let arguments = "--dbpath data --port 0 --bind_ip 127.0.0.1 --noauth --quiet --storageEngine wiredTiger \
                     --setParameter ttlMonitorSleepSecs=1 --wiredTigerCacheSizeGB 0.1 --replSet rs0";
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let mut child = mongod(&place, &arguments).spawn().expect("the program");
    let lines = until(&mut child, "Transition to primary complete; database writes are now permitted");
    let waiting = lines.iter().find(|line| line["msg"] == "Waiting for connections").expect("the line");
    assert_eq!((&waiting["s"], &waiting["c"], &waiting["id"]), (&"I".into(), &"NETWORK".into(), &23016.into()));
    assert!(waiting["attr"]["port"].as_u64().is_some_and(|port| port > 0) && waiting["t"]["$date"].is_string());
    end(child);
    assert!(place.path("data/alluvium").is_dir());
}

/// The arguments of launchers, init scripts and containers are accepted.
#[test]
fn arguments_of_launchers_are_taken() {
    let place = Place::new();
    std::fs::create_dir(place.path("data")).expect("a directory");
    place.write(
        "mongod.conf",
        "storage:\n  dbPath: missing\nnet:\n  port: 0\n  bindIp: 127.0.0.1\nreplication:\n  replSetName: rs0\n",
    );
    for line in [
        "--dbpath data --port 0 --bind_ip localhost,127.0.0.1 --pidfilepath mongod.pid --networkMessageCompressors snappy,zstd,zlib \
         --profile 1 --slowms 50 --sslMode disabled --noauth --nojournal --syncdelay=0 --nohttpinterface --noprealloc --smallfiles",
        "--dbpath data --port 0 --ipv6 --bind_ip_all --noauth --pidfilepath=mongod.pid --tlsMode disabled --quiet -vv",
        "--config mongod.conf --dbpath data --pidfilepath mongod.pid --oplogSize 64 --setParameter ttlMonitorSleepSecs=1",
    ] {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let mut child = mongod(&place, &arguments).spawn().expect("the program");
        let lines = until(&mut child, "Waiting for connections");
        assert_eq!(lines.iter().filter(|line| line["msg"] == "Listening on").count(), 1, "{line}: {lines:?}");
        let port = lines.last().expect("a line")["attr"]["port"].as_u64().expect("a port");
        let mut stream = TcpStream::connect(("127.0.0.1", port as u16)).expect("the server");
        let profile = run(&mut stream, doc! {"profile": (-1)}).expect("a reply");
        let (was, slow) = if line.contains("--profile") { (1, 50) } else { (0, 100) };
        assert_eq!(profile.get("was").and_then(Value::as_i64), Some(was), "{line}");
        assert_eq!(profile.get("slowms").and_then(Value::as_i64), Some(slow), "{line}");
        let hello = run(&mut stream, doc! {"hello": 1}).expect("a reply");
        let name = line.contains("--config").then_some("rs0");
        assert_eq!(hello.get("setName").and_then(Value::as_str), name, "{line}");
        assert_eq!(place.read("mongod.pid").trim(), child.id().to_string());
        end(child);
        assert!(!place.path("mongod.pid").exists());
    }
}

#[test]
fn compressors_are_those_of_the_argument_or_the_configuration_file() {
    let place = Place::new();
    place.write("zlib.conf", "net:\n  compression:\n    compressors: zlib\n");
    for (argument, expected) in [
        (None, &["zstd", "zlib", "snappy"][..]),
        (Some("--networkMessageCompressors=zlib,snappy"), &["zlib", "snappy"]),
        (Some("--networkMessageCompressors=disabled"), &[]),
        (Some("--config=zlib.conf"), &["zlib"]),
    ] {
        let arguments = ["--dbpath", ":memory:", "--port", "0", "--bind_ip", "127.0.0.1"];
        let arguments: Vec<&str> = arguments.into_iter().chain(argument).collect();
        let mut child = mongod(&place, &arguments).spawn().expect("the program");
        let lines = until(&mut child, "Waiting for connections");
        let port = lines.last().expect("a line")["attr"]["port"].as_u64().expect("a port");
        let mut stream = TcpStream::connect(("127.0.0.1", port as u16)).expect("the server");
        let hello = run(&mut stream, doc! {"hello": 1, "compression": ["zstd", "zlib", "snappy"]}).expect("a reply");
        let offered = hello.get("compression").and_then(Value::as_array).unwrap_or_default();
        assert_eq!(offered.iter().filter_map(Value::as_str).collect::<Vec<_>>(), expected, "{argument:?}");
        end(child);
    }
}

/// As with MongoDB, the existence of a user does not make logins necessary.
#[test]
fn logins_are_needed_with_an_argument() {
    let place = Place::new();
    std::fs::write(place.path("key"), "secret").expect("a file");
    place.write("on.conf", "security:\n  authorization: enabled\n");
    place.write("off.conf", "security:\n  authorization: \"disabled\"\n");
    for (argument, is_needed) in [
        (None, false),
        (Some("--auth"), true),
        (Some("--keyFile=key"), true),
        (Some("--config=on.conf"), true),
        (Some("--config=off.conf"), false),
    ] {
        let arguments = ["--dbpath", ":memory:", "--port", "0", "--bind_ip", "127.0.0.1"];
        let arguments: Vec<&str> = arguments.into_iter().chain(argument).collect();
        let mut child = mongod(&place, &arguments).spawn().expect("the program");
        let lines = until(&mut child, "Waiting for connections");
        let port = lines.last().expect("a line")["attr"]["port"].as_u64().expect("a port");
        let mut stream = TcpStream::connect(("127.0.0.1", port as u16)).expect("the server");
        let user = doc! {"createUser": "one", "pwd": "1", "roles": ["root"], "$db": "admin"};
        assert_eq!(run(&mut stream, user).and_then(|reply| reply.get("code").cloned()), None);
        let code = run(&mut stream, doc! {"find": "pets"}).and_then(|reply| reply.get("code").cloned());
        assert_eq!(code, is_needed.then_some(Value::Int32(13)), "{argument:?}");
        end(child);
    }
}

#[test]
fn memory_and_a_log_file() {
    let place = Place::new();
    place.write("log", "old");
    let arguments = ["--dbpath", ":memory:", "--port", "0", "--bind_ip", "127.0.0.1", "--logpath", "log"];
    let child = mongod(&place, &arguments).spawn().expect("the program");
    let waits = || place.path("log").exists() && place.read("log").contains("Waiting for connections");
    let deadline = Instant::now() + Duration::from_secs(30);
    while !waits() {
        assert!(Instant::now() < deadline, "the log has no line");
        std::thread::sleep(Duration::from_millis(10));
    }
    end(child);
    let last = place.read("log");
    assert!(last.lines().last().is_some_and(|line| line.contains("Shutting down")), "{last}");
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let place = Place::new();
    for (arguments, expected) in [
        (&["--fork"][..], "--fork"),
        (&["--config", "a.conf"], "--config a.conf"),
        (&["--tlsMode", "preferTLS", "--port", "0"], "--tlsMode"),
        (&["--sslMode", "allowSSL", "--port", "0"], "write requireTLS with --tlsCertificateKeyFile, or disabled"),
        (&["--networkMessageCompressors", "lz4", "--port", "0"], "there is no compressor 'lz4'"),
        (&["--sslMode", "requireSSL", "--port", "0"], "--tlsCertificateKeyFile"),
        (&["--profile", "3", "--port", "0"], "--profile"),
        (&["--shutdown"], "--shutdown"),
        (&["--auth", "--noauth", "--port", "0"], "--auth"),
        (&["--keyFile", "missing", "--port", "0"], "missing: there is no such file"),
        (&["--tlsMode", "requireTLS", "--port", "0"], "--tlsCertificateKeyFile"),
        (&["--setParameter", "x"], "NAME=VALUE"),
        (&["--dbpath", "missing", "--port", "0"], "Data directory missing not found"),
    ] {
        let ended = mongod(&place, arguments).output().expect("an end");
        let text = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success() && text.contains(expected), "{arguments:?}: {text}");
    }
    let version = mongod(&place, &["--version"]).output().expect("an end").stdout;
    assert!(String::from_utf8_lossy(&version).starts_with("db version v8.2.0\n"));
    assert!(place.good(&["mongod", "--version"]).starts_with("db version v8"));
}
