//! `alluvium mongod`: a server that takes the arguments and writes the log of MongoDB's `mongod`, for launchers that
//! expect it.

mod arguments;
mod log;
mod settings;

use crate::commands::serve;
use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::settings::database::LEAST_MEMORY;
use crate::signals::Stop;
use crate::text;
use alluvium::{Builder, Database, Map, Value};
use alluvium_env::{Env, FileReader, OpenMode};
use alluvium_server::{Compressor, Config, MONGODB_VERSION, Server, SetName, TlsFiles};
use log::{Component, Log};
use std::collections::HashSet;
use std::io::Read;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

pub(crate) use arguments::{by_name, expand};

/// The program runs this command if it is called by this name.
pub(crate) const NAME: &str = "mongod";

/// The value of `--dbpath` for a database without files.
const IN_MEMORY: &str = ":memory:";

/// The directory of the database within `--dbpath`, unless `--dbpath` itself is a database.
const DIRECTORY: &str = "alluvium";

/// The TLS mode in which all connections use TLS, and its former name.
const REQUIRE_TLS: [&str; 2] = ["requireTLS", "requireSSL"];

/// The modes in which a port accepts connections with and without TLS.
const MIXED_TLS: [&str; 4] = ["allowTLS", "allowSSL", "preferTLS", "preferSSL"];

fn tls_mode(mode: &str) -> Result<String, String> {
    if MIXED_TLS.contains(&mode) {
        let message = "a port takes connections with TLS or those without, not both: write requireTLS with \
                       --tlsCertificateKeyFile, or disabled (the Unix socket is without TLS in both modes)";
        return Err(message.to_owned());
    }
    match mode == "disabled" || REQUIRE_TLS.contains(&mode) {
        true => Ok(mode.to_owned()),
        false => Err("write disabled or requireTLS".to_owned()),
    }
}

/// Parses a list of compressors in MongoDB's notation.
fn compressors(list: &str) -> Result<Compressors, String> {
    if list == "disabled" {
        return Ok(Compressors(Vec::new()));
    }
    let parse = |name: &str| {
        let unknown = || format!("there is no compressor '{name}': write disabled, or some of snappy,zlib,zstd");
        Compressor::by_name(name.trim()).ok_or_else(unknown)
    };
    list.split(',').map(parse).collect::<Result<_, _>>().map(Compressors)
}

/// The compressors that are offered to clients.
#[derive(Debug, Clone)]
struct Compressors(Vec<Compressor>);

/// Reads a file of settings.
pub(crate) fn read(env: &Env, path: &Path) -> Outcome<String> {
    let failed = |error: String| Failure::Usage(format!("--config {}: {error}", text::path(path)));
    let file = env.fs.open(path, OpenMode::Read).map_err(|error| failed(error.to_string()))?;
    let mut content = String::new();
    FileReader::new(file).read_to_string(&mut content).map_err(|error| failed(error.to_string()))?;
    Ok(content)
}

/// Arguments of `mongod`, by the names that MongoDB gives them.
#[derive(Debug, clap::Args)]
#[command(
    disable_version_flag = true,
    args_override_self = true,
    after_help = "Examples:
  alluvium mongod --dbpath /data --port 27017 --replSet rs0
  alluvium mongod --dbpath :memory: --port 27018
  alluvium mongod --config /etc/mongod.conf

