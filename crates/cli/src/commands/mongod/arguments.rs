//! Processes the arguments of `mongod` before they are parsed: adds those from a configuration file, and removes those
//! without effect.

use super::NAME;
use super::settings;
use crate::exit::{Failure, Outcome};
use std::ffi::OsString;
use std::path::Path;

/// Arguments that launchers pass and that have no effect, each with whether a value follows it.
const WITHOUT_EFFECT: [(&str, bool); 34] = [
    ("--clusterAuthMode", true),
    ("--cpu", false),
    ("--directoryperdb", false),
    ("--enableMajorityReadConcern", true),
    ("--filePermissions", true),
    ("--httpinterface", false),
    ("--journal", false),
    ("--journalCommitInterval", true),
    ("--logRotate", true),
    ("--noIndexBuildRetry", false),
    ("--nohttpinterface", false),
    ("--nojournal", false),
    ("--noobjcheck", false),
    ("--noprealloc", false),
    ("--noscripting", false),
    ("--notablescan", false),
    ("--objcheck", false),
    ("--oplogSize", true),
    ("--oplogSizeMB", true),
    ("--quiet", false),
    ("--serviceExecutor", true),
    ("--slowOpSampleRate", true),
    ("--smallfiles", false),
    ("--syncdelay", true),
    ("--timeStampFormat", true),
    ("--timeZoneInfo", true),
    ("--traceExceptions", false),
    ("--wiredTigerCollectionBlockCompressor", true),
    ("--wiredTigerDirectoryForIndexes", false),
    ("--wiredTigerEngineConfigString", true),
    ("--wiredTigerIndexPrefixCompression", true),
    ("--wiredTigerJournalCompressor", true),
    ("--wiredTigerMaxCacheOverflowFileSizeGB", true),
    ("--wiredTigerStatisticsLogDelaySecs", true),
];

/// If the program was called by the name `mongod`, converts its arguments to those of this command.
pub(crate) fn by_name(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_mongod = arguments.first().is_some_and(|program| Path::new(program).file_name() == Some(NAME.as_ref()));
    if is_mongod {
        arguments.splice(..1, ["alluvium".into(), NAME.into()]);
    }
    arguments
}

/// The arguments to be parsed; arguments of other commands are returned unchanged. `read` reads a configuration file.
/// Its settings are put before the other arguments, so that these override them.
pub(crate) fn expand(arguments: Vec<OsString>, read: impl Fn(&Path) -> Outcome<String>) -> Outcome<Vec<OsString>> {
    if arguments.get(1).is_none_or(|name| name != NAME) {
        return Ok(arguments);
    }
    let mut given = arguments.into_iter();
    let mut expanded: Vec<OsString> = given.by_ref().take(2).collect();
    let mut others = Vec::new();
    while let Some(argument) = given.next() {
        let text = argument.to_string_lossy();
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(OsString::from(value))),
            None => (&*text, None),
        };
        if ["--config", "-f"].contains(&name) {
            let missing = || Failure::Usage(format!("{name}: write the path of the file after it"));
            let path = value.or_else(|| given.next()).ok_or_else(missing)?;
            let path = Path::new(&path);
            expanded.extend(settings::arguments(path, &read(path)?)?.into_iter().map(OsString::from));
        } else if let Some((_, takes_value)) = WITHOUT_EFFECT.iter().find(|(known, _)| *known == name) {
            if *takes_value && value.is_none() {
                let _value = given.next();
            }
        } else {
            others.push(argument);
        }
    }
    expanded.extend(others);
    Ok(expanded)
}
