//! MongoDB's built-in roles.

use super::name::{ADMIN, Name};
use super::privilege::{Pattern, Privilege};
use crate::security::action::Action;
use crate::security::action::Action::*;

/// The roles of every database.
const OF_DATABASE: [&str; 5] = ["read", "readWrite", "dbAdmin", "dbOwner", "userAdmin"];
/// The roles that exist only in the database `admin`.
const OF_ADMIN: [&str; 11] = [
    "backup",
    "clusterAdmin",
    "clusterManager",
    "clusterMonitor",
    "dbAdminAnyDatabase",
    "hostManager",
    "readAnyDatabase",
    "readWriteAnyDatabase",
    "restore",
    "root",
    "userAdminAnyDatabase",
];

const READ: &[Action] = &[
    ChangeStream,
    CollStats,
    DbHash,
    DbStats,
    Find,
    KillCursors,
    ListCollections,
    ListIndexes,
    ListSearchIndexes,
    PlanCacheRead,
    IndexStats,
];
const WRITE: &[Action] = &[
    CleanupStructuredEncryptionData,
    CompactStructuredEncryptionData,
    ConvertToCapped,
    CreateCollection,
    CreateIndex,
    CreateSearchIndexes,
    DropCollection,
    DropIndex,
    DropSearchIndex,
    Insert,
    Remove,
    RenameCollectionSameDb,
    Update,
    UpdateSearchIndex,
];
const DB_ADMIN: &[Action] = &[
    Analyze,
    BypassDocumentValidation,
    CollMod,
    CollStats,
    Compact,
    ConvertToCapped,
    CreateCollection,
    CreateIndex,
    CreateSearchIndexes,
    DbHash,
    DbStats,
    DropCollection,
    DropDatabase,
    DropIndex,
    DropSearchIndex,
    EnableProfiler,
    IndexStats,
    ListCollections,
    ListIndexes,
    ListSearchIndexes,
    PlanCacheIndexFilter,
    PlanCacheRead,
    PlanCacheWrite,
    ReIndex,
    RenameCollectionSameDb,
    StorageDetails,
    UpdateSearchIndex,
    Validate,
];
const USER_ADMIN: &[Action] = &[
    ChangeCustomData,
    ChangePassword,
    CreateRole,
    CreateUser,
    DropRole,
    DropUser,
    GrantRole,
    RevokeRole,
    SetAuthenticationRestriction,
    ViewRole,
    ViewUser,
];
const MONITOR: &[Action] = &[
    CheckMetadataConsistency,
    ConnPoolStats,
    GetClusterParameter,
    GetCmdLineOpts,
    GetDefaultRwConcern,
    GetLog,
    GetParameter,
    GetShardMap,
    HostInfo,
    Inprog,
    ListDatabases,
    ListSessions,
    ListShards,
    Netstat,
    OperationMetrics,
    QueryStatsRead,
    QueryStatsReadTransformed,
    ReplSetGetConfig,
    ReplSetGetStatus,
    ServerStatus,
    ShardingState,
    Top,
];
const MONITOR_OF_DATABASE: &[Action] = &[CollStats, DbStats, GetDatabaseVersion, GetShardVersion, IndexStats];
const MANAGER: &[Action] = &[
    AddShard,
    AppendOplogNote,
    ApplicationMessage,
    CleanupOrphaned,
    FlushRouterConfig,
    GetClusterParameter,
    GetDefaultRwConcern,
    ListSessions,
    ListShards,
    RemoveShard,
    ReplSetConfigure,
    ReplSetGetConfig,
    ReplSetGetStatus,
    ReplSetStateChange,
    Resync,
    SetClusterParameter,
    SetDefaultRwConcern,
    SetFeatureCompatibilityVersion,
    SetFreeMonitoring,
];
const HOST: &[Action] = &[
    ApplicationMessage,
    CloseAllDatabases,
    Compact,
    ConnPoolSync,
    CpuProfiler,
    DropConnections,
    FlushRouterConfig,
    Fsync,
    GetClusterParameter,
    GetParameter,
    InvalidateUserCache,
    KillAnyCursor,
    KillAnySession,
    KillOp,
    LogRotate,
    Resync,
    RotateCertificates,
    SetClusterParameter,
    SetParameter,
    SetUserWriteBlockMode,
    Shutdown,
    Touch,
    Unlock,
];

/// The privileges of a built-in role; `None` if the name is not the name of a built-in role.
pub(crate) fn privileges(role: &Name) -> Option<Vec<Privilege>> {
    let Name { db, name } = role;
    if OF_DATABASE.contains(&name.as_str()) {
        return Some(of_database(name, db));
    }
    (db == ADMIN && OF_ADMIN.contains(&name.as_str())).then(|| of_admin(name))
}