Takes the place of MongoDB's server where a launcher starts one, such as a library for tests; the program is this command as well \
if it is called by the name mongod. The database is the directory `alluvium` in --dbpath, or --dbpath itself if that is a database. \
--config reads a configuration file of MongoDB; a setting that is not supported is refused by name. Arguments that only tune MongoDB's files have \
no effect. The log lines that launchers wait for are printed in MongoDB's format."
)]
pub(crate) struct Args {
    /// The directory of the data, which must exist; :memory: for a database without files
    #[arg(long, value_name = "DIRECTORY", default_value = "/data/db")]
    dbpath: PathBuf,
    /// The port
    #[arg(long, value_name = "PORT", default_value_t = 27017)]
    port: u16,
    /// The addresses to listen at, separated by commas
    #[arg(long = "bind_ip", value_name = "HOSTS", default_value = "localhost")]
    bind_ip: String,
    /// Listen at all addresses
    #[arg(long = "bind_ip_all")]
    bind_ip_all: bool,
    /// Use IPv6, too: --bind_ip_all listens at all its addresses, and localhost is ::1 as well as 127.0.0.1
    #[arg(long)]
    ipv6: bool,
    /// The name of the replica set whose only member the server is; it needs no initiation
    #[arg(long = "replSet", value_name = "NAME")]
    repl_set: Option<String>,
    /// Write the log to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    logpath: Option<PathBuf>,
    /// Append to the log file; by default the existing one is renamed
    #[arg(long, requires = "logpath")]
    logappend: bool,
    /// Write the number of the process to this file, which is removed at the end
    #[arg(long, value_name = "FILE")]
    pidfilepath: Option<PathBuf>,
    /// The operations that the profilers of all databases keep: 0 nothing, 1 slow operations, 2 all
    #[arg(long, value_name = "LEVEL", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=2))]
    profile: u8,
    /// The milliseconds after which an operation is slow
    #[arg(long, value_name = "MILLISECONDS", allow_negative_numbers = true)]
    slowms: Option<i64>,
    /// The compressors that clients may choose from, separated by commas, or disabled
    #[arg(
        long = "networkMessageCompressors",
        value_name = "NAMES",
        default_value = "snappy,zstd,zlib",
        value_parser = compressors
    )]
    compressors: Compressors,
    /// The directory of the Unix socket, which is named mongodb-PORT.sock
    #[arg(long = "unixSocketPrefix", value_name = "DIRECTORY", default_value = "/tmp")]
    unix_socket_prefix: PathBuf,
    /// Listen at no Unix socket
    #[arg(long)]
    nounixsocket: bool,
    /// The memory budget in GiB
    #[arg(long = "wiredTigerCacheSizeGB", value_name = "GIB")]
    cache_gib: Option<f64>,
    /// The most connections at a time
    #[arg(long = "maxConns", value_name = "N", default_value_t = 20_000)]
    max_conns: usize,
    /// A parameter as NAME=VALUE: enableTestCommands has an effect, others are accepted
    #[arg(long = "setParameter", value_name = "NAME=VALUE")]
    set_parameter: Vec<String>,
    /// inMemory and ephemeralForTest keep the data in memory; others have no effect
    #[arg(long = "storageEngine", value_name = "NAME")]
    storage_engine: Option<String>,
    /// Serve without logins, which is the default at addresses of this machine
    #[arg(long, conflicts_with_all = ["auth", "key_file"])]
    noauth: bool,
    /// Commands need a login, as soon as there is a user; always so at addresses of other machines, without --noauth
    #[arg(long)]
    auth: bool,
    /// Serve without logins unless --auth is given: a configuration file says so
    #[arg(long = "withoutAuthorization", hide = true)]
    without_authorization: bool,
    /// The key of the members of the set, which has one member: as --auth
    #[arg(long = "keyFile", value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// disabled, or requireTLS: then all connections at the port use TLS
    #[arg(long = "tlsMode", alias = "sslMode", value_name = "MODE", value_parser = tls_mode)]
    tls_mode: Option<String>,
    /// The certificate and its key, as PEM
    #[arg(
        long = "tlsCertificateKeyFile",
        alias = "sslPEMKeyFile",
        value_name = "FILE",
        required_if_eq_any = REQUIRE_TLS.map(|mode| ("tls_mode", mode))
    )]
    tls_certificate: Option<PathBuf>,
    /// The authorities whose certificates clients have
    #[arg(long = "tlsCAFile", alias = "sslCAFile", value_name = "FILE", requires = "tls_certificate")]
    tls_ca: Option<PathBuf>,
    /// Clients may have no certificate
    #[arg(long = "tlsAllowConnectionsWithoutCertificates", alias = "sslAllowConnectionsWithoutCertificates")]
    tls_without_certificates: bool,
    /// Refused: start the program in the background
    #[arg(long)]
    fork: bool,
    /// Print the version
    #[arg(long)]
    version: bool,
    /// Has no effect
    #[arg(short, long, hide = true, action = clap::ArgAction::Count)]
    verbose: u8,
}

