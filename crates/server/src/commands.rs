//! The registry of commands. Each command has a file of its own.

mod aggregate;
mod apply_ops;
mod build_info;
mod bulk_write;
mod capped;
mod coll_mod;
mod coll_stats;
mod configure_fail_point;
mod conn_pool_stats;
mod connection_status;
mod count;
mod create;
mod create_indexes;
mod create_options;
mod current_op;
mod data_size;
mod db_hash;
mod db_stats;
mod delete;
mod diagnostics;
mod distinct;
mod drop;
mod drop_database;
mod drop_indexes;
mod encryption;
mod explain;
mod file_md5;
mod files;
mod find;
mod find_and_modify;
mod get_more;
mod grants;
mod hello;
mod host_info;
mod insert;
mod kill_cursors;
mod list_collections;
mod list_databases;
mod list_indexes;
mod login;
mod maintenance;
mod merge_authorization;
mod parameters;
mod ping;
mod pipeline;
mod plan_cache;
mod re_index;
mod rename_collection;
mod replication;
mod roles;
mod roles_info;
mod rw_concerns;
mod search_indexes;
mod server_status;
mod sessions;
mod set_of_one;
mod shutdown;
mod small;
mod top;
mod transactions;
mod update;
mod users;
mod users_info;
mod validate;
mod validate_db_metadata;
mod write_block;

use crate::admission::Lane;
use crate::body::Body;
use crate::call::Call;
use crate::client::Client;
use crate::error::CommandResult;
use crate::fields::{Field, Fields, Handling};
use crate::latencies::Use;
use crate::query_shape::QueryPlace;
use crate::security::access::Access;
use crate::shared::Shared;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;
use alluvium_query::pipeline::stages::{self, StageName};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// A command: its entry in the registry, with everything that the server needs to know about the command.
pub(crate) struct Command {
    /// The name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// The fields of the command, without the fields that all commands have.
    pub fields: &'static [Field],
    /// The privileges that a user needs to run the command.
    pub access: Access,
    /// True if the command can only be sent to the database `admin`.
    pub admin_only: bool,
    /// The kind of writes of the command.
    pub writes: Writes,
    /// True if the server does not apply a repeated command again.
    pub retryable: bool,
    /// Whether the command may run in a transaction.
    pub in_transaction: InTransaction,
    /// The read concerns that the command accepts.
    pub levels: Levels,
    /// True if the command exists only with `--enable-test-commands`.
    pub is_for_tests: bool,
    /// True if fields that are not listed are refused; otherwise such fields have no effect.
    pub is_strict: bool,
    /// True if the audit log has a line for each execution, because the command is an administrative act.
    pub is_audited: bool,
    /// True if the command is in version 1 of the stable API.
    pub is_stable: bool,
    /// The lane in which a request waits before it is executed.
    pub lane: Lane,
    /// The class under which the statistics of a collection count the latencies of the command.
    pub usage: Use,
    /// The kind of operation that `currentOp` and `system.profile` show for the command.
    pub op: &'static str,
    /// True if `serverStatus` counts the command under its own kind, and not among all commands.
    pub counts_itself: bool,
    /// The full name of the collection that the command works on, or the name of the database.
    pub namespace: fn(&str, &Map) -> String,
    /// The position of the query in the fields of the command.
    pub query: QueryPlace,
    /// Explains the plan of the command, without the fields that all explanations have; `None` if the command has no
    /// plan.
    pub explain: Option<Explain>,
    /// The time that a request waits before it is executed. The wait does not occupy a thread.
    pub wait: fn(&Shared, &Map) -> Duration,
    /// Releases the state for further replies to the same request, if these replies are no longer wanted.
    pub abandon: fn(&Shared, &Client, &Map),
    /// Executes the command. The fields that the registry lists have been checked.
    pub run: fn(&mut Call<'_>) -> CommandResult<BsonBuilder>,
}

/// Explains a command from its collection and its fields.
type Explain = fn(&Call<'_>, &str, &Map) -> CommandResult<Map>;

/// The kind of writes of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writes {
    /// No writes that a lock of `fsync` blocks. The command has no write concern.
    Nothing,
    /// Writes of documents or of the catalogue. The command has a write concern.
    Always,
    /// Writes of documents, if the last stage of the pipeline writes. The command has a write concern.
    ByPipeline,
    /// Writes of database files that keep the content of the database. A lock of `fsync` blocks the command, which has
    /// no write concern.
    Files,
}

/// Whether a command may run in a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InTransaction {
    /// It may not.
    No,
    /// It may, and may be the first statement.
    Yes,
    /// It may, but not as the first statement.
    Later,
    /// It ends the transaction.
    End,
}

