use super::*;

fn of(content: &str) -> String {
    match arguments(Path::new("mongod.conf"), content) {
        Ok(arguments) => arguments.join(" "),
        Err(failure) => failure.to_string(),
    }
}

/// The configuration file of MongoDB's packages, with a few more settings.
#[test]
fn settings_become_arguments() {
    let yaml = r#"
# mongod.conf
storage:
  dbPath: /var/lib/mongodb   # the data
  journal:
    enabled: true
  wiredTiger:
    engineConfig:
      cacheSizeGB: 0.5
systemLog:
  destination: file
  logAppend: true
  path: "/var/log/mongodb/mongod.log"

net:
  port: 27017
  bindIp: 127.0.0.1,::1
  unixDomainSocket:
    enabled: false
processManagement:
  timeZoneInfo: /usr/share/zoneinfo
security:
  authorization: 'enabled'
operationProfiling:
  mode: slowOp
replication:
  replSetName: rs0
setParameter:
  enableTestCommands: 1
"#;
    let expected = "--dbpath /var/lib/mongodb --wiredTigerCacheSizeGB 0.5 --logappend --logpath \
                    /var/log/mongodb/mongod.log --port 27017 --bind_ip 127.0.0.1,::1 --nounixsocket --auth --profile 1 \
                    --replSet rs0 --setParameter enableTestCommands=1";
    assert_eq!(of(yaml), expected);
    // The configuration file of the container's entry point.
    let json = r#"{"net": {"port": 5, "bindIpAll": true}, "security": {"authorization": "disabled"}, "storage": null}"#;
    assert_eq!(of(json), "--port 5 --bind_ip_all --withoutAuthorization");
    assert_eq!(of(""), "");
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    for (content, expected) in [
        ("sharding:\n  clusterRole: shardsvr\n", "the setting sharding.clusterRole is not supported"),
        ("net:\n  prot: 1\n", "net.prot"),
        ("systemLog:\n  destination: syslog\n", "systemLog.destination: syslog is not supported"),
        ("security:\n  authorization: on\n", "security.authorization: on"),
        ("net:\n  ipv6: yes\n", "net.ipv6 is true or false, not 'yes'"),
        ("net:\n\tport: 1\n", "line 2: YAML indents by spaces"),
        ("net\n", "line 1"),
        ("net: {port: 1}\n", "line 1: only plain values"),
        ("- net\n", "line 1"),
        ("net:\n  bindIp: \"a\n", "line 2"),
        ("{\"net\": [1]}", "net: lists"),
        ("{", "mongod.conf"),
    ] {
        let failure = of(content);
        assert!(failure.contains(expected), "{content:?}: {failure}");
    }
}
