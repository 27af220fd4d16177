//! The registry of commands; each has a file of its own.

mod aggregate;
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

use crate::access::Access;
use crate::call::Call;
use crate::error::CommandResult;
use crate::fields::{Field, Fields};
use alluvium::Map;
use alluvium_document::BsonBuilder;
use std::collections::HashMap;
use std::sync::LazyLock;

/// A command.
pub(crate) struct Command {
    /// The name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// Its fields, without those that all commands have.
    pub fields: &'static [Field],
    /// What a user needs to run it.
    pub access: Access,
    /// True if it is sent to the database `admin` only.
    pub admin_only: bool,
    /// True if it may write: then it has a write concern.
    pub writes: bool,
    /// True if a repetition of it is not applied again.
    pub retryable: bool,
    /// True if it can read at a snapshot.
    pub reads_snapshots: bool,
    /// True if it exists with `--enable-test-commands` only.
    pub is_for_tests: bool,
    /// True if fields that are not listed are refused; otherwise they have no effect.
    pub is_strict: bool,
    /// Carries it out. The fields that the registry lists have been checked.
    pub run: fn(&mut Call<'_>) -> CommandResult<BsonBuilder>,
}

impl Command {
    /// A command without fields that does not write.
    const fn reading(name: &'static str, run: fn(&mut Call<'_>) -> CommandResult<BsonBuilder>) -> Self {
        let (aliases, fields): (&[&str], &[Field]) = (&[], &[]);
        Self {
            name,
            aliases,
            fields,
            access: Access::Login,
            admin_only: false,
            writes: false,
            retryable: false,
            reads_snapshots: false,
            is_for_tests: false,
            is_strict: false,
            run,
        }
    }

    /// The command, with fields that are not listed refused.
    const fn strict(self) -> Self {
        Self { is_strict: true, ..self }
    }

    /// A command without fields that may write.
    const fn writing(name: &'static str, run: fn(&mut Call<'_>) -> CommandResult<BsonBuilder>) -> Self {
        Self { writes: true, ..Self::reading(name, run) }
    }
}

/// In alphabetical order.
static REGISTRY: &[Command] = &[
    merge_authorization::COMMAND,
    transactions::ABORT,
    aggregate::COMMAND,
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
    set_of_one::RECONFIG,
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

/// The places in the registry by name.
static PLACES: LazyLock<HashMap<&str, usize>> = LazyLock::new(|| {
    let names = |command: &'static Command| [command.name].into_iter().chain(command.aliases.iter().copied());
    REGISTRY.iter().enumerate().flat_map(|(at, command)| names(command).map(move |name| (name, at))).collect()
});

/// The command with a name.
pub(crate) fn find(name: &str) -> Option<&'static Command> {
    REGISTRY.get(*PLACES.get(name)?)
}

/// All commands, in alphabetical order.
pub(crate) fn all() -> impl Iterator<Item = &'static Command> {
    REGISTRY.iter()
}

pub(crate) use hello::wait as hello_wait;
/// True if the pipeline of an `aggregate` writes.
pub(crate) fn pipeline_writes(body: &Map) -> bool {
    let last = body.elements("pipeline").and_then(|stages| stages.last()?.as_map());
    last.is_some_and(|last| last.contains("$out") || last.contains("$merge"))
}

/// True if a command has a read concern of any level; others read the latest state only.
pub(crate) fn has_read_concern(command: &Command) -> bool {
    let changes_names = ["collMod", "convertToCapped", "create", "renameCollection"].contains(&command.name);
    (command.writes && !changes_names) || ["find", "count", "distinct", "explain"].contains(&command.name)
}

/// True for commands that `serverStatus` counts by their own kind.
pub(crate) fn counts_itself(name: &str) -> bool {
    ["insert", "find", "aggregate", "update", "delete", "getMore", "bulkWrite"].contains(&name)
}

#[cfg(test)]
mod tests;
