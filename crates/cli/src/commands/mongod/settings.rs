//! Configuration files of MongoDB, in YAML or JSON: converts the settings to arguments.

use crate::exit::{Failure, Outcome};
use crate::text;
use std::path::Path;

/// The argument that a setting becomes.
enum Meaning {
    /// This argument, with the value of the setting.
    Value(&'static str),
    /// This argument, if the value of the setting is true.
    IfTrue(&'static str),
    /// This argument, if the value of the setting is false.
    IfFalse(&'static str),
    /// One of these values, each with its arguments.
    OneOf(&'static [(&'static str, &'static [&'static str])]),
    /// No argument.
    Nothing,
}

use Meaning::{IfFalse, IfTrue, Nothing, OneOf, Value};

/// The settings, by their paths.
const SETTINGS: [(&str, Meaning); 44] = [
    ("net.bindIp", Value("--bind_ip")),
    ("net.bindIpAll", IfTrue("--bind_ip_all")),
    ("net.compression.compressors", Value("--networkMessageCompressors")),
    ("net.ipv6", IfTrue("--ipv6")),
    ("net.maxIncomingConnections", Value("--maxConns")),
    ("net.port", Value("--port")),
    ("net.ssl.CAFile", Value("--tlsCAFile")),
    ("net.ssl.PEMKeyFile", Value("--tlsCertificateKeyFile")),
    ("net.ssl.allowConnectionsWithoutCertificates", IfTrue("--tlsAllowConnectionsWithoutCertificates")),
    ("net.ssl.mode", Value("--tlsMode")),
    ("net.tls.CAFile", Value("--tlsCAFile")),
    ("net.tls.allowConnectionsWithoutCertificates", IfTrue("--tlsAllowConnectionsWithoutCertificates")),
    ("net.tls.certificateKeyFile", Value("--tlsCertificateKeyFile")),
    ("net.tls.mode", Value("--tlsMode")),
    ("net.unixDomainSocket.enabled", IfFalse("--nounixsocket")),
    ("net.unixDomainSocket.filePermissions", Nothing),
    ("net.unixDomainSocket.pathPrefix", Value("--unixSocketPrefix")),
    ("operationProfiling.mode", OneOf(&[("off", &[]), ("slowOp", &["--profile", "1"]), ("all", &["--profile", "2"])])),
    ("operationProfiling.slowOpSampleRate", Nothing),
    ("operationProfiling.slowOpThresholdMs", Value("--slowms")),
    ("processManagement.fork", IfTrue("--fork")),
    ("processManagement.pidFilePath", Value("--pidfilepath")),
    ("processManagement.timeZoneInfo", Nothing),
    ("replication.enableMajorityReadConcern", Nothing),
    ("replication.oplogSizeMB", Nothing),
    ("replication.replSetName", Value("--replSet")),
    ("security.authorization", OneOf(&[("enabled", &["--auth"]), ("disabled", &["--withoutAuthorization"])])),
    ("security.clusterAuthMode", Nothing),
    ("security.javascriptEnabled", Nothing),
    ("security.keyFile", Value("--keyFile")),
    ("storage.dbPath", Value("--dbpath")),
    ("storage.directoryPerDB", Nothing),
    ("storage.engine", Value("--storageEngine")),
    ("storage.journal.commitIntervalMs", Nothing),
    ("storage.journal.enabled", Nothing),
    ("storage.syncPeriodSecs", Nothing),
    ("storage.wiredTiger.engineConfig.cacheSizeGB", Value("--wiredTigerCacheSizeGB")),
    ("systemLog.destination", OneOf(&[("file", &[])])),
    ("systemLog.logAppend", IfTrue("--logappend")),
    ("systemLog.logRotate", Nothing),
    ("systemLog.path", Value("--logpath")),
    ("systemLog.quiet", Nothing),
    ("systemLog.timeStampFormat", Nothing),
    ("systemLog.verbosity", Nothing),
];

/// The prefix of settings that are passed on under their own names.
const PARAMETERS: &str = "setParameter.";