/// The read concerns that a command accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Levels {
    /// Only `local`, which reads the latest state.
    Local,
    /// All levels except `snapshot`.
    Majority,
    /// All levels. `snapshot` is an error if the command cannot read at a snapshot.
    Any,
    /// All levels. The command can read at a snapshot.
    Snapshot,
    /// The level of the query that opened the cursor; drivers repeat the level in `getMore`.
    OfCursor,
}

impl Command {
    /// A command without fields that does not write; the base of other entries.
    const fn reading(name: &'static str, run: fn(&mut Call<'_>) -> CommandResult<BsonBuilder>) -> Self {
        let (aliases, fields): (&[&str], &[Field]) = (&[], &[]);
        Self {
            name,
            aliases,
            fields,
            access: Access::Login,
            admin_only: false,
            writes: Writes::Nothing,
            retryable: false,
            in_transaction: InTransaction::No,
            levels: Levels::Local,
            is_for_tests: false,
            is_strict: false,
            is_audited: false,
            is_stable: false,
            lane: Lane::Ordinary,
            usage: Use::Command,
            op: "command",
            counts_itself: false,
            namespace: namespace_of_argument,
            query: QueryPlace::Nowhere,
            explain: None,
            wait: |_, _| Duration::ZERO,
            abandon: |_, _, _| (),
            run,
        }
    }

    /// A command without fields that may write; the base of other entries.
    const fn writing(name: &'static str, run: fn(&mut Call<'_>) -> CommandResult<BsonBuilder>) -> Self {
        Self { writes: Writes::Always, levels: Levels::Any, usage: Use::Change, ..Self::reading(name, run) }
    }

    /// Makes the command refuse fields that are not listed.
    const fn strict(self) -> Self {
        Self { is_strict: true, ..self }
    }

    /// Makes the audit log have a line for each execution of the command.
    const fn audited(self) -> Self {
        Self { is_audited: true, ..self }
    }

    /// Makes the command a part of version 1 of the stable API.
    const fn stable(self) -> Self {
        Self { is_stable: true, ..self }
    }

    /// Lets the command run in transactions.
    const fn in_transactions(self) -> Self {
        Self { in_transaction: InTransaction::Yes, ..self }
    }

    /// Makes the command run in the control lane.
    const fn control(self) -> Self {
        Self { lane: Lane::Control, ..self }
    }

    /// Makes the command count as a use of a collection, appear as an operation, and be counted under its own kind.
    const fn counted(self, usage: Use, op: &'static str) -> Self {
        Self { usage, op, counts_itself: true, ..self }
    }

    /// True if any request of this command can write. The command has a write concern then.
    pub(crate) fn may_write(&self) -> bool {
        matches!(self.writes, Writes::Always | Writes::ByPipeline)
    }

    /// True if this request writes documents or the catalogue.
    pub(crate) fn writes(&self, body: &Map) -> bool {
        match self.writes {
            Writes::Always => true,
            Writes::ByPipeline => pipeline_writes(body),
            Writes::Nothing | Writes::Files => false,
        }
    }

    /// True if a lock of `fsync` blocks this request.
    pub(crate) fn is_held_by_fsync(&self, body: &Map) -> bool {
        self.writes == Writes::Files || self.writes(body)
    }

    /// The lane of a request. A pipeline that lists operations is short, and therefore runs in the control lane.
    pub(crate) fn lane(&self, body: &Map) -> Lane {
        match self.writes {
            Writes::ByPipeline if lists_operations(body) => Lane::Control,
            _ => self.lane,
        }
    }

    /// The namespace in the audit log line of this request; `None` if the request is not audited. If the pipeline of a
    /// request writes, the namespace is the collection that its last stage replaces or changes.
    pub(crate) fn audited_namespace<'a>(&self, db: &str, body: &Map, namespace: &'a str) -> Option<Cow<'a, str>> {
        match self.writes {
            Writes::ByPipeline if pipeline_writes(body) => Some(self.written(db, body, namespace)),
            _ => self.is_audited.then_some(Cow::Borrowed(namespace)),
        }
    }

    /// The namespace of this request, or the collection that its pipeline writes to.
    pub(crate) fn written<'a>(&self, db: &str, body: &Map, namespace: &'a str) -> Cow<'a, str> {
        let writes = self.writes == Writes::ByPipeline && pipeline_writes(body);
        let written = if writes { written_by_pipeline(db, body) } else { None };
        written.map_or(Cow::Borrowed(namespace), Cow::Owned)
    }

    /// True if the command returns documents that a client has stored.
    pub(crate) fn is_query(&self) -> bool {
        matches!(self.usage, Use::Query | Use::Read)
    }

    /// True if some fields of the command are secrets. The replies to such a command are never compressed.
    pub(crate) fn has_secrets(&self) -> bool {
        self.fields.iter().any(|field| field.handling == Handling::Secret)
    }

    /// The fields of a request that listings, logs and profiles may show; all of them call this function. In a command
    /// with secrets, only fields that are known not to be secret are shown. The same rule applies to commands nested in
    /// the first field, as in `explain` and `applyOps`.
    pub(crate) fn shown(&self, body: &Arc<Map>) -> Arc<Map> {
        if !self.has_secrets() {
            let within = body.entries.first().and_then(|(_, value)| without_secrets(value));
            return match within {
                None => Arc::clone(body),
                Some(value) => {
                    let mut shown = Map::clone(body);
                    shown.entries[0].1 = value;
                    Arc::new(shown)
                }
            };
        }
        let is_shown = |name: &str| match self.fields.iter().find(|field| field.name == name) {
            Some(field) => field.handling != Handling::Secret,
            None => crate::fields::is_common(name),
        };
        let entries = body.entries.iter().enumerate().map(|(at, (name, value))| {
            let shown = at == 0 && self.argument_is_shown() || name.as_str().is_some_and(is_shown);
            (name.clone(), if shown { value.clone() } else { Value::from(HIDDEN) })
        });
        Arc::new(Map { entries: entries.collect() })
    }

    /// True if the value of the first field is not a secret.
    fn argument_is_shown(&self) -> bool {
        !self.fields.iter().any(|field| field.name == self.name && field.handling == Handling::Secret)
    }

    /// True if a field holds statements or documents.
    fn is_apart(&self, name: &Value) -> bool {
        let mut apart = self.fields.iter().filter(|field| field.handling == Handling::Apart);
        name.as_str().is_some_and(|name| apart.any(|field| field.name == name))
    }

    /// A copy of the fields of a request without its statements and documents.
    pub(crate) fn without_statements(&self, body: &Map) -> Map {
        Map { entries: body.entries.iter().filter(|(name, _)| !self.is_apart(name)).cloned().collect() }
    }

    /// Splits a request into its fields and its statements and documents.
    pub(crate) fn set_apart(&self, body: Body) -> (Body, Map) {
        let apart = self.fields.iter().filter(|field| field.handling == Handling::Apart);
        if apart.into_iter().all(|field| !body.contains(field.name)) {
            return (body, Map::new());
        }
        let (apart, rest) = body.into_fields().entries.into_iter().partition(|(name, _)| self.is_apart(name));
        (Body::new(Map { entries: rest }), Map { entries: apart })
    }
}

