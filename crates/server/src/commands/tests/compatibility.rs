//! `docs/COMPATIBILITY.md` ends with a list of the commands of MongoDB 8. For each command, the list says whether the
//! registry has it, and which parts are missing.

use crate::commands::*;
use std::fmt::Write;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/COMPATIBILITY.md");

/// The beginning of the part that this test writes. The part before it belongs to `alluvium-query`.
const HEADING: &str = "\n## Commands\n";

/// The commands that MongoDB 8.0 documents, by kind, except commands for sharding and for Atlas.
const DOCUMENTED: &[(&str, &str)] = &[
    ("Questions", "aggregate count distinct explain find getMore killCursors mapReduce"),
    ("Writes", "bulkWrite delete findAndModify insert update"),
    (
        "Collections and indexes",
        "cloneCollectionAsCapped collMod compact convertToCapped create createIndexes drop dropDatabase dropIndexes \
         listCollections listDatabases listIndexes reIndex renameCollection setIndexCommitQuorum validate \
         validateDBMetadata",
    ),
    (
        "Plans",
        "planCacheClear planCacheClearFilters planCacheListFilters planCacheSetFilter removeQuerySettings setQuerySettings",
    ),
    (
        "Sessions and transactions",
        "abortTransaction commitTransaction endSessions killAllSessions killAllSessionsByPattern killSessions \
         refreshSessions startSession",
    ),
    (
        "Users and roles",
        "authenticate createRole createUser dropAllRolesFromDatabase dropAllUsersFromDatabase dropRole dropUser \
         grantPrivilegesToRole grantRolesToRole grantRolesToUser invalidateUserCache logout revokePrivilegesFromRole \
         revokeRolesFromRole revokeRolesFromUser rolesInfo updateRole updateUser usersInfo",
    ),
    (
        "Replication",
        "appendOplogNote applyOps hello isMaster replSetAbortPrimaryCatchUp replSetFreeze replSetGetConfig \
         replSetGetStatus replSetInitiate replSetMaintenance replSetReconfig replSetResizeOplog replSetStepDown \
         replSetSyncFrom",
    ),
    (
        "Administration",
        "autoCompact compactStructuredEncryptionData configureFailPoint currentOp dropConnections filemd5 fsync \
         fsyncUnlock getAuditConfig getClusterParameter getDefaultRWConcern getParameter killOp logApplicationMessage \
         logRotate profile rotateCertificates setAuditConfig setClusterParameter setDefaultRWConcern \
         setFeatureCompatibilityVersion setParameter setUserWriteBlockMode shutdown",
    ),
    (
        "Diagnosis",
        "buildInfo collStats connPoolStats connectionStatus dataSize dbHash dbStats driverOIDTest getCmdLineOpts getLog \
         hostInfo isSelf listCommands lockInfo ping serverStatus top whatsmyuri",
    ),
    ("Search", "createSearchIndexes dropSearchIndex updateSearchIndex"),
];