impl Args {
    /// Serves until a signal.
    pub(crate) fn run(&self) -> Outcome {
        if self.version {
            return print_version();
        }
        self.refuse(&Env::os())?;
        let stop = Stop::on_signals()?;
        let env = Env::os();
        let log = Log::open(&env, self.logpath.as_deref(), self.logappend)?;
        let starting = [
            ("pid", Value::Int64(std::process::id().into())),
            ("port", Value::Int32(self.port.into())),
            ("dbPath", Value::from(self.dbpath.display().to_string())),
            ("architecture", Value::from("64-bit")),
        ];
        log.line(Component::Control, 4_615_611, "initandlisten", "MongoDB starting", Map::from(starting))?;
        let number = self.pidfilepath.as_deref().map(|path| ProcessFile::write(&env, path)).transpose()?;
        let served = self.serve(&env, &log, stop);
        drop(number);
        served?;
        let code = Map::from([("exitCode", Value::Int32(0))]);
        log.line(Component::Control, 23_138, "initandlisten", "Shutting down", code)
    }

    fn refuse(&self, env: &Env) -> Outcome {
        if self.fork {
            return Err(Failure::Usage("--fork: start the program in the background instead".to_owned()));
        }
        if let Some(key) = self.key_file.as_ref()
            && !env.fs.exists(key)?
        {
            return Err(Failure::Usage(format!("--keyFile {}: there is no such file", text::path(key))));
        }
        self.check_parameters()
    }

    fn check_parameters(&self) -> Outcome {
        match self.set_parameter.iter().find(|parameter| !parameter.contains('=')) {
            Some(wrong) => Err(Failure::Usage(format!("--setParameter {wrong}: write NAME=VALUE"))),
            None => Ok(()),
        }
    }

    fn serve(&self, env: &Env, log: &Log, stop: Stop) -> Outcome {
        let config = self.config()?;
        // Launchers parse the line of an error, so no other line may follow it.
        let database = self.open(env).inspect_err(|failure| {
            log.error(20_557, "DBException in initAndListen, terminating", &failure.to_string());
        })?;
        let server = Server::bind(&database, config).map_err(|error| {
            log.error(20_568, "Error setting up listener", &error.to_string());
            Failure::Other(error.to_string())
        })?;
        for address in server.addresses() {
            let address = Map::from([("address", Value::from(address.ip().to_string()))]);
            log.line(Component::Network, 23_015, "listener", "Listening on", address)?;
        }
        let port = server.addresses().first().map_or(self.port, SocketAddr::port);
        let waiting = Map::from([
            ("port", Value::Int32(port.into())),
            ("ssl", Value::from(if self.tls().is_some() { "on" } else { "off" })),
        ]);
        log.line(Component::Network, 23_016, "listener", "Waiting for connections", waiting)?;
        if self.repl_set.is_some() {
            let states = Map::from([("newState", Value::from("PRIMARY")), ("oldState", Value::from("SECONDARY"))]);
            log.line(Component::Replication, 21_358, "OplogApplier-0", "Replica set state transition", states)?;
            let primary = "Transition to primary complete; database writes are now permitted";
            log.line(Component::Replication, 21_331, "OplogApplier-0", primary, Map::new())?;
        }
        server.run(serve::until_signal(stop, serve::Memory::of(&database)));
        Ok(database.close()?)
    }

    /// True if commands need a login.
    fn has_logins(&self, listen: &[SocketAddr]) -> bool {
        let is_open = listen.iter().any(|address| !address.ip().is_loopback());
        self.auth || !self.without_authorization && (self.key_file.is_some() || is_open && !self.noauth)
    }

    fn tls(&self) -> Option<TlsFiles> {
        let certificate = self
            .tls_certificate
            .clone()
            .filter(|_| self.tls_mode.as_deref().is_some_and(|mode| REQUIRE_TLS.contains(&mode)))?;
        Some(TlsFiles {
            certificate,
            key: None,
            authorities: self.tls_ca.clone(),
            requires_client_certificate: self.tls_ca.is_some() && !self.tls_without_certificates,
        })
    }