/// Returns a copy of a value without the secrets of the commands in it; `None` if the value has no secrets.
fn without_secrets(value: &Value) -> Option<Value> {
    match value {
        Value::Map(map) => {
            let name = map.entries.first().and_then(|(name, _)| name.as_str());
            if let Some(command) = name.and_then(find).filter(|command| command.has_secrets()) {
                return Some(Value::Map(Map::clone(&command.shown(&Arc::new(map.clone())))));
            }
            let mut shown: Option<Map> = None;
            for (at, (_, value)) in map.entries.iter().enumerate() {
                if let Some(value) = without_secrets(value) {
                    shown.get_or_insert_with(|| map.clone()).entries[at].1 = value;
                }
            }
            shown.map(Value::Map)
        }
        Value::Array(values) => {
            let mut shown: Option<Vec<Value>> = None;
            for (at, value) in values.iter().enumerate() {
                if let Some(value) = without_secrets(value) {
                    shown.get_or_insert_with(|| values.clone())[at] = value;
                }
            }
            shown.map(Value::Array)
        }
        _ => None,
    }
}

/// The text that replaces a secret, as in MongoDB.
const HIDDEN: &str = "xxx";

/// The full name of the collection that the first field names; the database if the first field names none.
fn namespace_of_argument(db: &str, body: &Map) -> String {
    match body.entries.first() {
        Some((_, Value::String(collection))) => [db, ".", collection].concat(),
        _ => db.to_owned(),
    }
}