/// The names of the built-in roles of a database.
pub(crate) fn names(db: &str) -> impl Iterator<Item = Name> {
    let all = OF_DATABASE.iter().chain(OF_ADMIN.iter().filter(move |_| db == ADMIN));
    all.map(move |name| Name::new(db, name))
}

/// The privileges of a role on one database, or on all databases if `db` is empty.
fn of_database(name: &str, db: &str) -> Vec<Privilege> {
    let on = |actions: &[Action]| Privilege::new(Pattern::database(db), actions.iter().copied());
    let named = |collection: &str, actions: &[Action]| {
        Privilege::new(Pattern::collection(db, collection), actions.iter().copied())
    };
    match name {
        "read" => vec![on(READ), named("system.js", READ)],
        "readWrite" => vec![on(READ), on(WRITE), named("system.js", READ), named("system.js", WRITE)],
        "dbAdmin" => vec![
            on(DB_ADMIN),
            named("system.profile", READ),
            named("system.profile", &[ConvertToCapped, CreateCollection, DropCollection]),
        ],
        "userAdmin" => vec![on(USER_ADMIN)],
        "dbOwner" => ["readWrite", "dbAdmin", "userAdmin"].iter().flat_map(|part| of_database(part, db)).collect(),
        _ => Vec::new(),
    }
}

fn server(actions: &[Action]) -> Privilege {
    Privilege::new(Pattern::Server, actions.iter().copied())
}

fn everywhere(actions: &[Action]) -> Privilege {
    Privilege::new(Pattern::database(""), actions.iter().copied())
}

/// Actions on the collections of users, roles and the user format version.
fn of_users(actions: &[Action]) -> impl Iterator<Item = Privilege> {
    ["system.users", "system.roles", "system.version"]
        .map(|name| Privilege::new(Pattern::collection(ADMIN, name), actions.iter().copied()))
        .into_iter()
}

fn of_admin(name: &str) -> Vec<Privilege> {
    let any = |role: &str| {
        let mut privileges = of_database(role, "");
        privileges.push(server(&[ListDatabases]));
        privileges
    };
    let all = |roles: &[&str]| roles.iter().flat_map(|role| of_admin(role)).collect::<Vec<_>>();
    match name {
        "readAnyDatabase" => any("read"),
        "readWriteAnyDatabase" => any("readWrite"),
        "dbAdminAnyDatabase" => any("dbAdmin"),
        "userAdminAnyDatabase" => {
            let mut privileges = any("userAdmin");
            privileges.push(server(&[AuthSchemaUpgrade, InvalidateUserCache, ListCachedAndActiveUsers]));
            let read = [CollStats, DbHash, DbStats, Find, IndexStats, KillCursors, ListIndexes, PlanCacheRead];
            privileges.extend(of_users(&read));
            privileges
        }
        "clusterMonitor" => vec![
            server(MONITOR),
            everywhere(MONITOR_OF_DATABASE),
            Privilege::new(Pattern::collection("", "system.profile"), [Find]),
            Privilege::new(Pattern::database("config"), READ.iter().copied()),
            Privilege::new(Pattern::database("local"), READ.iter().copied()),
        ],
        "clusterManager" => {
            let mut privileges =
                vec![server(MANAGER), everywhere(&[EnableSharding, MoveChunk, SplitChunk, SplitVector])];
            privileges.extend(["config", "local"].iter().flat_map(|db| of_database("readWrite", db)));
            privileges
        }
        "hostManager" => vec![server(HOST), everywhere(&[KillCursors])],
        "clusterAdmin" => {
            let mut privileges = all(&["clusterMonitor", "clusterManager", "hostManager"]);
            privileges.push(everywhere(&[DropDatabase]));
            privileges
        }
        "backup" => {
            let mut privileges = vec![
                server(&[AppendOplogNote, GetParameter, ListDatabases, ServerStatus, SetUserWriteBlockMode]),
                everywhere(&[CollStats, DbStats, Find, IndexStats, ListCollections, ListIndexes]),
            ];
            privileges.extend(of_users(&[CollStats, Find, ListIndexes]));
            privileges
        }
        "restore" => {
            let mut privileges = vec![
                server(&[GetParameter, SetUserWriteBlockMode]),
                everywhere(&[BypassDocumentValidation, CollMod, ConvertToCapped, ListCollections, ListIndexes]),
                everywhere(&[CreateCollection, CreateIndex, DropCollection, Insert, RenameCollectionSameDb]),
                everywhere(USER_ADMIN),
            ];
            privileges.extend(of_users(&[Find, ListIndexes]));
            privileges
        }
        "root" => {
            let mut privileges = all(&[
                "readWriteAnyDatabase",
                "dbAdminAnyDatabase",
                "userAdminAnyDatabase",
                "clusterAdmin",
                "backup",
                "restore",
            ]);
            privileges.extend(of_users(&[Validate]));
            privileges
        }
        _ => Vec::new(),
    }
}
