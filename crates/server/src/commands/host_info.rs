//! `hostInfo`: the machine and its system.

use super::Command;
use crate::call::Call;
use crate::error::CommandResult;
use crate::machine;
use crate::security::access::Access;
use crate::security::action::Action;
use crate::writes::int;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    aliases: &["hostinfo"],
    access: Access::Server(Action::HostInfo),
    ..Command::reading("hostInfo", run).control().strict()
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let processor = machine::processor();
    let budget = call.shared.db.stats().memory_budget_bytes as u64;
    // If the memory of the machine is unknown, the machine has at least the memory budget of the database.
    let memory = machine::memory().unwrap_or(budget);
    let limit = machine::memory_limit().map_or(memory, |limit| limit.min(memory));
    let nodes = machine::memory_nodes();
    let long = |n: u64| Value::Int64(n.cast_signed());
    let system = Map::from([
        ("currentTime", Value::DateTime(call.shared.env.clock.unix_millis())),
        ("hostname", Value::from(call.host().as_str())),
        ("cpuAddrSize", Value::Int32(64)),
        ("memSizeMB", long(memory >> 20)),
        ("memLimitMB", long(limit >> 20)),
        ("numCores", int(machine::processors() as u64)),
        ("numCoresAvailableToProcess", int(alluvium_env::thread::available_parallelism() as u64)),
        ("numPhysicalCores", int(processor.cores as u64)),
        ("numCpuSockets", int(processor.sockets as u64)),
        ("cpuArch", Value::from(std::env::consts::ARCH)),
        ("numaEnabled", Value::Bool(nodes > 1)),
        ("numNumaNodes", int(nodes as u64)),
    ]);
    let release = machine::text("/etc/os-release");
    let of_release = |name| machine::values(&release, name, '=').next().map(str::to_owned);
    let os = Map::from([
        ("type", Value::from("Linux")),
        ("name", Value::from(of_release("NAME").unwrap_or_else(|| std::env::consts::OS.to_owned()))),
        ("version", Value::from(of_release("VERSION_ID").unwrap_or_default())),
    ]);
    call.answer(&Map::from([
        ("system", Value::Map(system)),
        ("os", Value::Map(os)),
        ("extra", Value::Map(extra(memory, &processor))),
    ]))
}

fn extra(memory: u64, processor: &machine::Processor) -> Map {
    let page = rustix::param::page_size() as u64;
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    let library = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
    Map::from([
        ("versionString", Value::from(machine::text("/proc/version"))),
        ("libcVersion", Value::from(library)),
        ("kernelVersion", Value::from(machine::text("/proc/sys/kernel/osrelease"))),
        ("cpuString", Value::from(processor.name.as_str())),
        ("cpuFrequencyMHz", Value::from(processor.frequency.as_str())),
        ("cpuFeatures", Value::from(processor.features.as_str())),
        ("pageSize", Value::Int64(page.cast_signed())),
        ("numPages", int(memory / page.max(1))),
        ("maxOpenFiles", int(files)),
    ])
}