/// All commands in alphabetical order.
static REGISTRY: &[Command] = &[
    merge_authorization::COMMAND,
    transactions::ABORT,
    aggregate::COMMAND,
    apply_ops::COMMAND,
    login::AUTHENTICATE,
    maintenance::AUTO_COMPACT,
    build_info::COMMAND,
    bulk_write::COMMAND,
    encryption::CLEAN_UP,
    capped::CLONE,
    coll_mod::COMMAND,
    coll_stats::COMMAND,
    transactions::COMMIT,
    maintenance::COMPACT,
    encryption::COMPACT,
    configure_fail_point::COMMAND,
    connection_status::COMMAND,
    conn_pool_stats::COMMAND,
    capped::CONVERT,
    count::COMMAND,
    create::COMMAND,
    create_indexes::COMMAND,
    roles::CREATE,
    search_indexes::CREATE,
    users::CREATE,
    current_op::COMMAND,
    data_size::COMMAND,
    db_hash::COMMAND,
    db_stats::COMMAND,
    delete::COMMAND,
    distinct::COMMAND,
    small::OID_TEST,
    drop::COMMAND,
    roles::DROP_ALL,
    users::DROP_ALL,
    files::DROP_CONNECTIONS,
    drop_database::COMMAND,
    drop_indexes::COMMAND,
    roles::DROP,
    search_indexes::DROP,
    users::DROP,
    sessions::END,
    explain::COMMAND,
    file_md5::COMMAND,
    find::COMMAND,
    find_and_modify::COMMAND,
    maintenance::FSYNC,
    maintenance::FSYNC_UNLOCK,
    parameters::GET_OF_CLUSTER,
    parameters::COMMAND_LINE,
    rw_concerns::GET,
    diagnostics::GET_LOG,
    get_more::COMMAND,
    parameters::GET,
    grants::GRANT_PRIVILEGES,
    grants::GRANT_TO_ROLE,
    grants::GRANT_TO_USER,
    hello::COMMAND,
    host_info::COMMAND,
    insert::COMMAND,
    small::INVALIDATE_USERS,
    hello::LEGACY,
    small::IS_SELF,
    sessions::KILL_ALL,
    sessions::KILL_BY_PATTERN,
    kill_cursors::COMMAND,
    current_op::KILL,
    sessions::KILL,
    list_collections::COMMAND,
    diagnostics::LIST_COMMANDS,
    list_databases::COMMAND,
    list_indexes::COMMAND,
    files::LOCK_INFO,
    small::LOG_MESSAGE,
    login::LOGOUT,
    files::LOG_ROTATE,
    ping::COMMAND,
    plan_cache::CLEAR,
    plan_cache::CLEAR_FILTERS,
    plan_cache::LIST_FILTERS,
    plan_cache::SET_FILTER,
    diagnostics::PROFILE,
    sessions::REFRESH,
    re_index::COMMAND,
    rename_collection::COMMAND,
    set_of_one::ABORT_CATCH_UP,
    set_of_one::FREEZE,
    replication::CONFIG,
    replication::STATUS,
    replication::INITIATE,
    set_of_one::MAINTENANCE,
    replication::RECONFIG,
    set_of_one::STEP_DOWN,
    set_of_one::SYNC_FROM,
    grants::REVOKE_PRIVILEGES,
    grants::REVOKE_FROM_ROLE,
    grants::REVOKE_FROM_USER,
    roles_info::COMMAND,
    files::ROTATE_CERTIFICATES,
    login::CONTINUE,
    login::START,
    server_status::COMMAND,
    parameters::SET_OF_CLUSTER,
    rw_concerns::SET,
    parameters::SET_FEATURES,
    re_index::COMMIT_QUORUM,
    parameters::SET,
    write_block::COMMAND,
    shutdown::COMMAND,
    sessions::START,
    configure_fail_point::VERSION_2,
    top::COMMAND,
    update::COMMAND,
    roles::UPDATE,
    search_indexes::UPDATE,
    users::UPDATE,
    users_info::COMMAND,
    validate::COMMAND,
    validate_db_metadata::COMMAND,
    diagnostics::WHATS_MY_URI,
];

