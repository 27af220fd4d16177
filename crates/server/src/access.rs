//! What a command needs to be allowed to do.

/// An action on a resource, by MongoDB's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    CollMod,
    CollStats,
    Compact,
    CreateCollection,
    CreateIndex,
    DbStats,
    DropCollection,
    DropDatabase,
    DropIndex,
    EnableProfiler,
    Find,
    Fsync,
    GetCmdLineOpts,
    GetLog,
    GetParameter,
    HostInfo,
    Inprog,
    Insert,
    KillAnySession,
    KillOp,
    ListCollections,
    ListIndexes,
    Remove,
    ReplSetConfigure,
    ReplSetGetStatus,
    ServerStatus,
    SetParameter,
    Top,
    Update,
    Validate,
}

/// What a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nothing: it works before a login.
    Open,
    /// A login.
    Login,
    /// An action on the collection that the command names.
    Collection(Action),
    /// An action on the database that the command is sent to.
    Database(Action),
    /// An action on the whole server.
    Server(Action),
    /// The command itself finds out what it needs, from its fields.
    ByFields,
}
