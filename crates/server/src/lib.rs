//! A server for MongoDB's clients over a database of Alluvium.
//!
//! [`Server::bind`] listens, and [`Server::run`] serves connections. A connection reads a request, executes it and
//! writes the reply. While a connection is busy, it has a thread of its own. A limited number of requests is executed
//! at a time. Each command has a file in `commands`, and an entry in the registry.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod acknowledgement;
mod admin;
mod admission;
mod api;
mod attach;
mod batch;
mod body;
mod call;
mod client;
mod cluster_time;
mod collection_list;
mod collection_uuid;
mod commands;
mod concern;
mod config;
mod connection;
mod cursors;
mod default_concerns;
mod dispatch;
mod error;
mod fail_points;
mod fields;
mod figures;
mod funds;
mod host;
mod in_process;
mod incoming;
mod latencies;
mod listener;
mod listing;
mod machine;
mod memory;
mod metrics;
mod numbers;
mod operations;
mod oplog;
mod oplog_view;
mod owner;
mod parameters;
mod peers;
mod plan_filters;
mod principal;
mod profile;
#[cfg(test)]
mod promises;
mod pulse;
mod query_shape;
mod read;
mod receiving;
mod recent_log;
mod reload;
mod replica_set;
mod retries;
mod running;
mod security;
mod sending;
mod server_stages;
mod sessions;
mod settings;
mod shared;
mod shell_text;
mod slow;
mod snapshots;
mod socket;
mod statements;
mod threads;
mod tls;
mod waits;
mod write_block;
mod write_gate;
mod writes;

pub use alluvium_wire::compression::Compressor;
pub use attach::{Attached, attach};
pub use config::{Config, MONGODB_VERSION};
pub use host::{Host, HostError, SetName};
pub use in_process::InProcess;
pub use listener::{ServeError, Server};
pub use owner::{OWNER_SOCKET, RUN, Runner, Visit, connect};
pub use reload::Reloader;
pub use tls::{TlsError, TlsFiles};