    fn config(&self) -> Outcome<Config> {
        let all = match (self.ipv6, self.port) {
            (false, _) => "0.0.0.0",
            // With port 0, the system would choose a different port for each address, so one address is used. Unless
            // the system is configured otherwise, `::` includes the addresses of IPv4.
            (true, 0) => "::",
            (true, _) => "::,0.0.0.0",
        };
        let hosts = if self.bind_ip_all || self.bind_ip == "*" { all } else { &self.bind_ip };
        let (mut listen, mut sockets) = (Vec::new(), Vec::new());
        for host in hosts.split(',').map(str::trim).filter(|host| !host.is_empty()) {
            match host.starts_with('/') {
                true => sockets.push(PathBuf::from(host)),
                false => listen.extend(resolved(host, self.port, self.ipv6)?),
            }
        }
        // Removes an address that several names resolve to, also if the port is 0.
        let mut known = HashSet::new();
        listen.retain(|address| known.insert(*address));
        if !self.nounixsocket && self.port != 0 {
            sockets.push(self.unix_socket_prefix.join(format!("mongodb-{}.sock", self.port)));
        }
        let is_set = |parameter: &String| ["enableTestCommands=1", "enableTestCommands=true"].contains(&&**parameter);
        Ok(Config {
            authentication: self.has_logins(&listen),
            tls: self.tls(),
            listen,
            sockets,
            replica_set: self.repl_set.clone().map(SetName::Given),
            connections_max: self.max_conns,
            test_commands: self.set_parameter.iter().any(is_set),
            profile: self.profile,
            slow_ms: self.slowms,
            compressors: self.compressors.0.clone(),
            ..Config::default()
        })
    }

    /// Opens the database, or one in memory.
    fn open(&self, env: &Env) -> Outcome<Database> {
        let mut builder = Database::builder();
        if let Some(gib) = self.cache_gib {
            let bytes = ((gib * (1_u64 << 30) as f64) as usize).max(usize::try_from(LEAST_MEMORY).unwrap_or(0));
            crate::allocator::prepare(bytes);
            builder = builder.memory(bytes);
        }
        let engine = self.storage_engine.as_deref().unwrap_or_default();
        if self.dbpath == Path::new(IN_MEMORY) || ["inMemory", "ephemeralForTest"].contains(&engine) {
            let env = Env { fs: Env::in_memory(0).fs, ..env.clone() };
            return Ok(builder.env(env).open("memory")?);
        }
        if !env.fs.exists(&self.dbpath)? {
            return Err(Failure::Other(format!(
                "NonExistentPath: Data directory {} not found: create it, or choose another one by --dbpath",
                text::path(&self.dbpath)
            )));
        }
        Ok(builder.clone().open(self.directory(&builder)?)?)
    }

    fn directory(&self, builder: &Builder) -> Outcome<PathBuf> {
        Ok(if builder.is_there(&self.dbpath)? { self.dbpath.clone() } else { self.dbpath.join(DIRECTORY) })
    }
}

fn print_version() -> Outcome {
    let mut out = Output::new();
    out.text(&format!("db version v{MONGODB_VERSION}\nBuild Info: "))?;
    let alluvium = env!("CARGO_PKG_VERSION");
    out.json(
        &serde_json::json!({"version": MONGODB_VERSION, "gitVersion": alluvium, "modules": [], "alluvium": alluvium}),
    )?;
    out.finish()
}

/// The addresses of a host. Without `--ipv6`, the name `localhost` means IPv4 only.
fn resolved(host: &str, port: u16, ipv6: bool) -> Outcome<Vec<SocketAddr>> {
    let names = match (host, ipv6) {
        ("localhost", false) => &["127.0.0.1"][..],
        ("localhost", true) => &["127.0.0.1", "::1"],
        _ => &[host],
    };
    let mut addresses = Vec::new();
    for name in names {
        match (*name, port).to_socket_addrs() {
            Ok(found) => addresses.extend(found),
            Err(error) => {
                return Err(Failure::Usage(format!("--bind_ip {host}: {error}: write a name or an address")));
            }
        }
    }
    Ok(addresses)
}

/// The file with the id of the process; dropping this value removes the file.
struct ProcessFile {
    env: Env,
    path: PathBuf,
}

impl ProcessFile {
    /// Writes the file. An existing file, left by another process, is replaced.
    fn write(env: &Env, path: &Path) -> Outcome<Self> {
        if env.fs.exists(path)? {
            env.fs.remove(path)?;
        }
        let file = env.fs.open(path, OpenMode::CreateNew)?;
        file.write_at(format!("{}\n", std::process::id()).as_bytes(), 0)?;
        Ok(Self { env: env.clone(), path: path.to_owned() })
    }
}

impl Drop for ProcessFile {
    fn drop(&mut self) {
        let _may_be_gone = self.env.fs.remove(&self.path);
    }
}

#[cfg(test)]
mod tests;