/// The names of the commands in the order of their keys, and the positions of the commands in the registry.
static PLACES: LazyLock<Vec<(NameKey<'_>, usize)>> = LazyLock::new(|| {
    let names = |command: &'static Command| [command.name].into_iter().chain(command.aliases.iter().copied());
    let places = REGISTRY.iter().enumerate();
    let mut places: Vec<_> =
        places.flat_map(|(at, command)| names(command).map(move |name| (key_of(name), at))).collect();
    places.sort();
    places
});

/// The length of a name, its first eight bytes, and the name: most names differ in the numbers.
type NameKey<'a> = (usize, u64, &'a str);

fn key_of(name: &str) -> NameKey<'_> {
    let first = name.bytes().take(8).fold(0, |first, byte| first << 8 | u64::from(byte));
    (name.len(), first, name)
}

/// The command with a name.
pub(crate) fn find(name: &str) -> Option<&'static Command> {
    let key = key_of(name);
    let at = PLACES.binary_search_by(|(known, _)| known.cmp(&key)).ok()?;
    REGISTRY.get(PLACES.get(at)?.1)
}

/// All commands, in alphabetical order.
pub(crate) fn all() -> impl Iterator<Item = &'static Command> {
    REGISTRY.iter()
}

/// The names of the fields that hold statements or documents in some command.
static APART: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let fields = REGISTRY.iter().flat_map(|command| command.fields);
    fields.filter(|field| field.handling == Handling::Apart).map(|field| field.name).collect()
});

/// True if a field of this name holds statements or documents. Such fields are kept as bytes until each statement is
/// executed.
pub(crate) fn is_apart(field: &str) -> bool {
    APART.contains(field)
}

/// True if the pipeline of a request lists the running operations.
fn lists_operations(body: &Map) -> bool {
    let first = body.elements("pipeline").and_then(stages::first);
    first.is_some_and(|row| row.stage == StageName::CurrentOp)
}

/// True if the pipeline of a request writes.
fn pipeline_writes(body: &Map) -> bool {
    let last = body.elements("pipeline").and_then(|stages| stages.last()?.as_map());
    last.is_some_and(stages::writes)
}

/// The full name of the collection that the last stage of a pipeline writes to.
fn written_by_pipeline(db: &str, body: &Map) -> Option<String> {
    let last = body.elements("pipeline")?.last()?;
    let stage = stages::walk(None, std::slice::from_ref(last)).next()?;
    match stage.row?.named_collections(stage.operand).next()? {
        Value::String(name) => Some(format!("{db}.{name}")),
        Value::Map(name) => Some(format!("{}.{}", name.text("db").unwrap_or(db), name.text("coll")?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