/// The arguments for a configuration file with this content.
pub(super) fn arguments(path: &Path, content: &str) -> Outcome<Vec<String>> {
    let failed = |what: String| Failure::Usage(format!("--config {}: {what}", text::path(path)));
    let mut arguments = Vec::new();
    for (setting, value) in read(content).map_err(failed)? {
        if let Some(parameter) = setting.strip_prefix(PARAMETERS) {
            arguments.extend(["--setParameter".to_owned(), format!("{parameter}={value}")]);
            continue;
        }
        let Some((_, meaning)) = SETTINGS.iter().find(|(known, _)| *known == setting) else {
            return Err(failed(format!("the setting {setting} is not supported")));
        };
        let is_true = || match value.as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            other => Err(failed(format!("{setting} is true or false, not '{other}'"))),
        };
        match meaning {
            Value(argument) => arguments.extend([(*argument).to_owned(), value]),
            IfTrue(argument) if is_true()? => arguments.push((*argument).to_owned()),
            IfFalse(argument) if !is_true()? => arguments.push((*argument).to_owned()),
            OneOf(values) => match values.iter().find(|(known, _)| *known == value) {
                Some((_, of_value)) => arguments.extend(of_value.iter().map(|argument| (*argument).to_owned())),
                None => return Err(failed(format!("{setting}: {value} is not supported"))),
            },
            IfTrue(_) | IfFalse(_) | Nothing => {}
        }
    }
    Ok(arguments)
}

/// The settings of a file, each with its path.
fn read(content: &str) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    if content.trim_start().starts_with('{') {
        let json: serde_json::Value = serde_json::from_str(content).map_err(|error| error.to_string())?;
        flatten(String::new(), &json, &mut found)?;
        return Ok(found);
    }
    // The keys that lead to a line, with their indentations.
    let mut above: Vec<(usize, &str)> = Vec::new();
    for (number, line) in content.lines().enumerate() {
        let line = without_comment(line);
        let text = line.trim();
        if text.is_empty() || text == "---" || text == "..." {
            continue;
        }
        let wrong = |what: &str| format!("line {}: {what}", number + 1);
        let indentation = line.len() - line.trim_start().len();
        if line[..indentation].contains('\t') {
            return Err(wrong("YAML indents by spaces"));
        }
        let Some((key, value)) = text.split_once(':') else { return Err(wrong("this is no `setting: value`")) };
        let (key, value) = (key.trim(), value.trim());
        if key.is_empty() || key.starts_with('-') || !(value.is_empty() || text.contains(": ")) {
            return Err(wrong("this is no `setting: value`"));
        }
        above.retain(|(outer, _)| *outer < indentation);
        if value.is_empty() {
            above.push((indentation, key));
            continue;
        }
        let value = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let inner = value[1..].strip_suffix(quote).filter(|inner| !inner.contains([quote, '\\']));
                inner.ok_or_else(|| wrong("this text in quotes is not supported"))?
            }
            Some('{' | '[' | '|' | '>' | '&' | '*' | '!') => return Err(wrong("only plain values are supported")),
            _ => value,
        };
        let path: Vec<&str> = above.iter().map(|(_, key)| *key).chain([key]).collect();
        found.push((path.join("."), value.to_owned()));
    }
    Ok(found)
}

fn flatten(path: String, value: &serde_json::Value, found: &mut Vec<(String, String)>) -> Result<(), String> {
    match value {
        serde_json::Value::Object(fields) => fields.iter().try_for_each(|(key, value)| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            flatten(path, value, found)
        }),
        serde_json::Value::String(text) => {
            found.push((path, text.clone()));
            Ok(())
        }
        serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
            found.push((path, value.to_string()));
            Ok(())
        }
        serde_json::Value::Null => Ok(()),
        serde_json::Value::Array(_) => Err(format!("{path}: lists are not supported")),
    }
}

/// A line without its comment.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') if before.is_whitespace() => return &line[..at],
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        before = c;
    }
    line
}

#[cfg(test)]
mod tests;