/// The gaps of commands in the registry: options that are refused by name, or have no effect.
const PARTLY: &[(&str, &str)] = &[
    ("aggregate", "`readOnce`, `querySettings` and `exchange` have no effect"),
    (
        "applyOps",
        "for replays of logs: a new collection cannot have a given UUID, and definitions of views are replaced whole",
    ),
    ("autoCompact", "compaction runs always; its options have no effect"),
    ("bulkWrite", "`bypassEmptyTsReplacement` has no effect"),
    ("collMod", "`recordIdsReplicated` has no effect; `timeseries` and `prepareUnique` are refused"),
    ("compact", "`force` has no effect: no operation is held up"),
    (
        "create",
        "`timeseries` is refused; `clusteredIndex`, `storageEngine` and `indexOptionDefaults` are kept and listed, and \
         have no effect",
    ),
    ("compactStructuredEncryptionData", "refused: no collection is encrypted"),
    (
        "createIndexes",
        "text, geographic and wildcard indexes are kept and listed, and not built; unique ones are refused; \
         `commitQuorum` has no effect",
    ),
    ("createRole", "`authenticationRestrictions` are refused"),
    ("createSearchIndexes", "refused by name: a service of MongoDB Atlas"),
    ("createUser", "`authenticationRestrictions` are refused"),
    ("dropSearchIndex", "refused by name: a service of MongoDB Atlas"),
    (
        "find",
        "`allowPartialResults`, `oplogReplay` and `readOnce` have no effect; without a sort, the order is that of the \
         `_id`s, or of insertion with `--natural-order`",
    ),
    ("reIndex", "of a server without a replica set"),
    ("replSetAbortPrimaryCatchUp", "refused: a set has one member"),
    ("replSetFreeze", "refused: a set has one member"),
    ("replSetInitiate", "a set has one member"),
    ("replSetMaintenance", "refused: a set has one member"),
    ("replSetReconfig", "a set has one member"),
    ("replSetStepDown", "a set has one member: with `force` it is elected at once"),
    ("replSetSyncFrom", "refused: a set has one member"),
    ("setClusterParameter", "until the server ends"),
    ("setParameter", "until the server ends"),
    ("setUserWriteBlockMode", "until the server ends"),
    ("updateRole", "`authenticationRestrictions` are refused"),
    ("updateSearchIndex", "refused by name: a service of MongoDB Atlas"),
    ("updateUser", "`authenticationRestrictions` are refused"),
    ("validate", "`repair` checks only: damage is repaired by `alluvium repair`, of a database that is closed"),
];

/// Documented commands that are missing for a reason. All other missing commands are not implemented yet.
const WHY_NOT: &[(&str, &str)] = &[
    ("appendOplogNote", "the operation log has the recorded changes alone"),
    ("getAuditConfig", "the audit log is set up when the server starts"),
    ("mapReduce", "it runs JavaScript"),
    ("replSetResizeOplog", "the operation log is as large as `--change-retention` says"),
    ("setAuditConfig", "the audit log is set up when the server starts"),
];

fn note(notes: &[(&'static str, &'static str)], command: &str) -> Option<&'static str> {
    notes.iter().find(|(name, _)| *name == command).map(|(_, note)| *note)
}

fn written() -> String {
    let mut text = String::from(HEADING);
    text.push_str(
        "\nThe commands that MongoDB 8.0 documents, but for those of sharding. A command that is not there is\n\
         refused with code 59 (`CommandNotFound`). Fields and their types are in [COMMANDS.md](COMMANDS.md).\n\
         This part is written by `UPDATE=1 cargo test -p alluvium-server --lib commands`.\n",
    );
    for (title, names) in DOCUMENTED {
        write!(text, "\n### {title}\n\n| command | | |\n|---|---|---|\n").expect("text");
        for name in names.split_whitespace() {
            let (works, why) = match (find(name).is_some(), note(PARTLY, name)) {
                (true, Some(note)) if note.starts_with("refused") => ("no", note),
                (true, Some(note)) => ("partly", note),
                (true, None) => ("yes", ""),
                (false, _) => ("no", note(WHY_NOT, name).unwrap_or("not supported yet")),
            };
            writeln!(text, "| `{name}` | {works} | {why}{}|", if why.is_empty() { "" } else { " " }).expect("text");
        }
    }
    text
}

#[test]
#[allow(clippy::disallowed_methods)]
fn the_commands_of_mongodb_are_those_of_the_registry() {
    let page = std::fs::read_to_string(PAGE).expect("the page");
    let (before, known) = page.split_at(page.find(HEADING).unwrap_or(page.len()));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(PAGE, format!("{before}{}", written())).expect("the page");
        return;
    }
    assert_eq!(known, written(), "UPDATE=1 cargo test -p alluvium-server --lib commands");
}

/// Every note belongs to a documented command.
#[test]
fn notes_are_of_commands_that_are_documented() {
    let documented =
        |name: &str| DOCUMENTED.iter().any(|(_, names)| names.split_whitespace().any(|known| known == name));
    for (name, _) in PARTLY {
        assert!(documented(name) && find(name).is_some(), "{name}");
    }
    for (name, _) in WHY_NOT {
        assert!(documented(name) && find(name).is_none(), "{name}");
    }
}
